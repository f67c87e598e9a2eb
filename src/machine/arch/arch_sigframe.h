// SPDX-License-Identifier: Apache-2.0
/* The frame that Linux puts on the stack for a signal handler, and the trampoline that the handler
 * returns to. glibc's x86-64 trampoline has CFI. musl's has none, nor has that of the aarch64 vdso
 * (its CFI was removed because unwinders took the wrong pc from it): they are recognized by their
 * instructions. Sources: Linux arch/x86/include/uapi/asm/sigcontext.h,
 * arch/arm64/include/uapi/asm/sigcontext.h, asm/ucontext.h of both. Context: handler. */
#ifndef SONDE_ARCH_SIGFRAME_H
#define SONDE_ARCH_SIGFRAME_H

#include "arch_regs.h"

/* Bytes at the pc that identify the trampoline. */
#define SONDE__SIGRETURN_BYTES 9

/* Do these bytes call rt_sigreturn? */
bool sonde__arch_is_sigreturn(unsigned arch, const uint8_t code[SONDE__SIGRETURN_BYTES]);

/* Offset from the trampoline's sp of a register's interrupted value. 0: not saved there. */
uint32_t sonde__arch_sigframe_reg(unsigned arch, unsigned reg);
uint32_t sonde__arch_sigframe_pc(unsigned arch);

#endif
