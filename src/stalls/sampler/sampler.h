// SPDX-License-Identifier: Apache-2.0
/* Stacks of the watched program, as addresses: names are looked up elsewhere (entry_names.h).
 * Context: any thread, one at a time. */
#ifndef SONDE_SAMPLER_H
#define SONDE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "target_sample.h"

/* Frames kept of one stack: twice the depth of the deepest stock program in the tests. The
 * outermost SONDE_OUTER_FRAMES are among them; lost frames are counted. */
#define SONDE__SAMPLER_FRAMES_MAX 1024u

struct sonde__sampler;

/* Open the program. options: how to read its running threads. Returns as
 * sonde__target_open_process(). */
SONDE_NODISCARD enum sonde_status sonde__sampler_open(int32_t pid,
                                                      const struct sonde__target_options *options,
                                                      struct sonde__sampler **ret_sampler,
                                                      struct sonde_error *ret_error);
struct sonde__target_signals sonde__sampler_signals(const struct sonde__sampler *sampler);
/* Watch this process: leave out its thread `own_tid`, the watch itself. A running thread without a
 * perf sample is captured by `ask`, which fills stack and capture. */
typedef void sonde__sampler_ask(uint64_t tid, struct sonde_stack *stack,
                                struct sonde__capture *ret_capture);
void sonde__sampler_use_own_process(struct sonde__sampler *sampler, uint64_t own_tid,
                                    sonde__sampler_ask *ask);
/* Leave out one more thread of the watch in this process; 0: none. */
void sonde__sampler_leave_out(struct sonde__sampler *sampler, uint64_t tid);
/* The program, and its images as of the last refresh; null: no sampler. */
struct sonde__target *sonde__sampler_target(struct sonde__sampler *sampler);
const struct sonde__image_set *sonde__sampler_images(const struct sonde__sampler *sampler);
void sonde__sampler_close(struct sonde__sampler *sampler);
/* Read the list of images again; libraries may have been loaded. */
void sonde__sampler_refresh(struct sonde__sampler *sampler);

/* Read one thread, to sample it at once or not at all. False: it has ended. */
bool sonde__sampler_find(struct sonde__sampler *sampler, uint64_t tid,
                         struct sonde__thread *ret_thread);
/* Sample one thread. known: the thread that was just found; null: find it. False: the thread has
 * ended, or memory ran out. Ownership: sonde__sample_done(). */
bool sonde__sampler_take(struct sonde__sampler *sampler, uint64_t tid,
                         const struct sonde__thread *known, struct sonde__sample *ret_sample);
/* Let a thread be sampled each time it has run for after_ns, `count` times at most, where that is
 * possible (sonde__target_expect()). */
void sonde__sampler_expect(struct sonde__sampler *sampler, uint64_t tid, uint64_t after_ns,
                           uint32_t count);
/* Take that sample. False: there is none, or memory ran out. Ownership: sonde__sample_done(). */
bool sonde__sampler_take_met(struct sonde__sampler *sampler, uint64_t tid,
                             struct sonde__sample *ret_sample);
/* Expect no sample any more. */
void sonde__sampler_pause(struct sonde__sampler *sampler);
/* For how long it has waited for threads to be captured since the last such call, work included.
 * sampler may be null: 0. */
uint64_t sonde__sampler_waited(struct sonde__sampler *sampler);
/* The next sample of this thread will not come soon. */
void sonde__sampler_rest(struct sonde__sampler *sampler);
/* List the threads. Returns how many there are; 0: they cannot be listed. */
uint32_t sonde__sampler_list(struct sonde__sampler *sampler);
/* May this thread be sampled after so much of limit_ns? Only one that could run is waited for. */
bool sonde__sampler_has_time_for(char letter, uint64_t passed_ns, uint64_t limit_ns);
/* Sample every listed thread but `except` (0: none), at most `capacity`, and none that could run
 * after limit_ns (UINT64_MAX: no limit). Returns the number of samples; *ret_total is the number of
 * threads. */
uint32_t sonde__sampler_take_all(struct sonde__sampler *sampler, uint64_t except, uint64_t limit_ns,
                                 struct sonde__sample *ret_samples, uint32_t capacity,
                                 uint32_t *ret_total);
/* Finds what threads of the program wait for, and the owners. Created at the first call. Null:
 * memory ran out. */
struct sonde__causes *sonde__sampler_causes(struct sonde__sampler *sampler);
/* How a running thread would be sampled: enum sonde__report_sampler. */
uint8_t sonde__sampler_way(const struct sonde__sampler *sampler);
/* How the thread was sampled, or would have been (`way`) if it had run. */
uint8_t sonde__sampler_way_of(uint8_t way, const struct sonde__sample *sample);
/* A copy of the current images, to name samples later (target_frozen.h). Null: memory ran out.
 * Ownership: sonde__target_close(), before the sampler is closed. */
struct sonde__target *sonde__sampler_freeze(struct sonde__sampler *sampler);

#endif
