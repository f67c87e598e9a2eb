// SPDX-License-Identifier: Apache-2.0
/* Stacks into a report: pcs become (image, offset) frames with names, once per unique frame.
 *
 * After this point there are no absolute addresses, except for code of no image (JIT). A frame is
 * converted and looked up once; afterwards the same pc of the same image costs one hash look-up.
 * Problems with an image (its file was replaced, a malformed symbol table) become a note in the
 * report, once per image. Context: any thread, one at a time. */
#ifndef SONDE_DRAIN_STACK_H
#define SONDE_DRAIN_STACK_H

#include <sonde/stack.h>

#include "image_set.h"
#include "report_model.h"
#include "symfile_cache.h"
#include "target_sample.h"

struct sonde__drain;

/* report receives all records; must outlive the drain target to read images without a file from
 * (vdso, deleted), or null symbols source of names; null: no names (--no-names) Returns OK |
 * MEMORY. Ownership: destroy it; the arguments stay the caller's. */
SONDE_NODISCARD enum sonde_status sonde__drain_create(struct sonde__report *report,
                                                      struct sonde__target *target,
                                                      struct sonde__symfile_cache *symbols,
                                                      struct sonde__drain **ret_drain);
void sonde__drain_destroy(struct sonde__drain *drain);

/* Do not search images with more code than this for tail calls, unless an index file has them
 * (searching takes some 5 ns a byte). */
void sonde__drain_limit_code(struct sonde__drain *drain, uint64_t bytes);

/* The report's node of the innermost frame of `stack`, whose pcs are addresses of `images`. Returns
 * the stack id, 0 for an empty stack or when memory ran out (the report counts that). `images` may
 * change between calls, with its generation. Frames left out of a deep stack become one gap frame.
 */
uint32_t sonde__drain_stack(struct sonde__drain *drain, const struct sonde__image_set *images,
                            const struct sonde_stack *stack);

/* The same for a sample, with its script frames: in the stack, or, where they could not be joined
 * with it, as *ret_script_stack (0: none). */
uint32_t sonde__drain_sample(struct sonde__drain *drain, const struct sonde__image_set *images,
                             const struct sonde__sample *sample, uint32_t *ret_script_stack);

/* One captured thread as the report's record, stack included; the caller adds it (to the report,
 * or to a stall). It belongs to the report's first process (drain_origin.h). time_ns is left 0. */
void sonde__drain_thread(struct sonde__drain *drain, const struct sonde__image_set *images,
                         const struct sonde__sample *sample,
                         struct sonde__report_thread *ret_thread);

#endif
