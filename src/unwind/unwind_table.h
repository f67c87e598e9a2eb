// SPDX-License-Identifier: Apache-2.0
/* The layout of a compiled table, and its look-up.
 *
 * One block of memory without pointers:
 *
 *     header | pages: u32[page_count + 1] | rows | buckets: u16[page_count << (16 - shift)] | rules
 *
 * Rows are four bytes: low 16 bits of the address, index of the rule. The rows of a page of 64 KiB
 * are rows[pages[n]] up to rows[pages[n + 1]], sorted; the first one always stands at the start of
 * its page, so no look-up leaves its page. The last SONDE__ROW_GROUP rows of a page repeat the rule
 * in force at its last byte: so many rows may always be looked at together. A bucket of 1 << shift
 * bytes holds the index, in its page, of the row in force at its start: a look-up is two loads and
 * a count of few compares, which as a sum has no branch to be predicted wrongly.
 * Context: handler. */
#ifndef SONDE_UNWIND_TABLE_H
#define SONDE_UNWIND_TABLE_H

#include "unwind_compact.h"
#include "unwind_rules.h"

#define SONDE__PAGE_SHIFT       16
#define SONDE__BUCKET_SHIFT_MIN 6
#define SONDE__ROW_GROUP        4 /* rows compared at once */

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

/* The parts of a table, for many look-ups. */
struct sonde__table_view {
    const struct sonde__row *rows;
    const uint32_t *pages;
    const uint16_t *buckets;
    const struct sonde__rule *rules;
    uint64_t start;
    uint64_t size; /* bytes of code from start */
    unsigned bucket_shift;
};

static inline struct sonde__table_view sonde__table_view(const struct sonde__rules *table)
{
    return (struct sonde__table_view){
        .rows = sonde__table_rows(table),
        .pages = sonde__table_pages(table),
        .buckets = sonde__table_buckets(table),
        .rules = sonde__table_rules(table),
        .start = table->start,
        .size = (uint64_t)table->page_count << SONDE__PAGE_SHIFT,
        .bucket_shift = table->bucket_shift,
    };
}

/* In a wide bucket: skip to a row in force at or before `low`, and not far from the one sought. */
static inline const struct sonde__row *sonde__table_narrow(const struct sonde__table_view *view,
                                                           const struct sonde__row *row,
                                                           uint64_t offset)
{
    unsigned low = (unsigned)(offset & 0xffff);
    unsigned shift = view->bucket_shift;
    const uint32_t *pages = view->pages + (offset >> SONDE__PAGE_SHIFT);
    bool is_last = low >> shift == (1u << (SONDE__PAGE_SHIFT - shift)) - 1;
    size_t first = (size_t)(row - (view->rows + pages[0])); /* the answer is in [first, last] */
    size_t last =
        is_last ? pages[1] - pages[0] - 1 - SONDE__ROW_GROUP : view->buckets[(offset >> shift) + 1];
    const struct sonde__row *rows = view->rows + pages[0];
    while (last - first > SONDE__ROW_GROUP) {
        size_t middle = first + (last - first) / 2;
        if (rows[middle].low <= low) {
            first = middle;
        } else {
            last = middle;
        }
    }
    return rows + first;
}

/* The rule for an address, never null. */
static inline const struct sonde__rule *sonde__table_view_find(const struct sonde__table_view *view,
                                                               uint64_t vaddr)
{
    uint64_t offset = vaddr - view->start;
    if (offset >= view->size) {
        return view->rules + SONDE__RULE_INDEX_NONE;
    }
    unsigned low = (unsigned)(offset & 0xffff);
    const struct sonde__row *row = view->rows + view->pages[offset >> SONDE__PAGE_SHIFT] +
                                   view->buckets[offset >> view->bucket_shift];
    if (view->bucket_shift > SONDE__BUCKET_SHIFT_MIN) {
        row = sonde__table_narrow(view, row, offset);
    }
    for (;;) {
        unsigned passed = (unsigned)(row[1].low <= low) + (unsigned)(row[2].low <= low) +
                          (unsigned)(row[3].low <= low) + (unsigned)(row[4].low <= low);
        row += passed;
        /* At the last byte of a page all the rows that end it count, and there are no more. */
        if (passed < SONDE__ROW_GROUP || row->low == 0xffff) {
            return view->rules + row->rule;
        }
    }
}

static inline const struct sonde__rule *sonde__table_find(const struct sonde__rules *table,
                                                          uint64_t vaddr)
{
    struct sonde__table_view view = sonde__table_view(table);
    return sonde__table_view_find(&view, vaddr);
}

#endif
