// SPDX-License-Identifier: Apache-2.0
/* A counter written by one thread, also in its signal handlers, and read by others. On x86-64 the
 * update is one instruction, so no handler runs between load and store, without a bus lock.
 * Context: handler. */
#ifndef SONDE_ARCH_COUNT_H
#define SONDE_ARCH_COUNT_H

#include <stdint.h>

static inline void sonde__arch_count_own(uint64_t *counter)
{
#if defined(__x86_64__) && !defined(SONDE_SANITIZED)
    __asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#endif
}

#endif
