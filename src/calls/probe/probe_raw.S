/* SPDX-License-Identifier: Apache-2.0 */
/* The stub of probe_raw.h: jumped to with the address of a struct sonde__raw_words in rcx, in the
 * middle of any function. All registers but rcx and r11, which the system call will write, are kept,
 * the flags and the 128 bytes below the stack pointer, too. At each instruction the call frame
 * information holds: this is called from before words.call_end. No landing pad is needed: what leads
 * here is a jump by memory in code that was made without tracking of branches. struct sonde__regs:
 * r[35] at 0, pc at 280, known at 288, arch at 296; 304 bytes (checked in probe_raw.c). */
#include "arch_asm.h"

    .text
#if defined(__x86_64__)
    SONDE__ASM_IMPORTS(sonde__probe_raw_enter)
    .p2align 6
    SONDE__ASM_HIDDEN(sonde__probe_raw_stub)
    SONDE__ASM_BEGIN(sonde__probe_raw_stub)
    .cfi_def_cfa %rsp, 0
    .cfi_escape 0x10, 0x10, 0x02, 0x72, 0x00        /* the return address is at rcx */
    endbr64
    leaq -128(%rsp), %rsp
    .cfi_def_cfa_offset 128
    pushfq
    .cfi_def_cfa_offset 136
    pushq %rbp
    .cfi_def_cfa_offset 144
    .cfi_offset %rbp, -144
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rcx
    .cfi_escape 0x10, 0x10, 0x03, 0x76, 0x78, 0x06  /* at the word at rbp - 8 */
    subq $304, %rsp
    andq $-16, %rsp
    cld
    movq %rax, 0*8(%rsp)
    movq %rdx, 1*8(%rsp)
    movq %rbx, 3*8(%rsp)
    movq %rsi, 4*8(%rsp)
    movq %rdi, 5*8(%rsp)
    movq 0(%rbp), %r11
    movq %r11, 6*8(%rsp)
    leaq 144(%rbp), %r11
    movq %r11, 7*8(%rsp)
    movq %r8, 8*8(%rsp)
    movq %r9, 9*8(%rsp)
    movq %r10, 10*8(%rsp)
    movq %r12, 12*8(%rsp)
    movq %r13, 13*8(%rsp)
    movq %r14, 14*8(%rsp)
    movq %r15, 15*8(%rsp)
    movq 0(%rcx), %r11
    movq %r11, 280(%rsp)
    movq $0xf0c8, 288(%rsp)             /* rbx rbp rsp r12..r15 */
    movb $1, 296(%rsp)                  /* SONDE_ARCH_X86_64 */
    movq %rsp, %rdi
    call SONDE__ASM_NAME(sonde__probe_raw_enter)
    movq 0*8(%rsp), %rax
    movq 1*8(%rsp), %rdx
    movq 4*8(%rsp), %rsi
    movq 5*8(%rsp), %rdi
    movq 8*8(%rsp), %r8
    movq 9*8(%rsp), %r9
    movq 10*8(%rsp), %r10
    movq -8(%rbp), %rcx
    movq %rbp, %rsp
    popq %rbp
    .cfi_def_cfa %rsp, 136
    .cfi_restore %rbp
    .cfi_escape 0x10, 0x10, 0x02, 0x72, 0x00
    popfq
    .cfi_def_cfa_offset 128
    leaq 128(%rsp), %rsp
    .cfi_def_cfa_offset 0
    jmp *8(%rcx)
    SONDE__ASM_END(sonde__probe_raw_stub)
#endif
    SONDE__ASM_FILE_END
