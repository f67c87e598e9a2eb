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
