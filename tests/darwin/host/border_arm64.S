// SPDX-License-Identifier: Apache-2.0
/* The border of arm64. Both worlds pass up to eight words alike (AAPCS64); what Apple does
 * otherwise, variable arguments and small ones on the stack, does not cross. */

        .text
        .globl  border_start
        .type   border_start, %function
/* border_start(start, stack_end, argc, argv, envp, main) */
border_start:
        mov     sp, x1
        mov     x9, x0
        mov     w0, w2
        mov     x1, x3
        mov     x2, x4
        mov     x3, x5
        mov     x29, xzr
        mov     x30, xzr                /* no caller */
        br      x9
        .size   border_start, .-border_start

        .globl  border_primitive, border_primitive_end
        .type   border_primitive, %function
/* x16: the primitive */
border_primitive:
        mrs     x17, tpidr_el0
        adrp    x9, :gottprel:host_border
        ldr     x9, [x9, :gottprel_lo12:host_border]
        add     x17, x17, x9
        stp     x19, x20, [x17]
        stp     x21, x22, [x17, 16]
        stp     x23, x24, [x17, 32]
        stp     x25, x26, [x17, 48]
        stp     x27, x28, [x17, 64]
        stp     x29, x30, [x17, 80]
        mov     x9, sp
        str     x9, [x17, 96]
        mov     w9, 1
        str     w9, [x17, 104]
        stp     x30, x17, [sp, -16]!
        blr     x16
        ldp     x30, x17, [sp], 16
        str     wzr, [x17, 104]
        ret
border_primitive_end:
        .size   border_primitive, .-border_primitive

        .globl  border_thread_local
        .type   border_thread_local, %function
/* x0: descriptor {thunk, place of the image, offset}. Keeps all registers but x0, x16 and x17. */
border_thread_local:
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:host_tls
        ldr     x17, [x17, :gottprel_lo12:host_tls]
        ldr     x16, [x16, x17]
        ldp     x17, x0, [x0, 8]
        add     x0, x0, x17
        add     x0, x0, x16
        ret
        .size   border_thread_local, .-border_thread_local

        .section .note.GNU-stack, "", %progbits
