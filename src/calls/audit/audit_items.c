// SPDX-License-Identifier: Apache-2.0
#include "audit_items.h"

#include <stdlib.h>

#include "mem_sort.h"

static int by_stack(const void *left, const void *right)
{
    const struct sonde__audit_item *a = left, *b = right;
    return SONDE__ORDER2(&a->entry, &b->entry, stack, label);
}

void sonde__audit_items_sort(struct sonde__audit_items *items)
{
    qsort(items->list, items->count, sizeof *items->list, by_stack);
}

static uint32_t hash_of(uint32_t node, uint32_t label)
{
    return sonde__mem_hash((uint64_t)node << 32 | label);
}

void sonde__audit_items_done(struct sonde__audit_items *items)
{
    sonde__mem_table_done(&items->table);
}

struct sonde__audit_item *sonde__audit_items_find(const struct sonde__audit_items *items,
                                                  uint32_t node, uint32_t label)
{
    if (node == 0) {
        return NULL;
    }
    uint32_t at =
        SONDE__TABLE_FIND(&items->table, hash_of(node, label), i,
                          items->list[i].node == node && items->list[i].entry.label == label);
    return at != SONDE__TABLE_NONE ? &items->list[at] : NULL;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return b_ns != 0 && (a_ns == 0 || b_ns < a_ns) ? b_ns : a_ns;
}

bool sonde__audit_items_merge(struct sonde__audit_items *items, uint32_t index, bool keep)
{
    struct sonde__audit_item *item = &items->list[index];
    struct sonde__record_entry *from = &item->entry;
    struct sonde__audit_item *same = sonde__audit_items_find(items, item->node, from->label);
    if (same == NULL && item->node != 0) { /* without memory it stays apart */
        (void)!sonde__mem_table_add(&items->table, hash_of(item->node, from->label), index);
    }
    if (same == NULL || keep) {
        return false;
    }
    struct sonde__record_entry *to = &same->entry;
    to->count += from->count;
    to->first_ns = earlier(to->first_ns, from->first_ns);
    to->last_ns = to->last_ns > from->last_ns ? to->last_ns : from->last_ns;
    to->threads |= from->threads;
    from->count = 0;
    return true;
}
