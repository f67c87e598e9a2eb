// SPDX-License-Identifier: Apache-2.0
/* Stacks of the watched program: taken during a stall, symbolized afterwards.
 *
 * Names are looked up after the stall, because a look-up takes longer than the pause between two
 * samples. Context: any thread, one at a time. */
#ifndef SONDE_WATCH_CAPTURE_H
#define SONDE_WATCH_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "report_model.h"
#include "target_sample.h"

struct sonde__symfile_options; /* symfile_cache.h */

/* Frames kept of one stack: twice the depth of the deepest stock program in the tests. The
 * outermost SONDE_OUTER_FRAMES are among them; lost frames are counted. */
#define SONDE__WATCH_FRAMES_MAX 1024u

struct sonde__watch_sampler;

/* Open the program. options: how its running threads may be read. symbols: where names are looked
 * up (root: that of the program), or null. Returns as sonde__target_open_process(). */
SONDE_NODISCARD enum sonde_status
sonde__watch_sampler_open(int32_t pid, const struct sonde__target_options *options,
                          const struct sonde__symfile_options *symbols,
                          struct sonde__watch_sampler **ret_sampler, struct sonde_error *ret_error);
struct sonde__target_signals
sonde__watch_sampler_signals(const struct sonde__watch_sampler *sampler);
/* The program is this process: its thread `own_tid`, the watch itself, is left out, and a running
 * thread without a perf sample is captured by `ask`, which fills stack and capture. */
typedef void sonde__watch_ask(uint64_t tid, struct sonde_stack *stack,
                              struct sonde__capture *ret_capture);
void sonde__watch_sampler_use_own_process(struct sonde__watch_sampler *sampler, uint64_t own_tid,
                                          sonde__watch_ask *ask);
void sonde__watch_sampler_close(struct sonde__watch_sampler *sampler);
/* Read the list of images again: libraries may have been loaded. */
void sonde__watch_sampler_refresh(struct sonde__watch_sampler *sampler);

/* One thread. False: it is gone, or memory ran out. Ownership: sonde__sample_done(). */
bool sonde__watch_take(struct sonde__watch_sampler *sampler, uint64_t tid,
                       struct sonde__sample *ret_sample);
/* Every thread but `except` (0: none), at most `capacity`; returns how many, *ret_total all. */
uint32_t sonde__watch_take_all(struct sonde__watch_sampler *sampler, uint64_t except,
                               struct sonde__sample *ret_samples, uint32_t capacity,
                               uint32_t *ret_total);
/* enum sonde__report_sampler: how the thread was sampled, or would have been if it had run. */
uint8_t sonde__watch_way_of(const struct sonde__watch_sampler *sampler,
                            const struct sonde__sample *sample);

/* The report that stacks go into from now on; it must outlive the sampler or the next call. */
SONDE_NODISCARD enum sonde_status sonde__watch_sampler_target(struct sonde__watch_sampler *sampler,
                                                              struct sonde__report *report);
/* The sample's stack in the report: a stack id. */
uint32_t sonde__watch_resolve(struct sonde__watch_sampler *sampler,
                              const struct sonde__sample *sample);
void sonde__watch_resolve_thread(struct sonde__watch_sampler *sampler,
                                 const struct sonde__sample *sample,
                                 struct sonde__report_thread *ret_thread);
/* "python3.11+0x1d64b4" for a place in the program, into the caller's buffer. */
void sonde__watch_place(struct sonde__watch_sampler *sampler, uint64_t pc, char *ret_text,
                        size_t capacity);

#endif
