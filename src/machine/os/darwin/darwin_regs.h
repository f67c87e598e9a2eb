// SPDX-License-Identifier: Apache-2.0
/* The registers of a thread, as Mach and signal handlers show them. Context: handler. */
#ifndef SONDE_DARWIN_REGS_H
#define SONDE_DARWIN_REGS_H

#include <mach/thread_status.h>

#include "arch_regs.h"

struct darwin_state {
#if defined(__x86_64__)
    x86_thread_state64_t words;
#    define DARWIN_STATE_FLAVOR x86_THREAD_STATE64
#else
    arm_thread_state64_t words;
#    define DARWIN_STATE_FLAVOR ARM_THREAD_STATE64
#endif
};

/* All registers are known. */
void darwin_regs_of(const struct darwin_state *state, struct sonde__regs *ret_regs);

#endif
