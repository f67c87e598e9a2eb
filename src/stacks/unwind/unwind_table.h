// SPDX-License-Identifier: Apache-2.0
/* The layout of a compiled table, and its look-up.
 *
 * One block of memory without pointers:
 *
 *     header | rows | blocks[page_count << (12 - shift)] | rules
 *
 * A row has four bytes: the low 16 bits of its address, and the index of its rule. The rows of a
 * page of 64 KiB are contiguous and sorted. The first is at the start of the page, so no look-up
 * leaves its page. The last SONDE__ROW_GROUP rows of a page repeat the rule in force at its last
 * byte: a look-up may always compare that many rows at once.
 *
 * A bucket is 1 << shift bytes of code, a block sixteen buckets. A block holds the index of the row
 * in force at its start, and a byte for each bucket: how many rows further the row in force there
 * is. So a look-up reads one place of the index, then rows. It finds its row among them by a sum of
 * compares, without a branch to mispredict. (Wider buckets with a binary search cost two
 * mispredicted branches a frame, more than all the rest.)
 * Context: handler. */
#ifndef SONDE_UNWIND_TABLE_H
#define SONDE_UNWIND_TABLE_H

#include "unwind_compact.h"
#include "unwind_rules.h"

#define SONDE__PAGE_SHIFT       16
#define SONDE__BUCKET_SHIFT_MIN 6
#define SONDE__BLOCK_SHIFT      4 /* buckets of a block */
#define SONDE__BUCKET_SHIFT_MAX (SONDE__PAGE_SHIFT - SONDE__BLOCK_SHIFT)
#define SONDE__ROW_GROUP        8 /* rows compared at once */

struct sonde__row {
    uint16_t low; /* address, low bits */
    uint16_t rule;
};

struct sonde__block {
    uint32_t row;                           /* in force at the block's start */
    uint8_t after[1 << SONDE__BLOCK_SHIFT]; /* rows from there to the bucket's; 255: 255 or more */
};

struct sonde__rules {
    uint64_t start; /* vaddr of the first page, a multiple of its size */
    uint32_t page_count;
    uint32_t row_count;
    uint32_t rule_count;
    uint32_t rows_offset; /* bytes from the header, as are the two below */
    uint32_t blocks_offset;
    uint32_t rules_offset;
    uint32_t size_bytes;
    uint32_t bucket_shift;
};

/* Every table has these rules at these indices. */
enum { SONDE__RULE_INDEX_NONE, SONDE__RULE_INDEX_OTHER };

static inline const struct sonde__row *sonde__table_rows(const struct sonde__rules *table)
{
    return (const struct sonde__row *)((const char *)table + table->rows_offset);
}

static inline const struct sonde__block *sonde__table_blocks(const struct sonde__rules *table)
{
    return (const struct sonde__block *)((const char *)table + table->blocks_offset);
}

static inline const struct sonde__rule *sonde__table_rules(const struct sonde__rules *table)
{
    return (const struct sonde__rule *)((const char *)table + table->rules_offset);
}

/* The parts of a table, for many look-ups. */
struct sonde__table_view {
    const struct sonde__row *rows;
    const struct sonde__block *blocks;
    const struct sonde__rule *rules;
    uint64_t start;
    uint64_t size; /* bytes of code from start */
    unsigned bucket_shift;
};

static inline struct sonde__table_view sonde__table_view(const struct sonde__rules *table)
{
    return (struct sonde__table_view){
        .rows = sonde__table_rows(table),
        .blocks = sonde__table_blocks(table),
        .rules = sonde__table_rules(table),
        .start = table->start,
        .size = (uint64_t)table->page_count << SONDE__PAGE_SHIFT,
        .bucket_shift = table->bucket_shift,
    };
}

/* How many of the SONDE__ROW_GROUP rows after `row` begin at or before `low`. */
static inline unsigned sonde__table_count(const struct sonde__row *row, unsigned low)
{
    unsigned count = 0;
    _Static_assert(SONDE__ROW_GROUP == 8, "as many compares as rows");
    count += (unsigned)(row[1].low <= low) + (unsigned)(row[2].low <= low);
    count += (unsigned)(row[3].low <= low) + (unsigned)(row[4].low <= low);
    count += (unsigned)(row[5].low <= low) + (unsigned)(row[6].low <= low);
    count += (unsigned)(row[7].low <= low) + (unsigned)(row[8].low <= low);
    return count;
}

/* Find the rule for an offset below view->size. Never null. */
static inline const struct sonde__rule *sonde__table_at(const struct sonde__table_view *view,
                                                        uint64_t offset)
{
    unsigned low = (unsigned)(offset & 0xffff);
    uint64_t bucket = offset >> view->bucket_shift;
    const struct sonde__block *block = view->blocks + (bucket >> SONDE__BLOCK_SHIFT);
    const struct sonde__row *row =
        view->rows + block->row + block->after[bucket & ((1 << SONDE__BLOCK_SHIFT) - 1)];
    for (;;) {
        unsigned passed = sonde__table_count(row, low);
        row += passed;
        /* At the last byte of a page, all of its last rows count, and there are no more. */
        if (passed < SONDE__ROW_GROUP || row->low == 0xffff) {
            return view->rules + row->rule;
        }
    }
}

/* Find the rule for an address. Never null. */
static inline const struct sonde__rule *sonde__table_find(const struct sonde__rules *table,
                                                          uint64_t vaddr)
{
    struct sonde__table_view view = sonde__table_view(table);
    uint64_t offset = vaddr - view.start;
    return offset < view.size ? sonde__table_at(&view, offset)
                              : view.rules + SONDE__RULE_INDEX_NONE;
}

#endif
