// SPDX-License-Identifier: Apache-2.0
/* The border of x86-64. Both worlds call functions alike (System V ABI), so a call of a primitive
 * needs nothing here; what differs is how a program begins, and thread-local variables. */

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
