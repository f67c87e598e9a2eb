// SPDX-License-Identifier: Apache-2.0
/* A hash table over the caller's items: stores each item's number and 32 bits of its key's hash;
 * the caller compares keys. Open addressing, at most half full. Context: any thread, one at a
 * time. */
#ifndef SONDE_MEM_TABLE_H
#define SONDE_MEM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE__TABLE_NONE UINT32_MAX

/* All zero is an empty table. */
struct sonde__mem_table {
    struct sonde__mem_slot {
        uint32_t hash;
        uint32_t number; /* item number + 1; 0: free */
    } * slots;
    size_t slot_count; /* a power of two */
    size_t count;
};

static inline uint32_t sonde__mem_hash(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32); /* 2^64 / golden ratio */
}

/* False: out of memory, or `number` is SONDE__TABLE_NONE; the table is unchanged. */
bool sonde__mem_table_add(struct sonde__mem_table *table, uint32_t hash, uint32_t number)
    __attribute__((warn_unused_result));
void sonde__mem_table_done(struct sonde__mem_table *table);

/* The next item number + 1 with this hash; 0: none. *at: 0 to begin. */
static inline uint32_t sonde__mem_table_next(const struct sonde__mem_table *table, uint32_t hash,
                                             size_t *at)
{
    while (table->slot_count != 0) {
        const struct sonde__mem_slot *slot =
            &table->slots[(hash + (*at)++) & (table->slot_count - 1)];
        if (slot->number == 0 || slot->hash == hash) {
            return slot->number;
        }
    }
    return 0;
}

/* The number `i` with this hash for which `is_same`, an expression of `i`, is true, or
 * SONDE__TABLE_NONE. A macro, to inline the comparison. */
#define SONDE__TABLE_FIND(table, hash, i, is_same)                                                 \
    __extension__({                                                                                \
        uint32_t sonde_found_ = SONDE__TABLE_NONE, sonde_next_;                                    \
        size_t sonde_at_ = 0;                                                                      \
        while ((sonde_next_ = sonde__mem_table_next(table, hash, &sonde_at_)) != 0) {              \
            uint32_t i = sonde_next_ - 1;                                                          \
            if (is_same) {                                                                         \
                sonde_found_ = i;                                                                  \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        sonde_found_;                                                                              \
    })

#endif
