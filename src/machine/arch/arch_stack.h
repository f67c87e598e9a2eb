// SPDX-License-Identifier: Apache-2.0
/* The effect of an instruction on the stack pointer and frame pointer, for both architectures:
 * enough to track the depth of a function's stack.
 *
 * Sources: as arch_flow.h; Arm ARM (DDI 0487) C4.1, "Loads and stores", "Data processing". Covers
 * all writes to both that compilers emit. Context: handler. */
#ifndef SONDE_ARCH_STACK_H
#define SONDE_ARCH_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__stack_kind {
    SONDE__STACK_KEPT,
    SONDE__STACK_MOVED,   /* sp += value */
    SONDE__STACK_FROM_FP, /* sp = fp + value */
    SONDE__STACK_TO_FP,   /* fp = sp + value */
    SONDE__STACK_LOST,    /* sp = something else */
};

struct sonde__stack_effect {
    uint8_t kind;  /* enum sonde__stack_kind */
    bool loses_fp; /* fp = something else */
    int32_t value;
};

/* Decode the instruction in `size` bytes of code. False: invalid or truncated. */
bool sonde__arch_stack_effect(unsigned arch, const uint8_t *code, size_t size,
                              struct sonde__stack_effect *ret_effect);

#endif
