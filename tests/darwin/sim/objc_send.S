// SPDX-License-Identifier: Apache-2.0
/* objc_msgSend(object, selector, ...): find the method, and jump to it with the arguments as they
 * came. Only integer arguments are kept. */
        .text
        .p2align 4
        .globl  _objc_msgSend
_objc_msgSend:
#if defined(__x86_64__)
        pushq   %rbp
        .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        callq   _sim_objc_find
        movq    %rax, %r11
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        popq    %rbp
        jmpq    *%r11
        .cfi_endproc
#else
        .cfi_startproc
        stp     x29, x30, [sp, #-80]!
        mov     x29, sp
        .cfi_def_cfa x29, 80
        .cfi_offset x30, -72
        .cfi_offset x29, -80
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        bl      _sim_objc_find
        mov     x17, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldp     x29, x30, [sp], #80
        br      x17
        .cfi_endproc
#endif
        .subsections_via_symbols
