// SPDX-License-Identifier: Apache-2.0
/* `sonde run --blocks`: live blocks into a report, by the stack that made them. The program's
 * data is not trusted. Context: any thread, one at a time. */
#ifndef SONDE_AUDIT_BLOCKS_H
#define SONDE_AUDIT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "registry_group.h"
#include "report_line.h"
#include "report_model.h"
#include "symfile_cache.h"

struct sonde__audit_blocks {
    uint64_t start_ns; /* monotonic clock */
    uint32_t lines;    /* of the registry */
    uint32_t nodes;    /* of the record's depot */
    /* of the last time: */
    struct sonde__registry_group *groups;
    uint32_t group_count;
    uint64_t live, size_bytes;
    struct sonde__registry_total total;
};

/* memory: the page, the record and the registry behind it. all: also what has not changed since the
 * last time. Returns OK | MEMORY (nothing was added). */
SONDE_NODISCARD enum sonde_status sonde__audit_read_blocks(struct sonde__audit_blocks *blocks,
                                                           const void *memory,
                                                           struct sonde__symfile_cache *symbols,
                                                           bool all, struct sonde__report *report);

/* Summarize the last read for people: how many blocks, and what was not seen. */
void sonde__audit_print_blocks(const struct sonde__audit_blocks *blocks,
                               struct sonde__report_lines lines);

#endif
