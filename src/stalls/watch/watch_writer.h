// SPDX-License-Identifier: Apache-2.0
/* The watch's output, in a thread of its own: names, the report and stderr may block for seconds.
 * The thread that samples only queues what it found, and never waits.
 *
 * Invariant: the output (watch_output.h) belongs to the writer's thread from the first item until
 * _finish(), which writes everything in the queue. The thread starts with the first item; if it
 * cannot start, items are written at once. The queue is bounded: items that do not fit are dropped,
 * counted and reported.
 *
 * Samples are queued with the images of their time (sonde__sampler_freeze()), so a library
 * that is unloaded before the look-up still has its names. Context: the thread that samples. */
#ifndef SONDE_WATCH_WRITER_H
#define SONDE_WATCH_WRITER_H

#include "watch_output.h"

struct sonde__watch_writer;

/* Limits of the queue: lines and stalls; samples of all stalls, at some 700 bytes each. A program
 * that stalls four times a second fills it in a minute, if names take that long. */
#define SONDE__WATCH_QUEUE_ITEMS   256u
#define SONDE__WATCH_QUEUE_SAMPLES 131072u

/* As sonde__watch_output_create(). */
SONDE_NODISCARD enum sonde_status
sonde__watch_writer_create(const struct sonde__watch_options *options, int32_t pid,
                           struct sonde__watch_writer **ret_writer);
/* Write the queue and the end of the report. Blocks until done. Frees the writer. */
void sonde__watch_writer_finish(struct sonde__watch_writer *writer, uint64_t turns,
                                uint64_t watched_ns, const struct sonde__decide_turns *lengths);

/* Is the queue empty, and nothing being written? */
bool sonde__watch_writer_is_idle(struct sonde__watch_writer *writer);
/* Wait until the queue is written, at most so many seconds: stderr may block. */
void sonde__watch_writer_settle(struct sonde__watch_writer *writer, uint32_t seconds);
/* The writer's thread; 0: it has not started. */
uint64_t sonde__watch_writer_tid(struct sonde__watch_writer *writer);

/* Print a line "sonde run: TEXT", and add a note to the report. */
void sonde__watch_print(struct sonde__watch_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Queue a stall; sets ended->stall. Ownership: takes over what `stall` holds, leaving it empty, and
 * ended->images. */
void sonde__watch_writer_stall(struct sonde__watch_writer *writer,
                               struct sonde__sampler_stall *stall,
                               const struct sonde__entry_ended *ended);
/* As sonde__watch_output_begin(). Ownership: likewise. */
void sonde__watch_writer_begin(struct sonde__watch_writer *writer,
                               struct sonde__sampler_stall *threads,
                               const struct sonde__entry_ended *ended);
/* Ownership: likewise. why: a static string. */
void sonde__watch_writer_stacks(struct sonde__watch_writer *writer,
                                struct sonde__sampler_stall *threads, struct sonde__target *images,
                                const char *why);
/* As sonde__watch_output_look() and _plugin(). */
void sonde__watch_writer_look(struct sonde__watch_writer *writer, const void *memory, bool all);
/* As sonde__watch_output_tidy(). */
void sonde__watch_writer_tidy(struct sonde__watch_writer *writer);
/* The report, with its header and process. Call it before the first item. */
const struct sonde__report *sonde__watch_writer_report(const struct sonde__watch_writer *writer);
void sonde__watch_writer_plugin(struct sonde__watch_writer *writer, const void *memory);

#endif
