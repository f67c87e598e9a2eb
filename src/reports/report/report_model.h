// SPDX-License-Identifier: Apache-2.0
/* A report in memory: dictionaries and records, as proto/sonde/v1/report.proto publishes them.
 *
 * The model owns all its memory (one arena); ids count from 1, 0 is "none". Adding the same string,
 * image, frame or stack again gives the same id. A node's parent always has a smaller id, so every
 * walk towards the root ends. What does not fit a limit or memory is left out and counted; the rest
 * stays valid. Context: any thread, one at a time. */
#ifndef SONDE_REPORT_MODEL_H
#define SONDE_REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/stack.h>

#include "image_set.h"

struct sonde__report;

/* The format that this code writes, and the newest that it understands completely. */
#define SONDE__REPORT_FORMAT 1u

/* Limits. They bound the cost of a hostile file and are far above what a long watch of a real
 * program needs. What exceeds them is left out and counted (sonde__report_lost). */
#define SONDE__REPORT_MEMORY_MAX       ((size_t)512 << 20) /* bytes of one model */
#define SONDE__REPORT_STRING_BYTES_MAX 16384u /* longer (C++ names) are cut, with "..." */
#define SONDE__REPORT_DEPTH_MAX        65536u /* nodes of one stack */
#define SONDE__REPORT_THREADS_MAX      65536u /* the kernel's default thread limit is 32768 */
#define SONDE__REPORT_STALLS_MAX       65536u
#define SONDE__REPORT_SAMPLES_MAX      65536u /* of one stall: a day at the slowest sampling rate */
#define SONDE__REPORT_NOTES_MAX        1024u
#define SONDE__REPORT_CALLS_MAX        4194304u /* entries of the largest depot are fewer */
#define SONDE__REPORT_HEAP_BLOCKS_MAX  1048576u /* of all times */
#define SONDE__REPORT_INLINED_MAX      256u /* of one frame; five times what large programs have */
#define SONDE__REPORT_TAIL_CALLS_MAX   64u  /* before one frame */

enum sonde__report_kind {
    SONDE__REPORT_STACKS = 1,
    SONDE__REPORT_WATCH = 2,
    SONDE__REPORT_CALLS = 3,
    SONDE__REPORT_HEAP_BLOCKS = 4,
};

/* As in the schema. */
enum sonde__report_name_source {
    SONDE__REPORT_NAME_NONE,
    SONDE__REPORT_NAME_SYMTAB,
    SONDE__REPORT_NAME_DYNSYM,
    SONDE__REPORT_NAME_PLT,
    SONDE__REPORT_NAME_DEBUG_INFO, /* no symbol has it */
    SONDE__REPORT_NAME_JIT,        /* told by the runtime that made the code */
};

/* Of a frame in the dictionary, as in the schema. Views have more kinds: report_walk.h. */
enum sonde__report_frame_kind {
    SONDE__REPORT_FRAME_PHYSICAL, /* captured, or a gap */
    SONDE__REPORT_FRAME_TAIL_CALL,
};

enum sonde__report_loop {
    SONDE__REPORT_LOOP_UNKNOWN,
    SONDE__REPORT_LOOP_EPOLL,
    SONDE__REPORT_LOOP_POLL,
    SONDE__REPORT_LOOP_SELECT,
    SONDE__REPORT_LOOP_COND,
    SONDE__REPORT_LOOP_SIGNAL,
    SONDE__REPORT_LOOP_OTHER,
    SONDE__REPORT_LOOP_MARKS,
};

enum sonde__report_phase_kind {
    SONDE__REPORT_PHASE_NONE,
    SONDE__REPORT_PHASE_RUNNING, /* on a CPU, or waiting for one */
    SONDE__REPORT_PHASE_BLOCKED, /* in a system call */
    SONDE__REPORT_PHASE_DISK,    /* in uninterruptible sleep */
    SONDE__REPORT_PHASE_UNKNOWN, /* could not be read */
};

enum sonde__report_sampler {
    SONDE__REPORT_SAMPLER_NONE,
    SONDE__REPORT_SAMPLER_PERF,   /* passive + perf events */
    SONDE__REPORT_SAMPLER_PTRACE, /* passive + ptrace */
    SONDE__REPORT_SAMPLER_SIGNAL, /* passive + signal */
};

struct sonde__report_header {
    uint32_t format; /* 0 stands for SONDE__REPORT_FORMAT */
    uint32_t kind;   /* enum sonde__report_kind */
    const char *tool, *executable, *os, *arch, *source;
    uint64_t time_unix_ns;
    int32_t pid;
    uint64_t threshold_ns;
    uint64_t pause_ns;
};

/* Totals, known when the report is closed. */
struct sonde__report_end {
    uint64_t stall_count; /* stalls seen, including those left out of the report */
    uint64_t turn_count;
    uint64_t lost_records; /* what did not fit the limits */
    uint64_t watched_ns;
};

struct sonde__report_image {
    uint32_t path; /* string id */
    struct sonde__build_id build_id;
    uint32_t flags;   /* enum sonde__image_flags */
    uint32_t arch;    /* enum sonde_arch */
    uint64_t code_id; /* without a build-id: stands for the code; 0: not known */
    /* Where it is mapped; known only where the report is made, and never written. */
    uint64_t start, bias;
};

/* A call that was inlined into a frame's function and whose code runs at the frame's pc. */
struct sonde__report_inlined {
    uint32_t name, file; /* string ids */
    uint32_t line;       /* 0: not known */
};

struct sonde__report_frame {
    uint32_t image;
    uint64_t offset; /* vaddr of the pc in the image; an address when image is 0 */
    uint32_t how;    /* SONDE_HOW byte */
    uint32_t name;   /* string id */
    /* pc - start of the function; with name 0 too, where only its bounds are known (then != 0) */
    uint64_t name_offset;
    uint32_t name_source; /* enum sonde__report_name_source */
    uint64_t lost_count;  /* != 0: a gap, not a frame */
    uint32_t kind;        /* enum sonde__report_frame_kind */
    /* Where in the function: the pc's place, or that of the outermost call inlined into it. */
    uint32_t file; /* string id */
    uint32_t line;
    uint32_t inlined_count;
    const struct sonde__report_inlined *inlined; /* innermost first; the model keeps a copy */
    uint32_t alternatives; /* of a tail call: ways that were possible, none is shown; 0: this one;
                              UINT32_MAX: any number */
    uint64_t code_id;      /* of code of no image: stands for it in other runs, too; 0: not known */
};

struct sonde__report_node {
    uint32_t parent; /* the caller */
    uint32_t frame;
    uint32_t depth; /* nodes up to the outermost, this one included; set by the model */
    /* Functions between this frame and its caller that left by a jump: frame ids, innermost first.
     * The caller called the last of them. */
    uint32_t tail_call_count;
    const uint32_t *tail_calls; /* the model keeps a copy */
};

struct sonde__report_thread {
    int64_t tid;
    uint32_t name, state;
    bool main;
    uint32_t stack; /* innermost node */
    uint32_t end;   /* enum sonde_end_reason */
    uint64_t end_at;
    uint32_t captured_by; /* enum sonde__captured_by */
    int64_t syscall;      /* number + 1; 0: none */
    uint64_t pause_ns;
    uint32_t note;
    uint32_t frame_count;
    uint64_t time_ns;
    uint32_t detail; /* string id: what the call waits for ("fd 7 socket:[123]") */
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
    uint32_t sampler; /* enum sonde__report_sampler */
    bool main;        /* the stalled thread is the main thread */
};

/* All calls of one function from one stack; or, without a count, what may be missing of them. */
struct sonde__report_call {
    uint32_t function; /* string id */
    uint32_t stack;    /* the caller's node; 0: of stacks that had no room */
    uint64_t count;
    uint32_t end;    /* why the walk ended: enum sonde_end_reason */
    uint32_t missed; /* string id: calls that may not have been seen, of no stack; 0: none */
};

/* Blocks of one function that one stack made, at one time. */
struct sonde__report_heap_blocks {
    uint64_t time_ns;  /* since start */
    uint32_t stack;    /* node; 0: of stacks that had no room */
    uint32_t function; /* node of one frame */
    uint64_t count, size_bytes;
    int64_t growth, growth_bytes; /* since the time before */
    uint64_t oldest_ns, newest_ns;
    int64_t tid; /* 0: several */
};

/* What was left out, by kind. */
struct sonde__report_lost {
    uint64_t strings, images, frames, nodes, threads, stalls, samples, notes, calls, heap_blocks;
    uint64_t strings_cut; /* kept, but shortened */
};

SONDE_NODISCARD enum sonde_status sonde__report_create(struct sonde__report **ret_report);
void sonde__report_destroy(struct sonde__report *report);

/* Strings are copied; bytes that are not valid UTF-8 become U+FFFD (the format requires valid
 * text). Ids are 0 when memory or a limit ran out (counted in lost). */
void sonde__report_set_header(struct sonde__report *report,
                              const struct sonde__report_header *header);
void sonde__report_set_end(struct sonde__report *report, const struct sonde__report_end *end);
void sonde__report_add_note(struct sonde__report *report, const char *note);
uint32_t sonde__report_string(struct sonde__report *report, const char *text);
uint32_t sonde__report_add_image(struct sonde__report *report,
                                 const struct sonde__report_image *image);
/* Frames are equal by image, pc and name. Source place and inlined calls follow from these and are
 * taken from the first of equal frames. */
uint32_t sonde__report_add_frame(struct sonde__report *report,
                                 const struct sonde__report_frame *frame);
/* Replace a frame of a report that was read. No frames may be added afterwards, because look-ups
 * use the old values. If memory runs out the old frame stays. */
void sonde__report_replace_frame(struct sonde__report *report, uint32_t id,
                                 const struct sonde__report_frame *frame);
/* parent 0: the outermost frame. Returns 0 if the parent does not exist. */
uint32_t sonde__report_add_node(struct sonde__report *report, uint32_t parent, uint32_t frame);
/* The same with tail calls between the node and its parent: frame ids, innermost first. They are
 * determined by the two frames. */
uint32_t sonde__report_add_node_after(struct sonde__report *report, uint32_t parent, uint32_t frame,
                                      const uint32_t *tail_calls, uint32_t tail_call_count);
void sonde__report_add_thread(struct sonde__report *report,
                              const struct sonde__report_thread *thread);
void sonde__report_add_stall(struct sonde__report *report, const struct sonde__report_stall *stall);
void sonde__report_add_call(struct sonde__report *report, const struct sonde__report_call *call);
void sonde__report_add_heap_blocks(struct sonde__report *report,
                                   const struct sonde__report_heap_blocks *blocks);

/* Reading the model. Ids outside the dictionaries give empty values, never null. sonde__report_end
 * is null until it is set or read. */
const struct sonde__report_header *sonde__report_header(const struct sonde__report *report);
const struct sonde__report_end *sonde__report_end(const struct sonde__report *report);
const struct sonde__report_lost *sonde__report_lost(const struct sonde__report *report);
/* The number of all that was left out (strings that were only cut do not count). */
uint64_t sonde__report_lost_records(const struct sonde__report *report);
const char *sonde__report_text(const struct sonde__report *report, uint32_t string);
const struct sonde__report_image *sonde__report_image(const struct sonde__report *r, uint32_t id);
const struct sonde__report_frame *sonde__report_frame(const struct sonde__report *r, uint32_t id);
const struct sonde__report_node *sonde__report_node(const struct sonde__report *r, uint32_t id);
uint32_t sonde__report_string_count(const struct sonde__report *report);
uint32_t sonde__report_image_count(const struct sonde__report *report);
uint32_t sonde__report_frame_count(const struct sonde__report *report);
uint32_t sonde__report_node_count(const struct sonde__report *report);
uint32_t sonde__report_thread_count(const struct sonde__report *report);
const struct sonde__report_thread *sonde__report_thread(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_stall_count(const struct sonde__report *report);
const struct sonde__report_stall *sonde__report_stall(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_call_count(const struct sonde__report *report);
const struct sonde__report_call *sonde__report_call(const struct sonde__report *r, uint32_t i);
uint32_t sonde__report_heap_blocks_count(const struct sonde__report *report);
const struct sonde__report_heap_blocks *sonde__report_heap_blocks(const struct sonde__report *r,
                                                                  uint32_t i);
uint32_t sonde__report_note_count(const struct sonde__report *report);
const char *sonde__report_note(const struct sonde__report *report, uint32_t i);

#endif
