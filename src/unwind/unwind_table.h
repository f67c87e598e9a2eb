// SPDX-License-Identifier: Apache-2.0
/* The layout of a compiled table, and its look-up.
 *
 * One block of memory without pointers:
 *
 *     header | pages: u32[page_count + 1] | rows | buckets: u16[page_count << (16 - shift)] | rules
 *
 * Rows are four bytes: low 16 bits of the address, index of the rule. The rows of a page of 64 KiB
 * are rows[pages[n]] up to rows[pages[n + 1]], sorted; the first one always stands at the start of
 * its page, so no look-up leaves its page. A bucket of 1 << shift bytes holds the index, in its
 * page, of the row in force at its start: a look-up is two loads and a few compares.
 * Context: handler. */
#ifndef SONDE_UNWIND_TABLE_H
#define SONDE_UNWIND_TABLE_H

#include "unwind_compact.h"
#include "unwind_rules.h"

#define SONDE__PAGE_SHIFT       16
#define SONDE__BUCKET_SHIFT_MIN 7

struct sonde__row {
    uint16_t low; /* address, low bits */
    uint16_t rule;
};

struct sonde__rules {
    uint64_t start; /* vaddr of the first page, a multiple of its size */
    uint32_t page_count;
    uint32_t row_count;
    uint32_t rule_count;
    uint32_t rows_offset; /* bytes from the header, as below */
    uint32_t buckets_offset;
    uint32_t rules_offset;
    uint32_t size_bytes;
    uint32_t bucket_shift;
};

/* Rules that every table has, at these indices. */
enum { SONDE__RULE_INDEX_NONE, SONDE__RULE_INDEX_OTHER };

static inline const uint32_t *sonde__table_pages(const struct sonde__rules *table)
{
    return (const uint32_t *)(table + 1);
}

static inline const struct sonde__row *sonde__table_rows(const struct sonde__rules *table)
{
    return (const struct sonde__row *)((const char *)table + table->rows_offset);
}

static inline const uint16_t *sonde__table_buckets(const struct sonde__rules *table)
{
    return (const uint16_t *)((const char *)table + table->buckets_offset);
}

static inline const struct sonde__rule *sonde__table_rules(const struct sonde__rules *table)
{
    return (const struct sonde__rule *)((const char *)table + table->rules_offset);
}

/* The rule for an address, never null. */
static inline const struct sonde__rule *sonde__table_find(const struct sonde__rules *table,
                                                          uint64_t vaddr)
{
    uint64_t offset = vaddr - table->start;
    uint64_t page = offset >> SONDE__PAGE_SHIFT;
    if (page >= table->page_count) {
        return sonde__table_rules(table) + SONDE__RULE_INDEX_NONE;
    }
    unsigned shift = table->bucket_shift;
    unsigned low = (unsigned)(offset & 0xffff);
    const uint16_t *bucket = sonde__table_buckets(table) + (offset >> shift);
    const uint32_t *pages = sonde__table_pages(table) + page;
    const struct sonde__row *rows = sonde__table_rows(table) + pages[0];
    bool is_last = low >> shift == (1u << (SONDE__PAGE_SHIFT - shift)) - 1;
    unsigned first = bucket[0]; /* the answer is in [first, last] */
    unsigned last = is_last ? pages[1] - pages[0] - 1 : bucket[1];
    while (last - first > 8) {
        unsigned middle = first + (last - first) / 2;
        if (rows[middle].low <= low) {
            first = middle;
        } else {
            last = middle;
        }
    }
    while (first < last && rows[first + 1].low <= low) {
        first++;
    }
    return sonde__table_rules(table) + rows[first].rule;
}

#endif
