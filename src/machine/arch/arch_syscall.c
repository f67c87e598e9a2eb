// SPDX-License-Identifier: Apache-2.0
/* Two tables indexed by number, about 4 KiB of pointers each: a look-up is one load. The running
 * system has no such table. */
#include "arch_syscall.h"

#include <stddef.h>

#include "arch_regs.h"
#include "arch_syscall_names.h"

#define ENTRY(number, name) [number] = name,

static const char *const names_x86_64[] = {SONDE__SYSCALLS_X86_64(ENTRY)};
static const char *const names_aarch64[] = {SONDE__SYSCALLS_AARCH64(ENTRY)};

_Static_assert(sizeof names_x86_64 / sizeof *names_x86_64 <= SONDE__ARCH_SYSCALLS &&
                   sizeof names_aarch64 / sizeof *names_aarch64 <= SONDE__ARCH_SYSCALLS,
               "numbers");

/* x86-64: `syscall` is 0f 05. aarch64: `svc #0` is d4000001, little-endian. */
bool sonde__arch_call_ended_early(const struct sonde__regs *regs, const uint8_t *code,
                                  unsigned size)
{
    const int64_t interrupted = -4; /* EINTR, in rax or x0 */
    if (!sonde__regs_known(regs, 0) || (int64_t)regs->r[0] != interrupted) {
        return false;
    }
    if (regs->arch == SONDE_ARCH_X86_64) {
        return size >= 2 && code[size - 2] == 0x0f && code[size - 1] == 0x05;
    }
    return size >= 4 && code[size - 4] == 0x01 && code[size - 3] == 0x00 &&
           code[size - 2] == 0x00 && code[size - 1] == 0xd4;
}

const char *sonde__arch_syscall_name(unsigned arch, int64_t number)
{
    const char *const *names = arch == SONDE_ARCH_X86_64 ? names_x86_64 : names_aarch64;
    size_t count = arch == SONDE_ARCH_X86_64 ? sizeof names_x86_64 / sizeof *names_x86_64
                                             : sizeof names_aarch64 / sizeof *names_aarch64;
    return number >= 0 && (uint64_t)number < count ? names[number] : NULL;
}

static bool is_same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++, b++;
    }
    return *a == *b;
}

int64_t sonde__arch_syscall_number(unsigned arch, const char *name)
{
    for (int64_t number = 0; number < SONDE__ARCH_SYSCALLS; number++) {
        const char *known = sonde__arch_syscall_name(arch, number);
        if (known != NULL && is_same(known, name)) {
            return number;
        }
    }
    return -1;
}
