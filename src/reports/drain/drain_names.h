// SPDX-License-Identifier: Apache-2.0
/* What is known of a frame's function: its name, its place in the source, the calls inlined there.
 * Context: any thread, one at a time. */
#ifndef SONDE_DRAIN_NAMES_H
#define SONDE_DRAIN_NAMES_H

#include "report_model.h"
#include "symfile_cache.h"

/* The name of its function, if it is known where that begins. */
void drain_set_function(struct sonde__report *report, const struct sonde__function *function,
                        struct sonde__report_frame *record);

/* Its place in the source and the calls inlined there, for which `inlined` has room for
 * SONDE__CALLS_MAX and must live as long as `record`. */
void drain_set_calls(struct sonde__report *report, const struct sonde__answer *answer,
                     struct sonde__report_frame *record, struct sonde__report_inlined *inlined);

/* Ask for both. `lookup`: the vaddr to ask about, which is before `record->offset` for a return
 * address. symbols: or null. answer: room to work in. */
void drain_name_frame(struct sonde__report *report, struct sonde__symfile_cache *symbols,
                      const struct sonde__image *image, uint64_t lookup,
                      struct sonde__answer *answer, struct sonde__report_frame *record,
                      struct sonde__report_inlined *inlined);

/* The same for all frames of a report that was read from a file, by the build-ids of its images:
 * what it knows itself stays where nothing better is found. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__drain_rename(struct sonde__report *report,
                                                      struct sonde__symfile_cache *symbols);

#endif
