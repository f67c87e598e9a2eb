// SPDX-License-Identifier: Apache-2.0
/* The keeper: a thread that removes what is not kept, in small steps. */
#ifndef SONDE_COLLECTOR_KEEPER_H
#define SONDE_COLLECTOR_KEEPER_H

#include "blob.h"

struct keeper;

struct keeper_options {
    uint32_t days;      /* files of older reports are removed; 0: none */
    uint32_t per_group; /* reports with a file that a group keeps; 0: all */
    uint32_t seconds;   /* between two rounds */
};

/* A sender may send a report again for 14 days; a report's id is remembered for this long
 * (docs/protocol.md). */
enum { KEEPER_ID_DAYS = 30 };

/* What is kept at a time (since 1970). */
struct store_keep keeper_rule(const struct keeper_options *options, uint64_t now_ns);

/* Start it. blobs: reports' files. Returns 0 or an errno. Ownership: keeper_stop().
 */
int keeper_start(struct store *store, const struct blobs *blobs,
                 const struct keeper_options *options, struct keeper **ret_keeper);
void keeper_stop(struct keeper *keeper);
/* Files removed since the start. */
uint64_t keeper_removed(struct keeper *keeper);

#endif
