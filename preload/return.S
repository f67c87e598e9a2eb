/* SPDX-License-Identifier: Apache-2.0 */
/* The return of wait wrappers on x86-64 (gcc: attribute function_return("thunk-extern")).
 *
 * After a system call the processor's return stack lacks our return addresses: kernels clear it or
 * leave it unbalanced, as a Spectre mitigation (retbleed, SRSO). So each `ret` after one is
 * mispredicted. A wrapper's `ret` in each turn would cost more than the rest of the wrapper. An
 * indirect jump is predicted by its last target, and a loop's wait always returns to the same
 * place.
 *
 * With a shadow stack (CET) only `ret` works: rdssp leaves its operand unchanged without one.
 * notrack: a return address is not a landing pad. */
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
