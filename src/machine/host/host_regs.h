// SPDX-License-Identifier: Apache-2.0
/* Decodes the kernel's general register sets (NT_PRSTATUS) of ptrace and cores, for both
 * architectures on any host. Sources: Linux arch/x86/include/asm/user_64.h (27 words), arch/
 * arm64/include/uapi/asm/ptrace.h (34 words). Context: any thread. */
#ifndef SONDE_HOST_REGS_H
#define SONDE_HOST_REGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch_regs.h"

#define SONDE__REGSET_X86_64_BYTES  216u
#define SONDE__REGSET_AARCH64_BYTES 272u

/* False: the set is too small for that architecture. *ret_syscall: the system call that the thread
 * is in, or -1 (none, or unknown). */
bool sonde__host_regs_decode(unsigned arch, const uint8_t *set, size_t size,
                             struct sonde__regs *ret_regs, int64_t *ret_syscall,
                             uint64_t ret_args[6]);

#endif
