// SPDX-License-Identifier: Apache-2.0
/* Two tables indexed by number, about 4 KiB of pointers each: a look-up is one load, and there is
 * no table of the running system to ask. */
#include "arch_syscall.h"

#include <stddef.h>

#include "arch_regs.h"
#include "arch_syscall_names.h"

#define ENTRY(number, name) [number] = name,

static const char *const names_x86_64[] = {SONDE__SYSCALLS_X86_64(ENTRY)};
static const char *const names_aarch64[] = {SONDE__SYSCALLS_AARCH64(ENTRY)};

const char *sonde__arch_syscall_name(unsigned arch, int64_t number)
{
    const char *const *names = arch == SONDE__ARCH_X86_64 ? names_x86_64 : names_aarch64;
    size_t count = arch == SONDE__ARCH_X86_64 ? sizeof names_x86_64 / sizeof *names_x86_64
                                              : sizeof names_aarch64 / sizeof *names_aarch64;
    return number >= 0 && (uint64_t)number < count ? names[number] : NULL;
}
