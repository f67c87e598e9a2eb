// SPDX-License-Identifier: Apache-2.0
/* The arguments of a signal handler. Context: handler. */
#ifndef SONDE_OS_CONTEXT_H
#define SONDE_OS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch_regs.h"
#include "os.h"

/* Get the interrupted registers from the third argument of an SA_SIGINFO handler; all are known. */
void sonde__os_context_regs(const void *ucontext, struct sonde__regs *ret_regs);

/* Did sonde__os_signal_thread() of this process send the signal? If so, get its value. */
bool sonde__os_signal_value(const void *siginfo, uint64_t *ret_value);
/* Did process `pid` send the signal in the same way? If so, get its value. */
bool sonde__os_signal_sent_by(const void *siginfo, int32_t pid, uint64_t *ret_value);
/* Make the siginfo of such a signal look as if sent by tgkill(2), without a value. */
void sonde__os_signal_plain(void *siginfo);

/* Get the registers known from a wait: sp, pc, and in a system call its argument registers. */
void sonde__os_wait_regs(const struct sonde__os_wait *wait, struct sonde__regs *ret_regs);

#endif
