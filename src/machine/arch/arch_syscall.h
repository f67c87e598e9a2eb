// SPDX-License-Identifier: Apache-2.0
/* Names of Linux system calls, of either architecture on any host. Context: handler. */
#ifndef SONDE_ARCH_SYSCALL_H
#define SONDE_ARCH_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "arch_regs.h"

/* Numbers of system calls that have names are below this. */
#define SONDE__ARCH_SYSCALLS 512

/* The name of system call `number` of `arch` (enum sonde_arch), or null when there is none of
 * that number (or it is newer than the table). The string is static. */
const char *sonde__arch_syscall_name(unsigned arch, int64_t number);

/* The number of the system call `name` of `arch`, or -1 when there is none of that name. */
int64_t sonde__arch_syscall_number(unsigned arch, const char *name);

/* The register (DWARF number) that holds argument `index` (0..5) of a system call and keeps it
 * until the call returns. Sources: psABI AMD64 1.0 §A.2.1; Linux for aarch64, syscall(2). */
unsigned sonde__arch_syscall_reg(unsigned arch, unsigned index);

/* Is this thread about to learn that a signal ended its call (EINTR)? Asked of a thread that a
 * signal, or a tracer, has just met: then that was the reason. `code` holds the `size` bytes that
 * end at its pc; a call instruction of the system must be the last. */
bool sonde__arch_call_ended_early(const struct sonde__regs *regs, const uint8_t *code,
                                  unsigned size);

#endif
