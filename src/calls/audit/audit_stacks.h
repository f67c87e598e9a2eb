// SPDX-License-Identifier: Apache-2.0
/* Stacks of a record one by one, into a report. Context: any thread. */
#ifndef SONDE_AUDIT_STACKS_H
#define SONDE_AUDIT_STACKS_H

#include "image_set.h"
#include "report_model.h"
#include "symfile_cache.h"

struct sonde__audit_source {
    const void *memory; /* the page (record_page.h), and the record behind it, without its counters
                           if need be */
    uint32_t nodes;     /* of the depot */
    const struct sonde__image_set *images; /* as of now, where the page has none; else null */
};

/* Images of the page are sorted again whenever they differ from those of the last stack. With
 * images as of now, unloaded code has no name. symbols: may be null. Returns OK | MEMORY. */
struct sonde__audit_stacks;
SONDE_NODISCARD enum sonde_status sonde__audit_stacks_open(const struct sonde__audit_source *source,
                                                           struct sonde__symfile_cache *symbols,
                                                           struct sonde__report *report,
                                                           struct sonde__audit_stacks **ret_stacks);
void sonde__audit_stacks_close(struct sonde__audit_stacks *stacks);
/* The report's node of stack `id`, frames of the recorder itself left out; 0: there is none. */
uint32_t sonde__audit_stacks_put(struct sonde__audit_stacks *stacks, uint32_t id);
/* The report's node of one frame: a function, of the images as of the stack before. */
uint32_t sonde__audit_stacks_function(struct sonde__audit_stacks *stacks, uint64_t pc);

#endif
