// SPDX-License-Identifier: Apache-2.0
/* A report as text and as JSON (docs/guide/report-json.md). Pure functions of the model. Memory is
 * allocated only to group threads and to sum up rules; if it runs out, that is left out. */
#ifndef SONDE_REPORT_VIEW_H
#define SONDE_REPORT_VIEW_H

#include <sonde/text.h>

#include "report_model.h"
#include "report_out.h"

struct sonde__report_loss; /* report_read.h */
struct sonde__json;        /* report_json.h */

struct sonde__report_view {
    bool color;           /* ANSI colours; the caller knows whether it writes to a terminal */
    bool images;          /* list the images with their build-ids */
    bool raw_names;       /* stored names, not demangled ones */
    bool app_only;        /* show the program's own frames, count the others; text only */
    bool group;           /* print one stall of each fingerprint, the longest; text only */
    bool one_line;        /* JSON only */
    bool unfolded;        /* do not group threads, nor fold the interpreter's frames */
    uint32_t top;         /* of each function, text only; 0: SONDE__REPORT_TOP; UINT32_MAX: all */
    uint32_t stall_first; /* number of stalls before the model's first one */
    const struct sonde__report_loss *loss; /* the reader's losses, or null */
};

#define SONDE__REPORT_TOP 20u

/* Frames of a stack that a view prints; of longer stacks it counts the rest. Captures keep some
 * thousand frames. */
#define SONDE__REPORT_VIEW_FRAMES_MAX 16384u

/* The whole report. `view` may be null. */
void sonde__report_text_view(const struct sonde__report *report,
                             const struct sonde__report_view *view, struct sonde__report_sink sink);
void sonde__report_json_view(const struct sonde__report *report,
                             const struct sonde__report_view *view, struct sonde__report_sink sink);

/* Print the stacks in the format of another tool (style.h); not SONDE_STYLE_SONDE. */
void sonde__report_style_view(const struct sonde__report *report, enum sonde_style style,
                              struct sonde__report_sink sink);

/* Recorded calls alone. */
void sonde__report_text_calls(const struct sonde__report *report,
                              const struct sonde__report_view *view,
                              struct sonde__report_sink sink);

/* Blocks on the heap alone, from index `first` (the first one of a time) on. */
void sonde__report_text_heap_blocks(const struct sonde__report *report, uint32_t first,
                                    const struct sonde__report_view *view,
                                    struct sonde__report_sink sink);

/* Stall `index` as in the text view, for a watch that prints as it goes. */
void sonde__report_text_stall(const struct sonde__report *report, uint32_t index,
                              const struct sonde__report_view *view,
                              struct sonde__report_sink sink);

/* The stalls of several reports as groups of one fingerprint, the longest in all first; of each the
 * longest stall. names: of the reports. Returns OK | MEMORY: nothing was printed. */
SONDE_NODISCARD enum sonde_status
sonde__report_text_groups(const struct sonde__report *const *reports, const char *const *names,
                          uint32_t count, const struct sonde__report_view *view,
                          struct sonde__report_sink sink);

/* Parts of the text view, for the files of this folder. */
void sonde__report_put_stack(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t stack, uint32_t indent);
/* Write the member "frames" of the current object. */
void sonde__report_put_json_frames(struct sonde__json *json, const struct sonde__report *report,
                                   uint32_t stack);
void sonde__report_put_stall(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t index, const struct sonde__report_view *view);
/* For a stall: its time without samples, as a number and as text, then its waits. */
uint64_t sonde__report_uncovered_ns(const struct sonde__report_stall *stall);
void sonde__report_put_uncovered(struct sonde__report_out *out, const struct sonde__report *report,
                                 const struct sonde__report_stall *stall);
void sonde__report_put_waits(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_wait *waits, uint32_t count);
/* "mutex 0x7f0000001000, held by thread 4712" */
void sonde__report_put_resource(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_wait *wait);
void sonde__report_put_circumstances(struct sonde__report_out *out,
                                     const struct sonde__report *report,
                                     const struct sonde__report_stall *stall);
void sonde__report_put_fingerprint(struct sonde__report_out *out,
                                   const struct sonde__report *report,
                                   const struct sonde__report_stall *stall);
void sonde__report_put_all_waits(struct sonde__report_out *out, const struct sonde__report *report);
/* "start", before consent */
void sonde__report_put_named_phase(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t id);
/* Is the call one that a rule of an audit reports? */
bool sonde__report_is_finding(const struct sonde__report *report,
                              const struct sonde__report_call *call);
void sonde__report_put_findings(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_view *view);
void sonde__report_put_calls(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_view *view);
/* Blocks on the heap, from index `first` on. */
/* The tasks that wait in loops. */
void sonde__report_put_tasks(struct sonde__report_out *out, const struct sonde__report *report);
void sonde__report_put_heap_blocks(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t first);
void sonde__report_put_threads(struct sonde__report_out *out, const struct sonde__report *report,
                               const struct sonde__report_thread *threads, uint32_t count,
                               bool unfolded);
/* A thread that holds what a stalled one waits for, printed next to the cause. */
void sonde__report_put_owner(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_thread *thread);
/* The name of a function (a string id), demangled into `buffer` of SONDE__DEMANGLE_OUTPUT_MAX bytes
 * (demangle.h), or as stored; "" if unknown. */
const char *sonde__report_function(const struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t name, char *buffer);
/* Prints it; "?" if unknown. */
void sonde__report_put_name(struct sonde__report_out *out, const struct sonde__report *report,
                            uint32_t name);
/* One frame in a line of text: "fsync", "python3.11+0x1d64b4", "12 frames left out". */
void sonde__report_put_function(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_frame *frame);
/* Marks the line of an inlined call. */
#define SONDE__REPORT_MARK_INLINED "[inlined]"
/* The line for tail calls that several paths explain; UINT32_MAX: unlimited. */
void sonde__report_put_tail_ways(struct sonde__report_out *out, uint32_t ways);
/* "  queue LABEL  QoS CLASS", as far as it is known. */
void sonde__report_put_purpose(struct sonde__report_out *out, const struct sonde__report *report,
                               uint32_t qos, uint32_t queue);
/* ` "worker"` for a string id; nothing for 0. */
void sonde__report_put_thread_name(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t name);
/* "fsync", or "system call 999" if the number is unknown; `syscall` is number + 1. */
void sonde__report_put_syscall(struct sonde__report_out *out, const struct sonde__report *report,
                               int64_t syscall);

/* The base name of an image's path: "libc.so.6". */
const char *sonde__report_image_name(const struct sonde__report *report, uint32_t image);
/* The name of a system call on the report's architecture, or null. */
const char *sonde__report_syscall_name(const struct sonde__report *report, int64_t number);

#endif
