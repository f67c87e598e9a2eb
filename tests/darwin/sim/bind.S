// SPDX-License-Identifier: Apache-2.0
/* dyld_stub_binder: where the first call of a lazy pointer comes, through its image's __stub_helper.
 * That has pushed a place of the entry among the image's lazy pointers and the address of a word of the
 * image. Bind the pointer, and go on to the function with the arguments as they came. */
        .text
        .globl  dyld_stub_binder

#if defined(__x86_64__)

/* (%rsp): the word, 8(%rsp): the place, 16(%rsp): where the call returns to. %rax: number of vector
 * registers of a variadic call. */
        .p2align 4
dyld_stub_binder:
        .cfi_startproc
        .cfi_def_cfa %rsp, 24
        pushq   %rbp
        .cfi_def_cfa_offset 32
        .cfi_offset %rbp, -32
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $192, %rsp
        andq    $-16, %rsp
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
        movq    8(%rbp), %rdi
        movq    16(%rbp), %rsi
        callq   _sim_bind_lazily
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
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa %rsp, 24
        addq    $16, %rsp
        .cfi_def_cfa_offset 8
        jmpq    *%r11
        .cfi_endproc

#else

/* [sp]: the place, [sp, #8]: the word */
        .p2align 2
dyld_stub_binder:
        .cfi_startproc
        .cfi_def_cfa sp, 16
        stp     x29, x30, [sp, #-224]!
        mov     x29, sp
        .cfi_def_cfa x29, 240
        .cfi_offset x30, -232
        .cfi_offset x29, -240
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        ldr     x0, [sp, #232]
        ldr     x1, [sp, #224]
        bl      _sim_bind_lazily
        mov     x16, x0
        ldp     q0, q1, [sp, #96]
        ldp     q2, q3, [sp, #128]
        ldp     q4, q5, [sp, #160]
        ldp     q6, q7, [sp, #192]
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     x29, x30, [sp], #240
        br      x16
        .cfi_endproc

#endif
        .subsections_via_symbols
