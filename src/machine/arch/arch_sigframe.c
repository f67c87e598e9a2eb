// SPDX-License-Identifier: Apache-2.0
#include "arch_sigframe.h"

/* x86-64: sp is at the ucontext: uc_flags 8, uc_link 8, uc_stack 24, then the general registers.
 * aarch64: sp is at siginfo (128), then ucontext: 8, 8, 24, sigmask 128, padding to 16 bytes,
 * fault_address 8, x0..x30, sp, pc. */
#define X86_64_GREGS  40
#define AARCH64_GREGS (128 + 176 + 8)

bool sonde__arch_is_sigreturn(unsigned arch, const uint8_t code[SONDE__SIGRETURN_BYTES])
{
    /* mov $15, %rax; syscall */
    static const uint8_t x86_64[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    /* mov x8, #139; svc #0 */
    static const uint8_t aarch64[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
    const uint8_t *want = arch == SONDE_ARCH_X86_64 ? x86_64 : aarch64;
    unsigned size = arch == SONDE_ARCH_X86_64 ? sizeof x86_64 : sizeof aarch64;
    for (unsigned i = 0; i < size; i++) {
        if (code[i] != want[i]) {
            return false;
        }
    }
    return true;
}

uint32_t sonde__arch_sigframe_reg(unsigned arch, unsigned reg)
{
    /* index of a DWARF register among r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
    static const uint8_t x86_64[] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16};
    if (arch == SONDE_ARCH_X86_64) {
        return reg < sizeof x86_64 ? X86_64_GREGS + x86_64[reg] * 8u : 0;
    }
    return reg <= SONDE__AARCH64_SP ? AARCH64_GREGS + reg * 8 : 0;
}

uint32_t sonde__arch_sigframe_pc(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64 ? sonde__arch_sigframe_reg(arch, SONDE__X86_64_RA)
                                     : AARCH64_GREGS + 32 * 8;
}
