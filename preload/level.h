// SPDX-License-Identifier: Apache-2.0
/* The level of a wrapped call is the CFA (DWARF) of the frame that makes it. The stack pointer does
 * not show which of two waits is the outer one: the frame of an event loop's wait is often larger
 * than a callback's. Context: handler. */
#ifndef SONDE_PRELOAD_LEVEL_H
#define SONDE_PRELOAD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

/* The level of the call that returns to `caller`, a few frames out; sp: an address in the wrapper's
 * frame. 0: unknown (no call frame information, or a frame described by a register that we do not
 * track). Results are cached per thread; a new place takes some 1 us. */
uint64_t preload_level(uint64_t caller, uint64_t sp);

/* Is the code at `caller` in a language runtime, whose own locks are condition variables and
 * semaphores? Such waits say nothing about the program's loop. */
bool preload_in_runtime(uint64_t caller);
/* The first address of the function at `pc`, by its call frame information. */
bool preload_function_begin(uint64_t pc, uint64_t *ret_begin);

/* Call `each` for each frame from `caller` outwards, with the address of its call and its level (0:
 * unknown), until it returns false. False: the walk ended before that. */
typedef bool preload_each_frame(void *ctx, uint64_t pc, uint64_t level);
bool preload_walk(uint64_t caller, preload_each_frame *each, void *ctx);

/* A hash of the calls that lead to `caller`. 0: unknown. */
uint64_t preload_path(uint64_t caller);

/* Call at start. */
void preload_learn_program(void);

#endif
