// SPDX-License-Identifier: Apache-2.0
/* objc_msgSend(object, selector, ...): find the method, and jump to it with the arguments as they
 * came. Also for messages to super, whose first argument names object and class, and on x86-64 for
 * methods that return a struct in memory, whose address comes before all others. */
        .text

#if defined(__x86_64__)

        .macro  send name, find, is_struct, is_super
        .p2align 4
        .globl  \name
\name:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $192, %rsp
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movaps  %xmm0, 64(%rsp)
        movaps  %xmm1, 80(%rsp)
        movaps  %xmm2, 96(%rsp)
        movaps  %xmm3, 112(%rsp)
        movaps  %xmm4, 128(%rsp)
        movaps  %xmm5, 144(%rsp)
        movaps  %xmm6, 160(%rsp)
        movaps  %xmm7, 176(%rsp)
        .if \is_struct
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        .endif
        callq   \find
        movq    %rax, %r11
        movaps  64(%rsp), %xmm0
        movaps  80(%rsp), %xmm1
        movaps  96(%rsp), %xmm2
        movaps  112(%rsp), %xmm3
        movaps  128(%rsp), %xmm4
        movaps  144(%rsp), %xmm5
        movaps  160(%rsp), %xmm6
        movaps  176(%rsp), %xmm7
        movq    (%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        .if \is_super
        .if \is_struct
        movq    (%rsi), %rsi
        .else
        movq    (%rdi), %rdi
        .endif
        .endif
        leave
        .cfi_def_cfa %rsp, 8
        jmpq    *%r11
        .cfi_endproc
        .endm

        send    _objc_msgSend, _sim_objc_find, 0, 0
        send    _objc_msgSend_stret, _sim_objc_find, 1, 0
        send    _objc_msgSendSuper2, _sim_objc_find_super, 0, 1
        send    _objc_msgSendSuper2_stret, _sim_objc_find_super, 1, 1

#else

        .macro  send name, find, is_super
        .p2align 2
        .globl  \name
\name:
        .cfi_startproc
        stp     x29, x30, [sp, #-224]!
        mov     x29, sp
        .cfi_def_cfa x29, 224
        .cfi_offset x30, -216
        .cfi_offset x29, -224
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        bl      \find
        mov     x17, x0
        ldp     q0, q1, [sp, #96]
        ldp     q2, q3, [sp, #128]
        ldp     q4, q5, [sp, #160]
        ldp     q6, q7, [sp, #192]
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        .if \is_super
        ldr     x0, [x0]
        .endif
        ldp     x29, x30, [sp], #224
        br      x17
        .cfi_endproc
        .endm

        send    _objc_msgSend, _sim_objc_find, 0
        send    _objc_msgSendSuper2, _sim_objc_find_super, 1

#endif
        .subsections_via_symbols
