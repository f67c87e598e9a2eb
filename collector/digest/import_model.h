// SPDX-License-Identifier: Apache-2.0
/* What the readers of other formats share: they put what they read into a report's model. For this
 * folder only. */
#ifndef SONDE_COLLECTOR_IMPORT_MODEL_H
#define SONDE_COLLECTOR_IMPORT_MODEL_H

#include "report_model.h"
#include "tape.h"

/* Values of JSON that a reader takes: events of Sentry are below 1 MiB, Apple's logs below 16. */
#define IMPORT_VALUES_MAX (1u << 20)
/* Frames of all stacks, and images. */
#define IMPORT_FRAMES_MAX 200000u
#define IMPORT_IMAGES_MAX 8192u

/* Programs of Apple's systems are linked there by default; their logs have offsets from the header.
 */
#define IMPORT_PROGRAM_BASE ((uint64_t)1 << 32)

enum { IMPORT_TEXT = 2048 };

struct import {
    struct sonde__report *report;
    const char *id;
    uint32_t frames; /* that were added */
    struct sonde_error *error;
};

/* Set error->what; returns CORRUPT. */
enum sonde_status import_fail(struct import *import, const char *what);

/* 32 hexadecimal digits, with or without dashes; or 40, as ELF has them. Another text: none. */
struct sonde__build_id import_build_id(const char *text);

/* A string of the tape as a string of the report; 0: it is not there. */
uint32_t import_string(struct import *import, const struct sonde__tape *tape, uint32_t at);

/* Add the callee of a stack; returns its node, or `caller` if no more frames are taken. */
uint32_t import_frame(struct import *import, uint32_t caller,
                      const struct sonde__report_frame *frame);

/* A stall of which one stack is known, the thread's, with the other threads. */
struct import_stall {
    const struct sonde__report_thread *threads;
    uint32_t thread_count, stalled; /* stalled: an index */
    uint64_t begin_ns, duration_ns; /* 0: not known */
    uint32_t kind;                  /* enum sonde__report_stall_kind */
    bool is_fatal;
};
void import_stall(struct import *import, const struct import_stall *stall);

/* The note of a thread in which something went wrong: this, and what. */
#define IMPORT_ERROR   "error: "
#define IMPORT_CRASHED "crashed: " /* the program ended by it */
uint32_t import_error_note(struct import *import, bool is_fatal, const char *what);

/* "2026-11-29T10:20:54Z", "2026-11-29 10:20:54.1234 +0100" as nanoseconds since 1970; 0: another
 * text. */
uint64_t import_time(const char *text);
/* The first length of time in a text, "for at least 1000 ms", "between 2.0 and 2.4 seconds"; 0:
 * none. */
uint64_t import_duration(const char *text);
/* 16 digits of a hash: names of devices and people are counted, and not stored. "" of "". */
void import_pseudonym(const char *text, char ret_text[17]);

/* One reader for each form; they fill the report, its header included. */
typedef enum sonde_status import_reader(struct import *import, const char *bytes, size_t size);
import_reader import_event, import_ips, import_crash, import_metrics;

#endif
