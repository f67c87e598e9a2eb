// SPDX-License-Identifier: Apache-2.0
#include "mem_table.h"

#include "mem_heap.h"

enum { SLOTS_FIRST = 64 };

static void put(struct sonde__mem_slot *slots, size_t count, struct sonde__mem_slot slot)
{
    size_t at = slot.hash & (count - 1);
    while (slots[at].number != 0) {
        at = (at + 1) & (count - 1);
    }
    slots[at] = slot;
}

static bool grow(struct sonde__mem_table *table)
{
    size_t count = table->slot_count != 0 ? 2 * table->slot_count : SLOTS_FIRST;
    struct sonde__mem_slot *slots = sonde__mem_alloc_zeroed(count * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->slot_count; i++) {
        if (table->slots[i].number != 0) {
            put(slots, count, table->slots[i]);
        }
    }
    sonde__mem_free(table->slots);
    table->slots = slots;
    table->slot_count = count;
    return true;
}

bool sonde__mem_table_add(struct sonde__mem_table *table, uint32_t hash, uint32_t number)
{
    if (number == SONDE__TABLE_NONE || (table->count * 2 >= table->slot_count && !grow(table))) {
        return false;
    }
    put(table->slots, table->slot_count, (struct sonde__mem_slot){hash, number + 1});
    table->count++;
    return true;
}

void sonde__mem_table_done(struct sonde__mem_table *table)
{
    sonde__mem_free(table->slots);
    *table = (struct sonde__mem_table){0};
}
