// SPDX-License-Identifier: Apache-2.0
/* Stacks into a report: pcs become (image, offset) frames with names, once per unique frame.
 *
 * No absolute address passes this point, but for code of no image (JIT), which has no other
 * coordinate. A frame is converted and looked up the first time it is met; the same pc of the same
 * image costs one hash look-up afterwards. What could not be found out about an image (its file is
 * another one now, a malformed symbol table) is put into the report as a note, once an image.
 * Context: any thread, one at a time. */
#ifndef SONDE_DRAIN_STACK_H
#define SONDE_DRAIN_STACK_H

#include <sonde/stack.h>

#include "image_set.h"
#include "report_model.h"
#include "symfile_cache.h"
#include "target_sample.h"

struct sonde__drain;

/* report   where everything goes; must outlive the drain
 * target   whose memory holds images without a file (vdso, deleted); null: none is asked
 * symbols  names are looked up there; null: no names (--no-names)
 * Returns OK | MEMORY.  Ownership: destroy it; what is given stays the caller's. */
SONDE_NODISCARD enum sonde_status sonde__drain_create(struct sonde__report *report,
                                                      struct sonde__target *target,
                                                      struct sonde__symfile_cache *symbols,
                                                      struct sonde__drain **ret_drain);
void sonde__drain_destroy(struct sonde__drain *drain);

/* From now on, images of more code than this many bytes are not searched for tail calls, unless an
 * index file has them (some 5 ns a byte). */
void sonde__drain_limit_code(struct sonde__drain *drain, uint64_t bytes);

/* The report's node of the innermost frame of `stack`, whose pcs are addresses of `images`.
 * Returns the stack id, 0 for an empty stack or when memory ran out (the report counts that).
 * `images` may change between calls; its generation tells. Frames left out of a deep stack become
 * one gap frame. */
uint32_t sonde__drain_stack(struct sonde__drain *drain, const struct sonde__image_set *images,
                            const struct sonde_stack *stack);

/* One captured thread as the report's record, stack included; the caller adds it (to the report,
 * or to a stall). time_ns is left 0. */
void sonde__drain_thread(struct sonde__drain *drain, const struct sonde__image_set *images,
                         const struct sonde__sample *sample,
                         struct sonde__report_thread *ret_thread);

#endif
