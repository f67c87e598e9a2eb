// SPDX-License-Identifier: Apache-2.0
/* Output of the watch: stalls as they end, and stacks on request, as text on stderr and into the
 * report file record by record. Context: any thread, one at a time. */
#ifndef SONDE_WATCH_OUTPUT_H
#define SONDE_WATCH_OUTPUT_H

#include "probe_page.h"
#include "watch_run.h"
#include "watch_stall.h"

struct sonde__watch_output;

SONDE_NODISCARD enum sonde_status
sonde__watch_output_create(const struct sonde__watch_options *options, int32_t pid,
                           struct sonde__watch_output **ret_output);
/* Totals, and the report's end. Frees the output. */
void sonde__watch_output_finish(struct sonde__watch_output *output, uint64_t turns,
                                uint64_t watched_ns);

/* The program has ended: the messages of the plugin, and what it recorded. */
void sonde__watch_output_plugin(struct sonde__watch_output *output, const void *memory);
/* The same while the program runs. all: also what has not changed. */
void sonde__watch_output_look(struct sonde__watch_output *output, const void *memory, bool all);

/* One line "sonde run: TEXT", and a note in the report. */
void sonde__watch_say(struct sonde__watch_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct sonde__watch_ended {
    const struct sonde__watch_stall *stall;
    const struct sonde__probe_slot *slot;
    uint64_t tid;
    bool main, open;
    uint64_t begin_ns; /* since the watch began */
    uint64_t duration_ns;
    uint64_t turns; /* of its loop before this stall */
};
void sonde__watch_output_stall(struct sonde__watch_output *output,
                               struct sonde__watch_sampler *sampler,
                               const struct sonde__watch_ended *ended);
/* All threads now. */
void sonde__watch_output_stacks(struct sonde__watch_output *output,
                                struct sonde__watch_sampler *sampler, const char *why);

#endif
