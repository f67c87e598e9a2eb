// SPDX-License-Identifier: Apache-2.0
/* Linux's ucontext_t and siginfo_t. gregs are numbered as in glibc (sys/ucontext.h) and musl;
 * aarch64 keeps x0..x30 in order. */
#include <signal.h>
#include <ucontext.h>

#include "base_mem.h"
#include "os.h"
#include "os_context.h"

#if defined(__x86_64__)
void sonde__os_context_regs(const void *ucontext, struct sonde__regs *ret_regs)
{
    /* gregs index of each DWARF register 0..15 */
    static const uint8_t index[16] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    };
    const ucontext_t *context = ucontext;
    sonde__base_mem_set(ret_regs, 0, sizeof *ret_regs);
    ret_regs->arch = SONDE_ARCH_X86_64;
    for (unsigned i = 0; i < 16; i++) {
        sonde__regs_set(ret_regs, i, (uint64_t)context->uc_mcontext.gregs[index[i]]);
    }
    ret_regs->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}
#elif defined(__aarch64__)
void sonde__os_context_regs(const void *ucontext, struct sonde__regs *ret_regs)
{
    const ucontext_t *context = ucontext;
    sonde__base_mem_set(ret_regs, 0, sizeof *ret_regs);
    ret_regs->arch = SONDE_ARCH_AARCH64;
    for (unsigned i = 0; i < 31; i++) {
        sonde__regs_set(ret_regs, i, context->uc_mcontext.regs[i]);
    }
    sonde__regs_set(ret_regs, SONDE__AARCH64_SP, context->uc_mcontext.sp);
    ret_regs->pc = context->uc_mcontext.pc;
}
#endif

bool sonde__os_signal_sent_by(const void *siginfo, int32_t pid, uint64_t *ret_value)
{
    const siginfo_t *info = siginfo;
    if (info == NULL || info->si_code != SI_QUEUE || info->si_pid != pid) {
        return false;
    }
    *ret_value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
    return true;
}

void sonde__os_signal_plain(void *siginfo)
{
    siginfo_t *info = siginfo;
    info->si_code = SI_TKILL;
    info->si_value.sival_ptr = NULL;
}

bool sonde__os_signal_value(const void *siginfo, uint64_t *ret_value)
{
    return sonde__os_signal_sent_by(siginfo, sonde__os_pid(), ret_value);
}
