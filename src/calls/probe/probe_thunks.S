/* SPDX-License-Identifier: Apache-2.0 */
/* The thunks of probe_hook.h and the stub behind them.
 *
 * A thunk names its hook in the one register that a linkage stub may use (r11; x17) and goes to the
 * stub. The stub stores a struct sonde__regs at the stack pointer: what the caller's registers will
 * be after the call, and the argument registers; r10 and x18 carry a static chain, al the number of
 * vector arguments, x8 where a struct is returned. Its call has its own return and the target is
 * reached by a jump, so a shadow stack stays as it was. At each instruction the call frame
 * information holds, and the frame pointer leads to the caller.
 *
 * struct sonde__regs: r[35] at 0, pc at 280, known at 288, arch at 296; 304 bytes (checked in
 * probe_hook.c).
 *
 * Resolver i returns the address of thunk i. It stands where the loader calls a function to get the
 * address of another (an ifunc). */
#include "arch_asm.h"

    .set hook, 0
    .text
    SONDE__ASM_HIDDEN(sonde__probe_thunks)
    SONDE__ASM_HIDDEN(sonde__probe_resolvers)
    SONDE__ASM_IMPORTS(sonde__probe_hooks)
    SONDE__ASM_IMPORTS(sonde__probe_hook_enter)

#if defined(__x86_64__)

    .p2align 6
    SONDE__ASM_BEGIN(sonde__probe_thunks)
    .rept 1024
    endbr64
    leaq SONDE__ASM_NAME(sonde__probe_hooks)+hook*16(%rip), %r11
    jmp SONDE__ASM_NAME(sonde__probe_stub)
    .p2align 4, 0xcc
    .set hook, hook+1
    .endr
    SONDE__ASM_END(sonde__probe_thunks)

    .p2align 6
    SONDE__ASM_BEGIN(sonde__probe_stub)
    cmpl $0, 8(%r11)
    je 1f
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $304, %rsp
    movq %rax, 0*8(%rsp)
    movq %rdx, 1*8(%rsp)
    movq %rcx, 2*8(%rsp)
    movq %rbx, 3*8(%rsp)
    movq %rsi, 4*8(%rsp)
    movq %rdi, 5*8(%rsp)
    movq 0(%rbp), %rdi
    movq 8(%rbp), %rdx
    leaq 16(%rbp), %rcx
    movq %rdi, 6*8(%rsp)
    movq %rcx, 7*8(%rsp)
    movq %r8, 8*8(%rsp)
    movq %r9, 9*8(%rsp)
    movq %r10, 10*8(%rsp)
    movq %r12, 12*8(%rsp)
    movq %r13, 13*8(%rsp)
    movq %r14, 14*8(%rsp)
    movq %r15, 15*8(%rsp)
    movq %rdx, 280(%rsp)
    movq $0xf0c8, 288(%rsp)             /* rbx rbp rsp r12..r15 */
    movb $1, 296(%rsp)                  /* SONDE_ARCH_X86_64 */
    movq %r11, %rdi
    movq %rsp, %rsi
    call SONDE__ASM_NAME(sonde__probe_hook_enter)
    movq %rax, %r11
    movq 0*8(%rsp), %rax
    movq 1*8(%rsp), %rdx
    movq 2*8(%rsp), %rcx
    movq 4*8(%rsp), %rsi
    movq 5*8(%rsp), %rdi
    movq 8*8(%rsp), %r8
    movq 9*8(%rsp), %r9
    movq 10*8(%rsp), %r10
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11
1:  jmp *(%r11)
    SONDE__ASM_END(sonde__probe_stub)

    .p2align 4
    SONDE__ASM_HIDDEN(sonde__probe_hook_answered)
    SONDE__ASM_BEGIN(sonde__probe_hook_answered)
    endbr64
    ret
    SONDE__ASM_END(sonde__probe_hook_answered)

    .set hook, 0
    .p2align 6
    SONDE__ASM_BEGIN(sonde__probe_resolvers)
    .rept 1024
    endbr64
    leaq SONDE__ASM_NAME(sonde__probe_thunks)+hook*16(%rip), %rax
    ret
    .p2align 4, 0xcc
    .set hook, hook+1
    .endr
    SONDE__ASM_END(sonde__probe_resolvers)

#elif defined(__aarch64__)

    .p2align 6
    SONDE__ASM_BEGIN(sonde__probe_thunks)
    .rept 1024
    hint 34                             /* bti c */
    adrp x17, SONDE__ASM_PAGE(sonde__probe_hooks, hook*16)
    add x17, x17, SONDE__ASM_PAGE_OFFSET(sonde__probe_hooks, hook*16)
    b SONDE__ASM_NAME(sonde__probe_stub)
    .set hook, hook+1
    .endr
    SONDE__ASM_END(sonde__probe_thunks)

    .p2align 6
    SONDE__ASM_BEGIN(sonde__probe_stub)
    ldr w16, [x17, 8]
    cbz w16, 1f
    sub sp, sp, 320
    .cfi_adjust_cfa_offset 320
    stp x29, x30, [sp, 304]
    .cfi_rel_offset x29, 304
    .cfi_rel_offset x30, 312
    stp x0, x1, [sp, 0*8]
    stp x2, x3, [sp, 2*8]
    stp x4, x5, [sp, 4*8]
    stp x6, x7, [sp, 6*8]
    str x8, [sp, 8*8]
    SONDE__ASM_STORE_CHAIN(18*8)
    str x19, [sp, 19*8]
    stp x20, x21, [sp, 20*8]
    stp x22, x23, [sp, 22*8]
    stp x24, x25, [sp, 24*8]
    stp x26, x27, [sp, 26*8]
    stp x28, x29, [sp, 28*8]
    add x16, sp, 320
    str x16, [sp, 31*8]
    mov x16, 0xbff80000                 /* x19..x29, sp */
    stp x30, x16, [sp, 280]
    mov w16, 2                          /* SONDE_ARCH_AARCH64 */
    strb w16, [sp, 296]
    add x29, sp, 304
    mov x0, x17
    mov x1, sp
    bl SONDE__ASM_NAME(sonde__probe_hook_enter)
    mov x16, x0
    ldp x0, x1, [sp, 0*8]
    ldp x2, x3, [sp, 2*8]
    ldp x4, x5, [sp, 4*8]
    ldp x6, x7, [sp, 6*8]
    ldr x8, [sp, 8*8]
    SONDE__ASM_LOAD_CHAIN(18*8)
    ldp x29, x30, [sp, 304]
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, 320
    .cfi_adjust_cfa_offset -320
    br x16                              /* by x16 or x17: a landing pad of calls will do */
1:
    ldr x16, [x17]
    br x16
    SONDE__ASM_END(sonde__probe_stub)

    .p2align 4
    SONDE__ASM_HIDDEN(sonde__probe_hook_answered)
    SONDE__ASM_BEGIN(sonde__probe_hook_answered)
    hint 34
    ret
    SONDE__ASM_END(sonde__probe_hook_answered)

    .set hook, 0
    .p2align 6
    SONDE__ASM_BEGIN(sonde__probe_resolvers)
    .rept 1024
    hint 34
    adrp x0, SONDE__ASM_PAGE(sonde__probe_thunks, hook*16)
    add x0, x0, SONDE__ASM_PAGE_OFFSET(sonde__probe_thunks, hook*16)
    ret
    .set hook, hook+1
    .endr
    SONDE__ASM_END(sonde__probe_resolvers)

#endif
    SONDE__ASM_FILE_END
