// SPDX-License-Identifier: Apache-2.0
/* Names of frames: function, file, line and inlined calls. Context: any thread, one at a time. */
#ifndef SONDE_DRAIN_NAMES_H
#define SONDE_DRAIN_NAMES_H

#include "report_model.h"
#include "symfile_cache.h"

/* Set the function's name, if its start is known. */
void drain_set_function(struct sonde__report *report, const struct sonde__function *function,
                        struct sonde__report_frame *record);

/* Set file, line and inlined calls. `inlined` has room for SONDE__CALLS_MAX and must live as long
 * as `record`. */
void drain_set_calls(struct sonde__report *report, const struct sonde__answer *answer,
                     struct sonde__report_frame *record, struct sonde__report_inlined *inlined);

/* Look up and set both. `lookup` is the vaddr to look up, before `record->offset` for a return
 * address. symbols may be null. answer: scratch space. */
void drain_name_frame(struct sonde__report *report, struct sonde__symfile_cache *symbols,
                      const struct sonde__image *image, uint64_t lookup,
                      struct sonde__answer *answer, struct sonde__report_frame *record,
                      struct sonde__report_inlined *inlined);

/* The same for all frames of a report from a file, by the build-ids of its images. Names stay where
 * no better one is found. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__drain_rename(struct sonde__report *report,
                                                      struct sonde__symfile_cache *symbols);

#endif
