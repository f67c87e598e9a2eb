// SPDX-License-Identifier: Apache-2.0
/* Darwin's struct of the registers, and its ucontext_t, which has the same. Sources:
 * mach/i386/_structs.h, mach/arm/_structs.h, sys/_types/_ucontext.h. */
#include <signal.h>
#include <sys/ucontext.h>

#include "base_mem.h"
#include "darwin_regs.h"
#include "os_context.h"

void sonde__os_context_regs(const void *ucontext, struct sonde__regs *ret_regs)
{
    const ucontext_t *context = ucontext;
    const struct darwin_state state = {.words = context->uc_mcontext->__ss};
    darwin_regs_of(&state, ret_regs);
}

#if defined(__x86_64__)
void darwin_regs_of(const struct darwin_state *state, struct sonde__regs *ret_regs)
{
    const x86_thread_state64_t *words = &state->words;
    const uint64_t by_number[] = {words->__rax, words->__rdx, words->__rcx, words->__rbx,
                                  words->__rsi, words->__rdi, words->__rbp, words->__rsp,
                                  words->__r8,  words->__r9,  words->__r10, words->__r11,
                                  words->__r12, words->__r13, words->__r14, words->__r15};
    sonde__base_mem_set(ret_regs, 0, sizeof *ret_regs);
    ret_regs->arch = SONDE__ARCH_HOST;
    for (unsigned i = 0; i < sizeof by_number / sizeof *by_number; i++) {
        sonde__regs_set(ret_regs, i, by_number[i]);
    }
    ret_regs->pc = words->__rip;
}
#else
void darwin_regs_of(const struct darwin_state *state, struct sonde__regs *ret_regs)
{
    const arm_thread_state64_t *words = &state->words;
    sonde__base_mem_set(ret_regs, 0, sizeof *ret_regs);
    ret_regs->arch = SONDE__ARCH_HOST;
    for (unsigned i = 0; i < SONDE__AARCH64_FP; i++) {
        sonde__regs_set(ret_regs, i, words->__x[i]);
    }
    sonde__regs_set(ret_regs, SONDE__AARCH64_FP, arm_thread_state64_get_fp(*words));
    sonde__regs_set(ret_regs, SONDE__AARCH64_LR, arm_thread_state64_get_lr(*words));
    sonde__regs_set(ret_regs, SONDE__AARCH64_SP, arm_thread_state64_get_sp(*words));
    ret_regs->pc = arm_thread_state64_get_pc(*words);
}
#endif
