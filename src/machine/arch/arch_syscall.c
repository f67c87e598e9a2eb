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
static bool ends_with_call(unsigned arch, const uint8_t *code, unsigned size)
{
    if (arch == SONDE_ARCH_X86_64) {
        return size >= 2 && code[size - 2] == 0x0f && code[size - 1] == 0x05;
    }
    return size >= 4 && code[size - 4] == 0x01 && code[size - 3] == 0x00 &&
           code[size - 2] == 0x00 && code[size - 1] == 0xd4;
}

/* The result of a call, in rax or x0, as an error number; 0: unknown. */
static int64_t error_of(const struct sonde__regs *regs)
{
    return sonde__regs_known(regs, 0) ? -(int64_t)regs->r[0] : 0;
}

enum {
    ENDED_EARLY = 4, /* EINTR */
    RESTARTS_FIRST = 512,
    RESTARTS_LAST = 516, /* 515 is ENOIOCTLCMD, which no call returns */
};

bool sonde__arch_call_ended_early(const struct sonde__regs *regs, const uint8_t *code,
                                  unsigned size)
{
    return error_of(regs) == ENDED_EARLY && ends_with_call(regs->arch, code, size);
}

bool sonde__arch_call_was_interrupted(const struct sonde__regs *regs, const uint8_t *code,
                                      unsigned size)
{
    int64_t error = error_of(regs);
    unsigned before = size < 4 ? size : 4;
    if (regs->arch == SONDE_ARCH_AARCH64 && ends_with_call(regs->arch, code, size < 8 ? 0 : 8)) {
        return true;
    }
    return (error == ENDED_EARLY || (error >= RESTARTS_FIRST && error <= RESTARTS_LAST)) &&
           ends_with_call(regs->arch, code, before);
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
