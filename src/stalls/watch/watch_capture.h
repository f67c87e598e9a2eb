// SPDX-License-Identifier: Apache-2.0
/* Stacks of the watched program, as addresses: names are looked up elsewhere (watch_names.h).
 * Context: any thread, one at a time. */
#ifndef SONDE_WATCH_CAPTURE_H
#define SONDE_WATCH_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "target_sample.h"

/* Frames kept of one stack: twice the depth of the deepest stock program in the tests. The
 * outermost SONDE_OUTER_FRAMES are among them; lost frames are counted. */
#define SONDE__WATCH_FRAMES_MAX 1024u

struct sonde__watch_sampler;

/* Open the program. options: how its running threads may be read. Returns as
 * sonde__target_open_process(). */
SONDE_NODISCARD enum sonde_status
sonde__watch_sampler_open(int32_t pid, const struct sonde__target_options *options,
                          struct sonde__watch_sampler **ret_sampler, struct sonde_error *ret_error);
struct sonde__target_signals
sonde__watch_sampler_signals(const struct sonde__watch_sampler *sampler);
/* The program is this process: its thread `own_tid`, the watch itself, is left out, and a running
 * thread without a perf sample is captured by `ask`, which fills stack and capture. */
typedef void sonde__watch_ask(uint64_t tid, struct sonde_stack *stack,
                              struct sonde__capture *ret_capture);
void sonde__watch_sampler_use_own_process(struct sonde__watch_sampler *sampler, uint64_t own_tid,
                                          sonde__watch_ask *ask);
/* Of this process: another thread of the watch, left out, too; 0: none. */
void sonde__watch_sampler_leave_out(struct sonde__watch_sampler *sampler, uint64_t tid);
/* The program, and its images as they were last read; null: no sampler. */
struct sonde__target *sonde__watch_sampler_target(struct sonde__watch_sampler *sampler);
const struct sonde__image_set *
sonde__watch_sampler_images(const struct sonde__watch_sampler *sampler);
void sonde__watch_sampler_close(struct sonde__watch_sampler *sampler);
/* Read the list of images again: libraries may have been loaded. */
void sonde__watch_sampler_refresh(struct sonde__watch_sampler *sampler);

/* One thread. False: it is gone, or memory ran out. Ownership: sonde__sample_done(). */
bool sonde__watch_take(struct sonde__watch_sampler *sampler, uint64_t tid,
                       struct sonde__sample *ret_sample);
/* No sample of the same thread follows soon. */
void sonde__watch_sampler_rest(struct sonde__watch_sampler *sampler);
/* Every thread but `except` (0: none), at most `capacity`; returns how many, *ret_total all. */
uint32_t sonde__watch_take_all(struct sonde__watch_sampler *sampler, uint64_t except,
                               struct sonde__sample *ret_samples, uint32_t capacity,
                               uint32_t *ret_total);
/* Who has what the threads of the program wait for; null: memory ran out. Made at the first call.
 */
struct sonde__causes *sonde__watch_sampler_causes(struct sonde__watch_sampler *sampler);
/* enum sonde__report_sampler: how a running thread would be sampled. */
uint8_t sonde__watch_sampler_way(const struct sonde__watch_sampler *sampler);
/* Likewise: how the thread was sampled, or would have been (`way`) if it had run. */
uint8_t sonde__watch_way_of(uint8_t way, const struct sonde__sample *sample);
/* The images as they are now, for names of samples (target_frozen.h); null: memory ran out.
 * Ownership: sonde__target_close(), before the sampler is closed. */
struct sonde__target *sonde__watch_sampler_freeze(struct sonde__watch_sampler *sampler);

#endif
