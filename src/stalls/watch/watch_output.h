// SPDX-License-Identifier: Apache-2.0
/* Output of the watch: stalls when they end, and stacks on request, as text on stderr and as
 * records in the report file. All of it may block, so it belongs to the thread of watch_writer.h.
 * Context: any thread, one at a time. */
#ifndef SONDE_WATCH_OUTPUT_H
#define SONDE_WATCH_OUTPUT_H

#include "decide_turns.h"
#include "entry_record.h"
#include "watch_run.h"

struct sonde__watch_output;

enum { SONDE__WATCH_WHO = 300 };

/* "NAME[PID]: ", which begins a line about a program among others. program: its path. */
void sonde__watch_who(const char *program, int32_t pid, char ret_who[SONDE__WATCH_WHO]);

SONDE_NODISCARD enum sonde_status
sonde__watch_output_create(const struct sonde__watch_options *options, int32_t pid,
                           struct sonde__watch_output **ret_output);
/* Write totals and the report's end. Frees the output. */
void sonde__watch_output_finish(struct sonde__watch_output *output, uint64_t turns,
                                uint64_t watched_ns, const struct sonde__decide_turns *lengths);

/* The program has ended: show the plugin's messages and what it recorded. */
void sonde__watch_output_plugin(struct sonde__watch_output *output, const void *memory);
/* Show the same while the program runs. all: also what has not changed. */
void sonde__watch_output_look(struct sonde__watch_output *output, const void *memory, bool all);

/* Print a line "sonde run: TEXT", and add a note to the report. */
void sonde__watch_output_print(struct sonde__watch_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void sonde__watch_output_stall(struct sonde__watch_output *output,
                               const struct sonde__entry_ended *ended);
/* A stall has begun: `threads` has its thread. Calls options.on_begin. */
void sonde__watch_output_begin(struct sonde__watch_output *output,
                               const struct sonde__sampler_stall *threads,
                               const struct sonde__entry_ended *ended);
/* Print captured threads. why: a static string. */
void sonde__watch_output_stacks(struct sonde__watch_output *output,
                                const struct sonde__sampler_stall *threads,
                                struct sonde__target *images, const char *why);

/* Finish what earlier runs left in the spool folder (watch_spooled.h). */
void sonde__watch_output_tidy(struct sonde__watch_output *output);
/* The report, for its header. */
const struct sonde__report *sonde__watch_output_report(const struct sonde__watch_output *output);

#endif
