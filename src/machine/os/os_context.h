// SPDX-License-Identifier: Apache-2.0
/* The arguments of a signal handler. Context: handler. */
#ifndef SONDE_OS_CONTEXT_H
#define SONDE_OS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch_regs.h"
#include "os.h"

/* The interrupted registers, of the third argument of an SA_SIGINFO handler; all are known. */
void sonde__os_context_regs(const void *ucontext, struct sonde__regs *ret_regs);

/* Was this signal sent by sonde__os_signal_thread() of this process? Then also its value. */
bool sonde__os_signal_value(const void *siginfo, uint64_t *ret_value);
/* The same of a signal that process `pid` sent, by the same means. */
bool sonde__os_signal_sent_by(const void *siginfo, int32_t pid, uint64_t *ret_value);
/* Make such a signal one that tgkill(2) sent: without a value. */
void sonde__os_signal_plain(void *siginfo);

/* The registers known from a wait: sp, pc, and in a system call those of its arguments. */
void sonde__os_wait_regs(const struct sonde__os_wait *wait, struct sonde__regs *ret_regs);

#endif
