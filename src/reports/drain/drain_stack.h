// SPDX-License-Identifier: Apache-2.0
/* Adds stacks to a report: pcs become (image, offset) frames with names, once per unique frame.
 *
 * From here on there are no absolute addresses, except of JIT code. A known frame costs one hash
 * look-up. Problems with an image (replaced file, malformed symbol table) become a note in the
 * report, once per image. Context: any thread, one at a time. */
#ifndef SONDE_DRAIN_STACK_H
#define SONDE_DRAIN_STACK_H

#include <sonde/stack.h>

#include "image_set.h"
#include "report_model.h"
#include "symfile_cache.h"
#include "target_sample.h"

struct sonde__drain;

/* report   receives all records; must outlive the drain
 * target   to read images without a file (vdso, deleted); or null
 * symbols  source of names; null: no names (--no-names)
 *
 * Returns OK | MEMORY. Ownership: destroy it; the arguments stay the caller's. */
SONDE_NODISCARD enum sonde_status sonde__drain_create(struct sonde__report *report,
                                                      struct sonde__target *target,
                                                      struct sonde__symfile_cache *symbols,
                                                      struct sonde__drain **ret_drain);
void sonde__drain_destroy(struct sonde__drain *drain);

/* Search images with more code than this for tail calls only if an index file has them; a search
 * takes some 5 ns per byte. */
void sonde__drain_limit_code(struct sonde__drain *drain, uint64_t bytes);

/* Add the main program of the images, which every report has: of several programs it has the first
 * one first. */
void sonde__drain_program(struct sonde__drain *drain, const struct sonde__image_set *images);

/* Add `stack`, whose pcs are addresses in `images`. Returns the report's id of its innermost node;
 * 0: an empty stack, or no memory (the report counts that). `images` may change between calls, with
 * its generation. The frames left out of a deep stack become one gap frame. */
uint32_t sonde__drain_stack(struct sonde__drain *drain, const struct sonde__image_set *images,
                            const struct sonde_stack *stack);

/* The same for a stack without a sample, with the script frames that marked frames run
 * (SONDE__HOW_RUNS_SCRIPT); script: null: none. */
uint32_t sonde__drain_scripted(struct sonde__drain *drain, const struct sonde__image_set *images,
                               const struct sonde_stack *stack, const struct sonde__script *script);
/* Without a target: the interpreter that runs scripts has this address. Call it before stacks are
 * added. */
void sonde__drain_interpreter(struct sonde__drain *drain, uint64_t code);

/* The same for a sample with script frames. They are joined with the stack, or, where that fails,
 * become a stack of their own in *ret_script_stack (0: none). */
uint32_t sonde__drain_sample(struct sonde__drain *drain, const struct sonde__image_set *images,
                             const struct sonde__sample *sample, uint32_t *ret_script_stack);

/* Make a record of a captured thread and add its stack. The caller adds the record to the report or
 * to a stall. Its process is the report's first one (drain_origin.h), its time_ns is 0. */
void sonde__drain_thread(struct sonde__drain *drain, const struct sonde__image_set *images,
                         const struct sonde__sample *sample,
                         struct sonde__report_thread *ret_thread);
/* Add the tasks of the thread's event loop, if they were read. thread: what sonde__drain_thread()
 * made of the sample */
void sonde__drain_tasks(struct sonde__drain *drain, const struct sonde__sample *sample,
                        const struct sonde__report_thread *thread);

#endif
