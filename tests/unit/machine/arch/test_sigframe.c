// SPDX-License-Identifier: Apache-2.0
/* The kernel's signal frame against the one that this kernel makes. */
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "arch_sigframe.h"
#include "test.h"

static volatile bool seen;
static uint64_t trampoline_sp;
static uint8_t trampoline[SONDE__SIGRETURN_BYTES];
static uint64_t at_pc, at_sp, at_fp;
static ucontext_t context;

static void look(int number, siginfo_t *info, void *ucontext)
{
    const char *code = __builtin_return_address(0);
    (void)number;
    memcpy(&context, ucontext, sizeof context);
    /* where sp stands in the trampoline: x86-64 has popped its address, which lies below the
     * ucontext; aarch64 starts with siginfo */
    trampoline_sp = SONDE__ARCH_HOST == SONDE_ARCH_X86_64 ? (uint64_t)(uintptr_t)ucontext
                                                          : (uint64_t)(uintptr_t)info;
    memcpy(trampoline, code, SONDE__ARCH_HOST == SONDE_ARCH_X86_64 ? 9 : 8);
    memcpy(&at_pc, (char *)trampoline_sp + sonde__arch_sigframe_pc(SONDE__ARCH_HOST), 8);
    memcpy(&at_sp,
           (char *)trampoline_sp +
               sonde__arch_sigframe_reg(SONDE__ARCH_HOST, sonde__arch_sp(SONDE__ARCH_HOST)),
           8);
    memcpy(&at_fp,
           (char *)trampoline_sp +
               sonde__arch_sigframe_reg(SONDE__ARCH_HOST, sonde__arch_fp(SONDE__ARCH_HOST)),
           8);
    seen = true;
}

TEST(signal_frame_is_the_kernels)
{
    struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(raise(SIGUSR1));
    CHECK(seen);
    CHECK(sonde__arch_is_sigreturn(SONDE__ARCH_HOST, trampoline));
#if defined(__x86_64__)
    CHECK_EQ(at_pc, context.uc_mcontext.gregs[REG_RIP]);
    CHECK_EQ(at_sp, context.uc_mcontext.gregs[REG_RSP]);
    CHECK_EQ(at_fp, context.uc_mcontext.gregs[REG_RBP]);
#else
    CHECK_EQ(at_pc, context.uc_mcontext.pc);
    CHECK_EQ(at_sp, context.uc_mcontext.sp);
    CHECK_EQ(at_fp, context.uc_mcontext.regs[29]);
#endif
}

#if defined(__x86_64__)
TEST(signal_frame_has_every_register)
{
    static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    const char *base = (const char *)&context;
    for (unsigned reg = 0; reg < 17; reg++) {
        const char *place = (const char *)&context.uc_mcontext.gregs[order[reg]];
        CHECK_EQ(sonde__arch_sigframe_reg(SONDE_ARCH_X86_64, reg), place - base);
    }
}
#endif

TEST(other_code_is_no_trampoline)
{
    uint8_t code[SONDE__SIGRETURN_BYTES] = {0x48, 0xc7, 0xc0, 0x0e, 0, 0, 0, 0x0f, 0x05};
    CHECK(!sonde__arch_is_sigreturn(SONDE_ARCH_X86_64, code));
    code[3] = 0x0f;
    CHECK(sonde__arch_is_sigreturn(SONDE_ARCH_X86_64, code));
    CHECK(!sonde__arch_is_sigreturn(SONDE_ARCH_AARCH64, code));
}
