// SPDX-License-Identifier: Apache-2.0
/* The border of x86-64. Both worlds call functions alike (System V ABI); what differs is how a
 * program begins, and thread-local variables. A call of a primitive notes where it came from. */

        .text
        .globl  border_start
        .type   border_start, @function
/* border_start(start, stack_end, argc, argv, envp, main) */
border_start:
        movq    %rsi, %rsp
        movq    %rdi, %rax
        movl    %edx, %edi
        movq    %rcx, %rsi
        movq    %r8, %rdx
        movq    %r9, %rcx
        xorl    %ebp, %ebp
        pushq   $0                      /* no caller */
        jmp     *%rax
        .size   border_start, .-border_start

        .globl  border_primitive, border_primitive_end
        .type   border_primitive, @function
/* %r11: the primitive. The noted stack pointer is that after the return. */
border_primitive:
        movq    host_border@gottpoff(%rip), %rax
        addq    %fs:0, %rax
        movq    %rbx, (%rax)
        movq    %rbp, 8(%rax)
        leaq    8(%rsp), %r10
        movq    %r10, 16(%rax)
        movq    %r12, 24(%rax)
        movq    %r13, 32(%rax)
        movq    %r14, 40(%rax)
        movq    %r15, 48(%rax)
        movq    (%rsp), %r10
        movq    %r10, 56(%rax)
        movl    $1, 104(%rax)
        subq    $8, %rsp
        call    *%r11
        addq    $8, %rsp
        movq    host_border@gottpoff(%rip), %r11
        movl    $0, %fs:104(%r11)
        ret
border_primitive_end:
        .size   border_primitive, .-border_primitive

        .globl  border_thread_local
        .type   border_thread_local, @function
/* %rdi: descriptor {thunk, place of the image, offset}. Keeps all registers but %rax. */
border_thread_local:
        movq    host_tls@gottpoff(%rip), %rax
        movq    %fs:(%rax), %rax
        addq    8(%rdi), %rax
        addq    16(%rdi), %rax
        ret
        .size   border_thread_local, .-border_thread_local

        .section .note.GNU-stack, "", @progbits
