// SPDX-License-Identifier: Apache-2.0
/* A report as text: for people, and as JSON (docs/guide/report-json.md). Pure functions of the
 * model; they allocate only to group threads, and do not group if memory runs out. */
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
    bool raw_names;       /* functions as the file names them, not demangled */
    bool physical_only;   /* no inlined calls, files and lines */
    bool app_only;        /* of stacks the program's own frames; the others counted, in text */
    bool group;           /* stalls of one fingerprint as one, the longest, in text */
    bool unfolded;        /* each thread with its own stack, also where several have the same; the
                             interpreter's frames beside script frames */
    uint32_t top;         /* stacks of each recorded function in text, those with the most calls; 0:
                             SONDE__REPORT_TOP; UINT32_MAX: all */
    uint32_t stall_first; /* stalls that were before the model's first */
    const struct sonde__report_loss *loss; /* what the reader could not keep, or null */
};

/* Few enough to read. */
#define SONDE__REPORT_TOP 20u

/* Frames of one stack that a view shows; of a longer one it gives the number of the rest. Captures
 * keep some thousand frames. */
#define SONDE__REPORT_VIEW_FRAMES_MAX 16384u

/* The whole report. `view` may be null. */
void sonde__report_text_view(const struct sonde__report *report,
                             const struct sonde__report_view *view, struct sonde__report_sink sink);
void sonde__report_json_view(const struct sonde__report *report,
                             const struct sonde__report_view *view, struct sonde__report_sink sink);

/* The stacks in the format of another tool (style.h), which is not SONDE_STYLE_SONDE. */
void sonde__report_style_view(const struct sonde__report *report, enum sonde_style style,
                              struct sonde__report_sink sink);

/* Recorded calls alone, as text. */
void sonde__report_text_calls(const struct sonde__report *report,
                              const struct sonde__report_view *view,
                              struct sonde__report_sink sink);

/* Blocks on the heap, from number `first` on (a time's), likewise. */
void sonde__report_text_heap_blocks(const struct sonde__report *report, uint32_t first,
                                    const struct sonde__report_view *view,
                                    struct sonde__report_sink sink);

/* One stall (index in the model), as the text view shows it: for a watch that prints as it goes. */
void sonde__report_text_stall(const struct sonde__report *report, uint32_t index,
                              const struct sonde__report_view *view,
                              struct sonde__report_sink sink);

/* Parts of the text view, for the files of this folder. */
void sonde__report_put_stack(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t stack, uint32_t indent);
/* The member "frames" of the object at hand. */
void sonde__report_put_json_frames(struct sonde__json *json, const struct sonde__report *report,
                                   uint32_t stack);
void sonde__report_put_stall(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t index, const struct sonde__report_view *view);
/* Of a stall: the time without samples, in all and as a line; who waits for whom; the rest. */
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
/* Waits outside stalls. */
void sonde__report_put_all_waits(struct sonde__report_out *out, const struct sonde__report *report);
/* "start", before consent */
void sonde__report_put_named_phase(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t id);
/* The findings of an audit: calls that a rule is about. */
bool sonde__report_is_finding(const struct sonde__report *report,
                              const struct sonde__report_call *call);
void sonde__report_put_findings(struct sonde__report_out *out, const struct sonde__report *report);
/* Who called the recorded functions, and how often. */
void sonde__report_put_calls(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_view *view);
/* Who made the blocks that live, from number `first` on. */
void sonde__report_put_heap_blocks(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t first);
void sonde__report_put_threads(struct sonde__report_out *out, const struct sonde__report *report,
                               const struct sonde__report_thread *threads, uint32_t count,
                               bool unfolded);
/* A thread that has what a stalled one waits for, beside the cause. */
void sonde__report_put_owner(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_thread *thread);
/* The name of a function (a string id) for people: demangled, in `buffer` of
 * SONDE__DEMANGLE_OUTPUT_MAX bytes (demangle.h), or as the file names it; "" when not known. */
const char *sonde__report_function(const struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t name, char *buffer);
/* The same, printed; "?" when not known. */
void sonde__report_put_name(struct sonde__report_out *out, const struct sonde__report *report,
                            uint32_t name);
/* "fsync", "python3.11+0x1d64b4", "12 frames left out": one frame in a line of text. */
void sonde__report_put_function(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_frame *frame);
/* What a line of a call says that was inlined. */
#define SONDE__REPORT_MARK_INLINED "[inlined]"
/* A line in place of tail calls that several paths explain; UINT32_MAX: any number of paths. */
void sonde__report_put_tail_ways(struct sonde__report_out *out, uint32_t ways);
/* ` "worker"`; nothing without a name (a string id). */
void sonde__report_put_thread_name(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t name);
/* "fsync", or "system call 999" when the number has no name; `syscall` is number + 1. */
void sonde__report_put_syscall(struct sonde__report_out *out, const struct sonde__report *report,
                               int64_t syscall);

/* The last part of an image's path: "libc.so.6". */
const char *sonde__report_image_name(const struct sonde__report *report, uint32_t image);
/* Name of system call `number` on the report's architecture, or null. */
const char *sonde__report_syscall_name(const struct sonde__report *report, int64_t number);

#endif
