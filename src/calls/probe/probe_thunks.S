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
 * Vector registers have arguments, too. The code behind the stub is compiled without them. But on
 * Darwin it calls functions of libSystem, which may use them, and Xcode compiles it as all code: the
 * stub saves them there, below the struct; of larger ones than 16 bytes the first 16.
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

#if defined(__APPLE__)
#define VECTORS 128 /* eight of 16 bytes */
#else
#define VECTORS 0
#endif

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
    subq $304+VECTORS, %rsp
    movq %rax, VECTORS+0*8(%rsp)
    movq %rdx, VECTORS+1*8(%rsp)
    movq %rcx, VECTORS+2*8(%rsp)
    movq %rbx, VECTORS+3*8(%rsp)
    movq %rsi, VECTORS+4*8(%rsp)
    movq %rdi, VECTORS+5*8(%rsp)
    movq 0(%rbp), %rdi
    movq 8(%rbp), %rdx
    leaq 16(%rbp), %rcx
    movq %rdi, VECTORS+6*8(%rsp)
    movq %rcx, VECTORS+7*8(%rsp)
    movq %r8, VECTORS+8*8(%rsp)
    movq %r9, VECTORS+9*8(%rsp)
    movq %r10, VECTORS+10*8(%rsp)
    movq %r12, VECTORS+12*8(%rsp)
    movq %r13, VECTORS+13*8(%rsp)
    movq %r14, VECTORS+14*8(%rsp)
    movq %r15, VECTORS+15*8(%rsp)
    movq %rdx, VECTORS+280(%rsp)
    movq $0xf0c8, VECTORS+288(%rsp)     /* rbx rbp rsp r12..r15 */
    movb $1, VECTORS+296(%rsp)          /* SONDE_ARCH_X86_64 */
#if VECTORS
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    movaps %xmm\n, \n*16(%rsp)
    .endr
#endif
    movq %r11, %rdi
    leaq VECTORS(%rsp), %rsi
    call SONDE__ASM_NAME(sonde__probe_hook_enter)
    movq %rax, %r11
#if VECTORS
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    movaps \n*16(%rsp), %xmm\n
    .endr
#endif
    movq VECTORS+0*8(%rsp), %rax
    movq VECTORS+1*8(%rsp), %rdx
    movq VECTORS+2*8(%rsp), %rcx
    movq VECTORS+4*8(%rsp), %rsi
    movq VECTORS+5*8(%rsp), %rdi
    movq VECTORS+8*8(%rsp), %r8
    movq VECTORS+9*8(%rsp), %r9
    movq VECTORS+10*8(%rsp), %r10
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
    sub sp, sp, 320+VECTORS
    .cfi_adjust_cfa_offset 320+VECTORS
    stp x29, x30, [sp, VECTORS+304]
    .cfi_rel_offset x29, VECTORS+304
    .cfi_rel_offset x30, VECTORS+312
    stp x0, x1, [sp, VECTORS+0*8]
    stp x2, x3, [sp, VECTORS+2*8]
    stp x4, x5, [sp, VECTORS+4*8]
    stp x6, x7, [sp, VECTORS+6*8]
    str x8, [sp, VECTORS+8*8]
    SONDE__ASM_STORE_CHAIN(VECTORS+18*8)
    str x19, [sp, VECTORS+19*8]
    stp x20, x21, [sp, VECTORS+20*8]
    stp x22, x23, [sp, VECTORS+22*8]
    stp x24, x25, [sp, VECTORS+24*8]
    stp x26, x27, [sp, VECTORS+26*8]
    stp x28, x29, [sp, VECTORS+28*8]
    add x16, sp, 320+VECTORS
    str x16, [sp, VECTORS+31*8]
    mov x16, 0xbff80000                 /* x19..x29, sp */
    stp x30, x16, [sp, VECTORS+280]
    mov w16, 2                          /* SONDE_ARCH_AARCH64 */
    strb w16, [sp, VECTORS+296]
    add x29, sp, VECTORS+304
#if VECTORS
    stp q0, q1, [sp]
    stp q2, q3, [sp, 32]
    stp q4, q5, [sp, 64]
    stp q6, q7, [sp, 96]
#endif
    mov x0, x17
    add x1, sp, VECTORS
    bl SONDE__ASM_NAME(sonde__probe_hook_enter)
    mov x16, x0
#if VECTORS
    ldp q0, q1, [sp]
    ldp q2, q3, [sp, 32]
    ldp q4, q5, [sp, 64]
    ldp q6, q7, [sp, 96]
#endif
    ldp x0, x1, [sp, VECTORS+0*8]
    ldp x2, x3, [sp, VECTORS+2*8]
    ldp x4, x5, [sp, VECTORS+4*8]
    ldp x6, x7, [sp, VECTORS+6*8]
    ldr x8, [sp, VECTORS+8*8]
    SONDE__ASM_LOAD_CHAIN(VECTORS+18*8)
    ldp x29, x30, [sp, VECTORS+304]
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, 320+VECTORS
    .cfi_adjust_cfa_offset -320-VECTORS
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
