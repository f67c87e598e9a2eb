// SPDX-License-Identifier: Apache-2.0
/* Names of Linux system calls, of either architecture on any host. Context: handler. */
#ifndef SONDE_ARCH_SYSCALL_H
#define SONDE_ARCH_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "arch_regs.h"

/* Numbers with names are below this. */
#define SONDE__ARCH_SYSCALLS 512

/* The name of system call `number` of `arch` (enum sonde_arch), or null (no such call, or newer
 * than the table). The string is static. */
const char *sonde__arch_syscall_name(unsigned arch, int64_t number);

/* The number of the system call `name` of `arch`, or -1. */
int64_t sonde__arch_syscall_number(unsigned arch, const char *name);

/* The register (DWARF number) that holds argument `index` (0..5) of a system call and keeps it
 * until the call returns. Sources: psABI AMD64 1.0 §A.2.1; Linux for aarch64, syscall(2). */
unsigned sonde__arch_syscall_reg(unsigned arch, unsigned index);

/* Is the thread about to return from a system call with EINTR? If a signal or tracer has just
 * stopped it, that is the cause. `code`: the `size` bytes that end at its pc; true only if they end
 * with a system call instruction. */
bool sonde__arch_call_ended_early(const struct sonde__regs *regs, const uint8_t *code,
                                  unsigned size);

/* Was the thread waiting in a system call, which a tracer's stop has interrupted? `code`: the
 * `size` bytes from 4 before its pc on, at most 8. Source: Linux, errno.h and each architecture's
 * signal.c: x86-64 shows the tracer ERESTARTSYS and its like, aarch64 the call to be made again. */
bool sonde__arch_call_was_interrupted(const struct sonde__regs *regs, const uint8_t *code,
                                      unsigned size);

#endif
