// SPDX-License-Identifier: Apache-2.0
/* The stub to which patched system calls (arch_raw_site.h) jump.
 *
 * The stub saves what the kernel preserves over the call, with the flags and the red zone, calls
 * the recorder, restores it and goes on to the call. It leaves nothing on the stack, so the call
 * may return twice, on another stack, or never. Context: handler. */
#ifndef SONDE_PROBE_RAW_H
#define SONDE_PROBE_RAW_H

#include <stdint.h>

#include "arch_regs.h"

/* Called before each call. regs: the caller as it will be after the call, as for
 * sonde__probe_recorder; the number and the arguments are there without being known. */
typedef void sonde__probe_raw_recorder(const struct sonde__regs *regs);

/* Null: none. */
void sonde__probe_raw_set_recorder(sonde__probe_raw_recorder *recorder);

/* The number of the call. */
uint64_t sonde__probe_raw_number(const struct sonde__regs *regs);

/* Its argument `index`, below 6. */
uint64_t sonde__probe_raw_argument(const struct sonde__regs *regs, unsigned index);

/* For struct sonde__raw_words; 0: this architecture has no stub. */
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

/* Called by the stub. */
void sonde__probe_raw_enter(const struct sonde__regs *regs);

#endif
