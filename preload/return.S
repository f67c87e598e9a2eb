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
#if defined(__x86_64__)
    .text
    .p2align 4
    .globl __x86_return_thunk
    .hidden __x86_return_thunk
    .type __x86_return_thunk, @function
__x86_return_thunk:
    .cfi_startproc
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
    .cfi_endproc
    .size __x86_return_thunk, . - __x86_return_thunk
#endif
    .section .note.GNU-stack, "", %progbits
