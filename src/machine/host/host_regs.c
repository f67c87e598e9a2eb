// SPDX-License-Identifier: Apache-2.0
#include "host_regs.h"

#include "base_bytes.h"

#include <string.h>

static uint64_t word(const uint8_t *set, unsigned index)
{
    return sonde__base_le64(set + (size_t)8 * index);
}

/* r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss ... */
static void decode_x86_64(const uint8_t *set, struct sonde__regs *regs, int64_t *ret_syscall,
                          uint64_t args[6])
{
    static const uint8_t dwarf[15] = {15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5};
    static const uint8_t arguments[6] = {14, 13, 12, 7, 9, 8};
    int64_t number = (int64_t)word(set, 15);
    for (unsigned i = 0; i < 15; i++) {
        sonde__regs_set(regs, dwarf[i], word(set, i));
    }
    regs->pc = word(set, 16);
    sonde__regs_set(regs, SONDE__X86_64_RSP, word(set, 19));
    *ret_syscall = number >= 0 ? number : -1;
    for (unsigned i = 0; i < 6; i++) {
        args[i] = number >= 0 ? word(set, arguments[i]) : 0;
    }
}

/* x0..x30 sp pc pstate. The set does not show whether the thread is in a system call: x8 keeps the
 * number of the last one. */
static void decode_aarch64(const uint8_t *set, struct sonde__regs *regs, int64_t *ret_syscall,
                           uint64_t args[6])
{
    for (unsigned i = 0; i < 32; i++) {
        sonde__regs_set(regs, i, word(set, i));
    }
    regs->pc = word(set, 32);
    *ret_syscall = -1;
    memset(args, 0, 6 * sizeof args[0]);
}

bool sonde__host_regs_decode(unsigned arch, const uint8_t *set, size_t size,
                             struct sonde__regs *ret_regs, int64_t *ret_syscall,
                             uint64_t ret_args[6])
{
    if (size <
        (arch == SONDE_ARCH_X86_64 ? SONDE__REGSET_X86_64_BYTES : SONDE__REGSET_AARCH64_BYTES)) {
        return false;
    }
    memset(ret_regs, 0, sizeof *ret_regs);
    ret_regs->arch = (uint8_t)arch;
    if (arch == SONDE_ARCH_X86_64) {
        decode_x86_64(set, ret_regs, ret_syscall, ret_args);
    } else {
        decode_aarch64(set, ret_regs, ret_syscall, ret_args);
    }
    return true;
}
