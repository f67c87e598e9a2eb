// SPDX-License-Identifier: Apache-2.0
/* System calls that code makes itself: where the code that arch_raw_site.h makes leads to.
 *
 * The stub saves all that the kernel would keep over the call, flags and the red zone among it,
 * tells the recorder, restores it and goes on to the call. Nothing is left on the stack, so the
 * call may be one that returns twice, on another stack, or never. Context: handler. */
#ifndef SONDE_PROBE_RAW_H
#define SONDE_PROBE_RAW_H

#include <stdint.h>

#include "arch_regs.h"

/* Told of one call, before it happens. regs: the caller as it will be after the call, as for
 * sonde__probe_recorder; the number and the arguments are there without being known. */
typedef void sonde__probe_raw_recorder(const struct sonde__regs *regs);

/* Who is told; null: nobody. */
void sonde__probe_raw_set_recorder(sonde__probe_raw_recorder *recorder);

/* The number of the call. */
uint64_t sonde__probe_raw_number(const struct sonde__regs *regs);

/* What struct sonde__raw_words leads to; 0: not of this architecture. */
#if defined(__x86_64__)
extern const uint8_t sonde__probe_raw_stub[] __attribute__((visibility("hidden")));
#endif
static inline uint64_t sonde__probe_raw_stub_address(void)
{
#if defined(__x86_64__)
    return (uint64_t)(uintptr_t)sonde__probe_raw_stub;
#else
    return 0;
#endif
}

/* The stub's. */
void sonde__probe_raw_enter(const struct sonde__regs *regs);

#endif
