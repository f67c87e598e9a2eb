/* SPDX-License-Identifier: Apache-2.0 */
/* SONDE__ENTRY(name, target, index): a public function that captures its caller. For .S files.
 *
 * `name` stores its caller's registers as they will be after the call (callee-saved registers,
 * stack pointer, return address as pc) in a struct sonde__regs on the stack. Then it calls `target`
 * with its own arguments and a pointer to that struct as argument number `index` (from 0).
 *
 * Why assembler: a C function would have to unwind its own frame, whatever its prologue, and
 * link-time optimisation could inline or merge it; then frame 0 would differ between builds. Here
 * frame 0 is the caller by construction. The offsets are checked against the struct in
 * arch_regs.c's unit test. Sources: psABI AMD64 1.0 §3.2.1 (callee-saved registers); AAPCS64
 * §6.1.1. */
#include "arch_asm.h"
/* clang-format off */
#if defined(__x86_64__)

#define SONDE__ENTRY_ARGUMENT_0 %rdi
#define SONDE__ENTRY_ARGUMENT_2 %rdx
#define SONDE__ENTRY_ARGUMENT_3 %rcx
#define SONDE__ENTRY_ARGUMENT_4 %r8
#define SONDE__ENTRY_ARGUMENT_5 %r9

/* struct: r[35] at 0, pc at 280, known at 288, arch at 296; 304 bytes, and 8 to align the stack */
    .macro sonde__entry name, target, argument
    .text
    .p2align 4
    .globl \name
    sonde__asm_imports \target
    sonde__asm_begin \name
    endbr64
    subq $312, %rsp
    .cfi_adjust_cfa_offset 312
    movq %rbx, 3*8(%rsp)
    movq %rbp, 6*8(%rsp)
    leaq 320(%rsp), %rax
    movq %rax, 7*8(%rsp)
    movq %r12, 12*8(%rsp)
    movq %r13, 13*8(%rsp)
    movq %r14, 14*8(%rsp)
    movq %r15, 15*8(%rsp)
    movq 312(%rsp), %rax
    movq %rax, 280(%rsp)
    movq $0xf0c8, 288(%rsp)  /* rbx rbp rsp r12..r15 */
    movb $1, 296(%rsp)  /* SONDE_ARCH_X86_64 */
    movq %rsp, \argument
    call \target
    addq $312, %rsp
    .cfi_adjust_cfa_offset -312
    ret
    sonde__asm_end \name
    .endm

#elif defined(__aarch64__)

#define SONDE__ENTRY_ARGUMENT_0 x0
#define SONDE__ENTRY_ARGUMENT_2 x2
#define SONDE__ENTRY_ARGUMENT_3 x3
#define SONDE__ENTRY_ARGUMENT_4 x4
#define SONDE__ENTRY_ARGUMENT_5 x5

/* The struct (304 bytes) is at sp; x29 and x30 are saved above it. */
    .macro sonde__entry name, target, argument
    .text
    .p2align 4
    .globl \name
    sonde__asm_imports \target
    sonde__asm_begin \name
    hint 34  /* bti c */
    sub sp, sp, 320
    .cfi_adjust_cfa_offset 320
    stp x29, x30, [sp, 304]
    .cfi_rel_offset x29, 304
    .cfi_rel_offset x30, 312
    stp x19, x20, [sp, 19*8]
    stp x21, x22, [sp, 21*8]
    stp x23, x24, [sp, 23*8]
    stp x25, x26, [sp, 25*8]
    stp x27, x28, [sp, 27*8]
    str x29, [sp, 29*8]
    add x9, sp, 320
    str x9, [sp, 31*8]
    str x30, [sp, 280]
    mov x9, 0xbff80000  /* x19..x29, sp */
    str x9, [sp, 288]
    mov w9, 2  /* SONDE_ARCH_AARCH64 */
    strb w9, [sp, 296]
    mov \argument, sp
    bl \target
    ldp x29, x30, [sp, 304]
    add sp, sp, 320
    .cfi_adjust_cfa_offset -320
    .cfi_restore x29
    .cfi_restore x30
    ret
    sonde__asm_end \name
    .endm

#endif
#define SONDE__ENTRY(name, target, index)                                                          \
    sonde__entry SONDE__ASM_NAME(name), SONDE__ASM_NAME(target), SONDE__ENTRY_ARGUMENT_##index
                                 /* clang-format on */
