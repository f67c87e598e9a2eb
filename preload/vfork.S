/* SPDX-License-Identifier: Apache-2.0 */
/* The program's vfork(): tell the probe, then jump to libc's. A C function cannot do this: the
 * child returns first and overwrites the frame through which the parent returns. Here no frame is
 * left: libc's vfork() returns to the caller, twice. */
#include "arch_asm.h"

    .text
    .p2align 4
    SONDE__ASM_IMPORTS(preload_begin_vfork)
    SONDE__ASM_PUBLIC(vfork)
    SONDE__ASM_BEGIN(vfork)
#if defined(__x86_64__)
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call preload_begin_vfork
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    jmp *%rax
#elif defined(__aarch64__)
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    bl preload_begin_vfork
    ldp x29, x30, [sp], #16
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    mov x16, x0
    br x16
#endif
    SONDE__ASM_END(vfork)
    SONDE__ASM_FILE_END
