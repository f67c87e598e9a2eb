/* SPDX-License-Identifier: Apache-2.0 */
/* How the wrappers of waits return on x86-64 (gcc: attribute function_return("thunk-extern")).
 *
 * A system call leaves the processor's stack of return addresses without ours: kernels empty it, or
 * leave it unbalanced, against Spectre (retbleed, SRSO). So each `ret` behind one is mispredicted,
 * and a wrapper adds one to each turn of a loop, which costs more than all that it does. An indirect
 * jump is predicted by where it went last time, and a loop's wait returns to one place.
 *
 * With a shadow stack (CET) only a `ret` is right: rdssp leaves its operand as it is where there is
 * none. notrack: the place behind a call is no target of indirect jumps. */
#include "arch_asm.h"

#if defined(__x86_64__)
    .text
    .p2align 4
    SONDE__ASM_HIDDEN(__x86_return_thunk)
    SONDE__ASM_BEGIN(__x86_return_thunk)
    xorl %ecx, %ecx
    rdsspq %rcx
    testq %rcx, %rcx
    jne 1f
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rcx
    notrack jmp *%rcx
1:  .cfi_adjust_cfa_offset 8
    .cfi_restore %rip
    ret
    SONDE__ASM_END(__x86_return_thunk)
#endif
    SONDE__ASM_FILE_END
