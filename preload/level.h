// SPDX-License-Identifier: Apache-2.0
/* Where the frame that makes a wrapped call begins (DWARF's CFA): its level. The stack pointer
 * does not tell which of two waits is the outer one: the frame of an event loop's wait is often
 * larger than those of a callback. Context: handler. */
#ifndef SONDE_PRELOAD_LEVEL_H
#define SONDE_PRELOAD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

/* The caller returns to `caller`, which is on the stack a few frames above; sp: an address in the
 * wrapper's frame. 0: not known (no call frame information, or a frame that a register describes
 * which is not followed). Keeps what it found for this thread; some 1 us for a new place. */
uint64_t preload_level(uint64_t caller, uint64_t sp);

/* Is the code at `caller` in a library or program whose own locks are condition variables and
 * semaphores: a runtime of a language? Such a wait says nothing about the program's loop. */
bool preload_in_runtime(uint64_t caller);
/* The first address of the function around `pc`, as its call frame information says. */
bool preload_function_begin(uint64_t pc, uint64_t *ret_begin);

/* From the frame that returns to `caller` outwards, until `each` returns false: the place of its
 * call and where the frame begins (0: not known). False: the stack cannot be followed so far. */
typedef bool preload_each_frame(void *ctx, uint64_t pc, uint64_t level);
bool preload_walk(uint64_t caller, preload_each_frame *each, void *ctx);

/* Of the calls that lead to `caller`, from there outwards: equal for equal ones. 0: not known. */
uint64_t preload_path(uint64_t caller);

/* At start. */
void preload_learn_program(void);

#endif
