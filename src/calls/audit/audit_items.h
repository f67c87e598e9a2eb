// SPDX-License-Identifier: Apache-2.0
/* What was counted, by label and stack of the report. Recorded stacks of a script may differ in the
 * instructions of a line only: those are one stack there. Context: any thread, one at a time. */
#ifndef SONDE_AUDIT_ITEMS_H
#define SONDE_AUDIT_ITEMS_H

#include "mem_table.h"
#include "record.h"

struct sonde__audit_item {
    struct sonde__record_entry entry; /* a count of 0: it is done, or is part of another item */
    uint32_t node;                    /* of the report; 0: none */
    uint8_t end;                      /* enum sonde_end_reason */
};

struct sonde__audit_items {
    struct sonde__audit_item *list; /* the caller's */
    uint32_t count;
    struct sonde__mem_table table; /* by node and label */
};

void sonde__audit_items_done(struct sonde__audit_items *items);
/* Sort them by stack, in the order in which stacks were recorded. */
void sonde__audit_items_sort(struct sonde__audit_items *items);
/* Null: none. */
struct sonde__audit_item *sonde__audit_items_find(const struct sonde__audit_items *items,
                                                  uint32_t node, uint32_t label);
/* Note item `index`, whose node is set; add it to an earlier one of its node and label, unless it
 * is to be kept apart. True: it was added. */
bool sonde__audit_items_merge(struct sonde__audit_items *items, uint32_t index, bool keep);

#endif
