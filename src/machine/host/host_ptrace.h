// SPDX-License-Identifier: Apache-2.0
/* Stops threads of another process and reads their registers, by ptrace.
 *
 * PTRACE_SEIZE sends no SIGSTOP and keeps a group stop. The calling thread is the tracer: it must
 * make all calls for a tracee, and when it ends, the kernel releases tracees that could not be
 * detached (host_tracer.h). No option kills a tracee with its tracer. Of 17 kinds of blocking
 * calls, four return early when stopped this way (epoll_wait, sigtimedwait, timed recv, io_uring),
 * so a blocked thread is stopped only on request. Context: any thread. */
#ifndef SONDE_HOST_PTRACE_H
#define SONDE_HOST_PTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "arch_regs.h"

/* Seize thread `tid` of process `pid`. Returns OK | ABSENT | DENIED | OS | BUSY (the thread has
 * ended, and one that got its number is seized: end the tracer's thread, which releases it
 * undisturbed); *ret_os_error (may be null) on failure. */
SONDE_NODISCARD enum sonde_status sonde__host_ptrace_seize(int32_t pid, uint64_t tid,
                                                           int32_t *ret_os_error);
SONDE_NODISCARD enum sonde_status sonde__host_ptrace_interrupt(uint64_t tid);
/* Wait until a seized and interrupted thread has stopped. *ret_signal: the signal that it stopped
 * for, or 0; detach delivers it. The kernel delivers it, too, when the tracer ends, because the
 * stop is read with WNOWAIT. Returns OK | ABSENT (ended, or not our tracee) | TIMEOUT
 * (uninterruptible) | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_ptrace_wait(uint64_t tid, uint64_t timeout_ns,
                                                          int32_t *ret_signal);
/* Returns OK | ABSENT | UNSUPPORTED (a 32-bit thread) | OS. *ret_syscall: the call it is in, or
 * -1. */
SONDE_NODISCARD enum sonde_status sonde__host_ptrace_registers(uint64_t tid,
                                                               struct sonde__regs *ret_regs,
                                                               int64_t *ret_syscall,
                                                               uint64_t ret_args[6]);
/* Is it stopped by job control, too (SIGSTOP and its like)? */
bool sonde__host_ptrace_group_stop(uint64_t tid);
/* False: not stopped, so it stays traced; or gone, and perhaps traced under another tid. */
bool sonde__host_ptrace_detach(uint64_t tid, int32_t signal);

#endif
