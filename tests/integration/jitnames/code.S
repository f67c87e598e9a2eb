// SPDX-License-Identifier: Apache-2.0
/* made_outer(f) calls made_inner(f), which calls f; both keep frame pointers. */
    .text
    .globl made_outer, made_inner
    .type made_outer, %function
    .type made_inner, %function
#if defined(__x86_64__)
made_outer:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    call made_inner
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .balign 16, 0x90
    .size made_outer, . - made_outer
made_inner:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    call *%rdi
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size made_inner, . - made_inner
#endif
    .section .note.GNU-stack, "", %progbits
