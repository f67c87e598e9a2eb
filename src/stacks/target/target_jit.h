// SPDX-License-Identifier: Apache-2.0
/* Code that a program makes while it runs and describes by GDB's JIT interface (its manual, "JIT
 * Compilation Interface"): a list of ELFs in the program's memory, which names lead to.
 *
 * Names are taken from their symbols (drain_jit). Here their call frame information is used:
 * qemu describes its buffer of translated code so. The ELFs are hostile input, and bounded.
 * Context: any thread, one at a time. */
#ifndef SONDE_TARGET_JIT_H
#define SONDE_TARGET_JIT_H

#include "target.h"

/* Call `each` with a copy of every ELF of the lists, until it returns something else than OK. Where
 * one cannot be read or is too large, *ret_bad is one more. Returns OK | MEMORY | what `each` did.
 */
SONDE_NODISCARD enum sonde_status
sonde__target_each_jit_elf(struct sonde__target *target,
                           enum sonde_status (*each)(void *ctx, const void *data, size_t size),
                           void *ctx, uint64_t *ret_bad);

/* The described code that has call frame information. */
struct sonde__target_jit {
    struct sonde__image_set set; /* of images without a path */
    struct sonde__image *images;
    struct sonde__image_range *ranges;
    void **copies; /* of the ELFs that the images are of */
    size_t image_capacity, range_capacity, copy_capacity;
    uint64_t lists;   /* what the lists were when they were read; 0: never */
    uint64_t next_ns; /* when they may be read again */
};

/* Does a frame of the stack lie in code of no image, and are the descriptions of such code others
 * than when they were read last? Then they are read, and another walk may find more. Asked again
 * after a pause that grows with what the asking takes: until then a description may be out of date.
 */
bool sonde__target_jit_learn(struct sonde__target *target, const struct sonde_stack *stack);
void sonde__target_jit_done(struct sonde__target_jit *jit);

#endif
