// SPDX-License-Identifier: Apache-2.0
/* The part of the calling thread's own stack that plain loads may read.
 *
 * Between sp and the end that the thread pointer or the loader's record gives, a stack should be
 * mapped. But a coroutine's stack may be below the thread's, with anything between. So each page
 * is probed once before it is read: a thread's stack stays mapped as long as it lives. Only
 * pages that a walk reaches are probed: behind the frames are the thread's variables, which can
 * be large. Context: handler. */
#ifndef SONDE_CAPTURE_OWN_STACK_H
#define SONDE_CAPTURE_OWN_STACK_H

#include <stdint.h>

/* The calling thread's probes: [start, end) of its stack was seen to be mapped, and no probe
 * beyond `limit` is useful. A few words of static TLS (initial-exec), so that a handler's first
 * touch allocates nothing. */
struct sonde__capture_seen {
    uint64_t start, end, limit;
    uint32_t version; /* changes with them: a handler may interrupt the loads */
};
extern __thread struct sonde__capture_seen sonde__capture_seen;

/* The end of the probed range above sp, which plain loads may read. sp: there is none. */
static inline uint64_t sonde__capture_own_stack_seen(uint64_t sp)
{
    const volatile struct sonde__capture_seen *seen = &sonde__capture_seen;
    uint32_t version = seen->version;
    uint64_t start = seen->start;
    uint64_t end = seen->end;
    return version == seen->version && sp >= start && sp < end ? end : sp;
}

/* The same, after probes up to `to` and maybe a little more. The end is below `to` where memory
 * is unmapped, where the stack ends, or if `to` is too many pages away. */
uint64_t sonde__capture_own_stack_to(uint64_t sp, uint64_t to);

/* The same, up to the end of the stack or many pages outward. */
uint64_t sonde__capture_own_stack(uint64_t sp);

#endif
