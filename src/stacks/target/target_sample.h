// SPDX-License-Identifier: Apache-2.0
/* A thread at one moment: its identity, how it was read, its stack. Kept until the names are
 * looked up, which takes longer than the threads may wait. Context: any thread, one at a time
 * per target. */
#ifndef SONDE_TARGET_SAMPLE_H
#define SONDE_TARGET_SAMPLE_H

#include "target_script.h"

struct sonde__sample {
    struct sonde__thread thread;
    struct sonde__capture capture;
    struct sonde_stack stack;           /* in a kept sample, its arrays are one heap block */
    struct sonde__target_script script; /* likewise, its frames and their texts */
};

/* Capture `thread`, and what its call waits for. stack: an empty stack, whose arrays stay the
 * caller's until sonde__sample_keep(). */
void sonde__sample_take(struct sonde__target *target, const struct sonde__thread *thread,
                        const struct sonde_stack *stack, struct sonde__sample *ret_sample);

/* Describe again what the call waits for, after its number was found to be another one. */
void sonde__sample_describe_call(struct sonde__target *target, struct sonde__sample *sample);

/* Take the sample that sonde__target_expect() asked for. False: there is none. */
bool sonde__sample_meet(struct sonde__target *target, uint64_t tid, const struct sonde_stack *stack,
                        struct sonde__sample *ret_sample);

/* Copy the frames into the sample's own arrays. False: out of memory; nothing to free.
 * Ownership: sonde__sample_done(). */
bool sonde__sample_keep(struct sonde__sample *sample);
void sonde__sample_done(struct sonde__sample *sample);

/* Same stack and same call: as far as this shows, the thread has not moved. */
bool sonde__sample_is_same(const struct sonde__sample *a, const struct sonde__sample *b);

#endif
