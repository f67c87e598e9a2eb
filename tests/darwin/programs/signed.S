/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through signed pointers, as code for arm64e makes them: braa and brab end the program if the signature is wrong. */
    .arch armv8.3-a
    .text
    .globl _call_signed, _call_signed_blended, _call_signed_b
    .p2align 2
/* pid_t call_signed(pid_t (*const volatile *at)(void), uint64_t number): key IA, the number */
_call_signed:
    ldr x16, [x0]
    mov x17, x1
    braa x16, x17
/* the same, with the pointer's address and the number */
_call_signed_blended:
    ldr x16, [x0]
    mov x17, x0
    bfi x17, x1, #48, #16
    braa x16, x17
/* the same with key IB */
_call_signed_b:
    ldr x16, [x0]
    mov x17, x0
    bfi x17, x1, #48, #16
    brab x16, x17
