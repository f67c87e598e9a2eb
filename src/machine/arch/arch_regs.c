// SPDX-License-Identifier: Apache-2.0
#include "arch_regs.h"

#include <stddef.h>

#include "arch_syscall.h"

/* User addresses end below 2^48 on Linux (2^52 with LVA, only on request) and below 2^47 on Darwin:
 * higher bits are a signature or a tag. */
#define AARCH64_VA_BITS 48

uint64_t sonde__arch_strip_pac(unsigned arch, uint64_t pc)
{
    return arch == SONDE_ARCH_AARCH64 ? pc & (((uint64_t)1 << AARCH64_VA_BITS) - 1) : pc;
}

const char *sonde__arch_reg_name(unsigned arch, unsigned reg)
{
    static const char x86_64[][4] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                     "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
    static const char aarch64[][4] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
                                      "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
                                      "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
                                      "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};
    if (arch == SONDE_ARCH_X86_64) {
        return reg < sizeof x86_64 / sizeof x86_64[0] ? x86_64[reg] : NULL;
    }
    return reg < sizeof aarch64 / sizeof aarch64[0] ? aarch64[reg] : NULL;
}

unsigned sonde__arch_syscall_reg(unsigned arch, unsigned index)
{
    static const uint8_t x86_64[] = {5, 4, 1, 10, 8, 9}; /* rdi rsi rdx r10 r8 r9 */
    return arch == SONDE_ARCH_X86_64 ? x86_64[index] : index;
}

const char *sonde__arch_name(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64    ? "x86_64"
           : arch == SONDE_ARCH_AARCH64 ? "aarch64"
                                        : "unknown";
}
