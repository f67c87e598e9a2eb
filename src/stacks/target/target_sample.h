// SPDX-License-Identifier: Apache-2.0
/* A thread at one moment: which thread, how it was read, its stack. Kept until names are looked up,
 * which takes longer than the threads may wait. Context: any thread, one at a time per target. */
#ifndef SONDE_TARGET_SAMPLE_H
#define SONDE_TARGET_SAMPLE_H

#include "target_script.h"

struct sonde__sample {
    struct sonde__thread thread;
    struct sonde__capture capture;
    struct sonde_stack stack;           /* of a kept sample: its arrays are one block of the heap */
    struct sonde__target_script script; /* likewise: its frames and their texts */
};

/* Capture `thread`, and say what its call waits for. The stack is `stack`, whose arrays stay the
 * caller's until sonde__sample_keep(). */
void sonde__sample_take(struct sonde__target *target, const struct sonde__thread *thread,
                        const struct sonde_stack *stack, struct sonde__sample *ret_sample);

/* Copy the frames into arrays of the sample's own. False: out of memory; nothing is to be freed.
 * Ownership: sonde__sample_done(). */
bool sonde__sample_keep(struct sonde__sample *sample);
void sonde__sample_done(struct sonde__sample *sample);

/* Same stack, same call: the thread has not moved, as far as this shows. */
bool sonde__sample_is_same(const struct sonde__sample *a, const struct sonde__sample *b);

#endif
