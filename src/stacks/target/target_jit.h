// SPDX-License-Identifier: Apache-2.0
/* Code that a program generates at run time and describes by GDB's JIT interface (its manual, "JIT
 * Compilation Interface"): a list of ELFs in the program's memory, found by a symbol.
 *
 * drain_jit uses their symbols for names. This module uses their call frame information: qemu
 * describes its buffer of translated code this way. The ELFs are hostile input, and limited.
 * Context: any thread, one at a time. */
#ifndef SONDE_TARGET_JIT_H
#define SONDE_TARGET_JIT_H

#include "target.h"

/* Call `each` with a copy of every ELF of the lists, until it returns something other than OK.
 * Adds to *ret_bad the ELFs that cannot be read or are too large. Returns OK | MEMORY | the
 * result of `each`. */
SONDE_NODISCARD enum sonde_status
sonde__target_each_jit_elf(struct sonde__target *target,
                           enum sonde_status (*each)(void *ctx, const void *data, size_t size),
                           void *ctx, uint64_t *ret_bad);

/* The described code that has call frame information. */
struct sonde__target_jit {
    struct sonde__image_set set; /* of images without a path */
    struct sonde__image *images;
    struct sonde__image_range *ranges;
    void **copies; /* of the images' ELFs */
    size_t image_capacity, range_capacity, copy_capacity;
    uint64_t lists;   /* the lists' hash when they were read; 0: never */
    uint64_t next_ns; /* when they may be read again */
};

/* If a frame of the stack is in code of no image, and the lists have changed since they were
 * read: read them again. True: another walk may find more. After a call, further ones do nothing
 * for a pause that grows with its cost; until then a description may be out of date. */
bool sonde__target_jit_learn(struct sonde__target *target, const struct sonde_stack *stack);
void sonde__target_jit_done(struct sonde__target_jit *jit);

#endif
