// SPDX-License-Identifier: Apache-2.0
/* A JIT that makes functions without frame pointers: each has a frame of its own size and calls the
 * next; the last calls a C function by pointer. The code begins at the first byte of its
 * mapping. */
#ifndef JIT_CODE_H
#define JIT_CODE_H

#include <stddef.h>
#include <stdint.h>

enum { JIT_FUNCTIONS = 12 };

struct jit_code {
    void (*enter)(void);
    uint64_t starts[JIT_FUNCTIONS + 1];
    uint64_t returns[JIT_FUNCTIONS]; /* where the call of function i comes back to */
    uint64_t never_made;             /* behind another call of the last function */
};

/* Functions [indirect_from, JIT_FUNCTIONS) call through a register instead of by their target. */
struct jit_code jit_make(void (*leaf)(void), unsigned indirect_from);

#endif
