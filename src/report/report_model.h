// SPDX-License-Identifier: Apache-2.0
/* A report in memory: dictionaries and records, as proto/sonde/v1/report.proto publishes them.
 *
 * The model owns all its memory (one arena); ids count from 1, 0 is "none". Adding the same string,
 * image, frame or stack again gives the same id. Context: any thread, one at a time. */
#ifndef SONDE_REPORT_MODEL_H
#define SONDE_REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/stack.h>

#include "image_set.h"

struct sonde__report;

enum sonde__report_kind { SONDE__REPORT_STACKS = 1, SONDE__REPORT_WATCH = 2 };

struct sonde__report_header {
    uint32_t format;
    uint32_t kind; /* enum sonde__report_kind */
    const char *tool, *executable, *os, *arch, *source;
    uint64_t time_unix_ns;
    int32_t pid;
    uint64_t threshold_ns;
    uint64_t pause_ns;
};

struct sonde__report_image {
    uint32_t path; /* string id */
    struct sonde__build_id build_id;
    uint32_t flags, arch;
};

struct sonde__report_frame {
    uint32_t image;
    uint64_t offset; /* vaddr of the pc in the image; an address when image is 0 */
    uint32_t how;    /* SONDE_HOW byte */
    uint32_t name;   /* string id */
    uint64_t name_offset;
    uint32_t name_source; /* 0 none, 1 symtab, 2 dynsym, 3 plt */
    uint64_t lost_count;  /* != 0: a gap, not a frame */
};

struct sonde__report_node {
    uint32_t parent; /* the caller */
    uint32_t frame;
};

struct sonde__report_thread {
    int64_t tid;
    uint32_t name, state;
    bool main;
    uint32_t stack; /* innermost node */
    uint32_t end;
    uint64_t end_at;
    uint32_t captured_by;
    int64_t syscall; /* number + 1; 0: none */
    uint64_t pause_ns;
    uint32_t note;
    uint32_t frame_count;
    uint64_t time_ns;
};

struct sonde__report_sample {
    uint64_t time_ns, weight_ns;
    uint32_t stack, end, phase, captured_by;
    int64_t syscall; /* number + 1 */
    uint32_t detail;
};

struct sonde__report_stall {
    uint64_t begin_ns, duration_ns;
    int64_t tid;
    uint32_t thread_name, loop, loop_detail;
    uint64_t loop_turns;
    const struct sonde__report_sample *samples;
    uint32_t sample_count;
    const struct sonde__report_thread *threads;
    uint32_t thread_count;
    uint64_t cpu_ns, runqueue_ns, overhead_ns, samples_early;
    bool open;
    uint32_t sampler;
};

SONDE_NODISCARD enum sonde_status sonde__report_create(struct sonde__report **ret_report);
void sonde__report_destroy(struct sonde__report *report);

/* Strings given are copied. Ids are 0 when memory ran out (counted in lost_records). */
void sonde__report_set_header(struct sonde__report *report,
                              const struct sonde__report_header *header);
void sonde__report_add_note(struct sonde__report *report, const char *note);
uint32_t sonde__report_string(struct sonde__report *report, const char *text);
uint32_t sonde__report_add_image(struct sonde__report *report,
                                 const struct sonde__report_image *image);
uint32_t sonde__report_add_frame(struct sonde__report *report,
                                 const struct sonde__report_frame *frame);
uint32_t sonde__report_add_node(struct sonde__report *report, uint32_t parent, uint32_t frame);
void sonde__report_add_thread(struct sonde__report *report,
                              const struct sonde__report_thread *thread);
void sonde__report_add_stall(struct sonde__report *report, const struct sonde__report_stall *stall);

/* Reading the model. Ids outside the dictionaries answer empty values. */
const struct sonde__report_header *sonde__report_header(const struct sonde__report *report);
const char *sonde__report_text(const struct sonde__report *report, uint32_t string);
const struct sonde__report_image *sonde__report_image(const struct sonde__report *r, uint32_t id);
const struct sonde__report_frame *sonde__report_frame(const struct sonde__report *r, uint32_t id);
const struct sonde__report_node *sonde__report_node(const struct sonde__report *r, uint32_t id);
uint32_t sonde__report_thread_count(const struct sonde__report *report);
const struct sonde__report_thread *sonde__report_thread(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_stall_count(const struct sonde__report *report);
const struct sonde__report_stall *sonde__report_stall(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_note_count(const struct sonde__report *report);
const char *sonde__report_note(const struct sonde__report *report, uint32_t i);

#endif
