// SPDX-License-Identifier: Apache-2.0
/* Names for the stacks of the watched program. A look-up takes longer than the pause between two
 * samples, so it happens after the stall, in the writer's thread (watch_writer.h). Context: any
 * thread, one at a time. */
#ifndef SONDE_ENTRY_NAMES_H
#define SONDE_ENTRY_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "report_model.h"
#include "target_sample.h"

struct sonde__symfile_options; /* symfile_cache.h */
struct sonde__entry_names;

/* symbols: where names are looked up, or null. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status
sonde__entry_names_create(const struct sonde__symfile_options *symbols,
                          struct sonde__entry_names **ret_names);
void sonde__entry_names_destroy(struct sonde__entry_names *names);

/* Later calls resolve stacks of `target`, with its images as they were when frozen
 * (target_frozen.h), into `report`. Both must outlive the next call or _end(). Returns OK |
 * MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__entry_names_begin(struct sonde__entry_names *names,
                                                           struct sonde__target *target,
                                                           struct sonde__report *report);
void sonde__entry_names_end(struct sonde__entry_names *names);

/* Adds the sample's stack to the report; returns its stack id. */
uint32_t sonde__entry_resolve(struct sonde__entry_names *names, const struct sonde__sample *sample,
                              uint32_t *ret_script_stack);
void sonde__entry_resolve_thread(struct sonde__entry_names *names,
                                 const struct sonde__sample *sample,
                                 struct sonde__report_thread *ret_thread);
/* Add the tasks of the thread's event loop to the report, if they were read. */
void sonde__entry_resolve_tasks(struct sonde__entry_names *names,
                                const struct sonde__sample *sample,
                                const struct sonde__report_thread *thread);
/* Describe a place in the program, as "python3.11+0x1d64b4", in the caller's buffer. */
void sonde__entry_place(struct sonde__entry_names *names, uint64_t pc, char *ret_text,
                        size_t capacity);

#endif
