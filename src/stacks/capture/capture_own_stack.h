// SPDX-License-Identifier: Apache-2.0
/* The part of the calling thread's own stack that plain loads may read.
 *
 * Between its sp and the end that the thread pointer or the loader's record gives, a stack should
 * be mapped; but a coroutine's stack may lie below the thread's, with anything between. So each
 * page is probed once before it is read: a thread's stack stays mapped as long as it lives. Only
 * pages that a walk reaches are probed: behind the frames are the thread's variables, which can be
 * many. Context: handler. */
#ifndef SONDE_CAPTURE_OWN_STACK_H
#define SONDE_CAPTURE_OWN_STACK_H

#include <stdint.h>

/* Of the calling thread: [start, end) of its stack was seen to be mapped, and no look beyond
 * `limit` is of use. A few words of static TLS (initial-exec), so that a handler's first touch
 * allocates nothing. */
struct sonde__capture_seen {
    uint64_t start, end, limit;
    uint32_t version; /* changes with them: a handler may come between the loads of these */
};
extern __thread struct sonde__capture_seen sonde__capture_seen;

/* As far as it was looked at already: the end of the range above sp that plain loads may touch. sp:
 * there is none. */
static inline uint64_t sonde__capture_own_stack_seen(uint64_t sp)
{
    const volatile struct sonde__capture_seen *seen = &sonde__capture_seen;
    uint32_t version = seen->version;
    uint64_t start = seen->start;
    uint64_t end = seen->end;
    return version == seen->version && sp >= start && sp < end ? end : sp;
}

/* The same, after a look at what lies before `to` (and perhaps a little more). The end is short of
 * `to` where something is unmapped, where the stack ends, or if that is many pages away. */
uint64_t sonde__capture_own_stack_to(uint64_t sp, uint64_t to);

/* The same, to the end of the stack or many pages outward. */
uint64_t sonde__capture_own_stack(uint64_t sp);

#endif
