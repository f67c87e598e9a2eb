// SPDX-License-Identifier: Apache-2.0
/* The rows and the rules of a table that is being built.
 *
 * Rows come in order of address. Each page starts with its own row and ends as look-ups need it
 * (unwind_table.h). A new rule is added to the distinct ones; without room it becomes OTHER,
 * which is slower but right. Private to the compiler of tables. */
#ifndef SONDE_UNWIND_ROWS_H
#define SONDE_UNWIND_ROWS_H

#include "unwind_table.h"

struct sonde__rows {
    struct sonde__row *rows;
    uint32_t *pages; /* the first row of each; one past the last row */
    struct sonde__rule_key *keys;
    uint16_t *hash; /* rule index + 1; 0: free */
    uint32_t row_count;
    uint32_t rows_max;
    uint32_t page_count;
    uint32_t next_page; /* the first page that has no rows yet */
    uint32_t rule_count;
    uint32_t rules_max;
    uint32_t hash_mask; /* a power of two, minus one */
    uint32_t current;   /* rule of the last row */
};

/* Distances are multiples of eight and few: the high bits of the product mix all of them. */
static inline uint32_t sonde__rows_hash(struct sonde__rule_key key)
{
    uint64_t word = (uint64_t)key.cfa_offset | (uint64_t)key.offsets << 32;
    return (uint32_t)(((word ^ (uint64_t)key.kinds << 13) * 0x9e3779b97f4a7c15) >> 44);
}

static inline bool sonde__rule_key_equal(struct sonde__rule_key a, struct sonde__rule_key b)
{
    return ((a.cfa_offset ^ b.cfa_offset) | (a.offsets ^ b.offsets) | (a.kinds ^ b.kinds)) == 0;
}

/* The index of a rule; a new one is added. */
static inline uint32_t sonde__rows_intern(struct sonde__rows *t, struct sonde__rule_key key)
{
    uint32_t slot = sonde__rows_hash(key) & t->hash_mask;
    while (t->hash[slot] != 0) {
        uint32_t index = t->hash[slot] - 1u;
        if (sonde__rule_key_equal(t->keys[index], key)) {
            return index;
        }
        slot = (slot + 1) & t->hash_mask;
    }
    if (t->rule_count == t->rules_max) {
        return SONDE__RULE_INDEX_OTHER;
    }
    t->keys[t->rule_count] = key;
    t->hash[slot] = (uint16_t)++t->rule_count;
    return t->rule_count - 1;
}

/* Start the pages up to offset `at` with the current rule, and end those before.
 * False: no room. */
bool sonde__rows_open_pages(struct sonde__rows *t, uint64_t at);

/* End the last page. False: no room. */
bool sonde__rows_close_page(struct sonde__rows *t);

/* `rule` applies from offset `at` on, counted from the first page. Offsets ascend.
 * False: no room. */
static inline bool sonde__rows_put(struct sonde__rows *t, uint64_t at, uint32_t rule)
{
    uint64_t page = at >> SONDE__PAGE_SHIFT;
    if (rule == t->current && t->row_count > 0) {
        return true;
    }
    if (page >= t->next_page) {
        if (page >= t->page_count) {
            return true;
        }
        if (!sonde__rows_open_pages(t, at)) {
            return false;
        }
    }
    t->current = rule;
    struct sonde__row *last = &t->rows[t->row_count - 1];
    if (last->low == (at & 0xffff)) {
        last->rule = (uint16_t)rule; /* the row before it was empty */
        return true;
    }
    if (t->row_count == t->rows_max) {
        return false;
    }
    t->rows[t->row_count++] = (struct sonde__row){(uint16_t)at, (uint16_t)rule};
    return true;
}

/* The index of all rows, with buckets of 1 << shift bytes. */
void sonde__rows_put_blocks(const struct sonde__rows *t, unsigned shift,
                            struct sonde__block *blocks);

#endif
