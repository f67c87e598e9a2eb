// SPDX-License-Identifier: Apache-2.0
#include "unwind_rows.h"

#define BUCKETS_MAX (1u << (SONDE__PAGE_SHIFT - SONDE__BUCKET_SHIFT_MIN))

bool sonde__rows_close_page(struct sonde__rows *t)
{
    if (t->next_page == 0) {
        return true;
    }
    if (t->rows_max - t->row_count < SONDE__ROW_GROUP) {
        return false;
    }
    for (unsigned i = 0; i < SONDE__ROW_GROUP; i++) {
        t->rows[t->row_count++] = (struct sonde__row){UINT16_MAX, (uint16_t)t->current};
    }
    return true;
}

bool sonde__rows_open_pages(struct sonde__rows *t, uint64_t at)
{
    uint64_t page = at >> SONDE__PAGE_SHIFT;
    while (t->next_page <= page && t->next_page < t->page_count) {
        if (!sonde__rows_close_page(t) || t->row_count == t->rows_max) {
            return false;
        }
        t->pages[t->next_page++] = t->row_count;
        t->rows[t->row_count++] = (struct sonde__row){0, (uint16_t)t->current};
    }
    return true;
}

/* For each bucket of a page, find the row in force at its start, as an index from the page's first
 * row.
 *
 * Note each row at the next bucket start; the last of several counts. A bucket without one takes
 * the row of the bucket before. Neither loop has a branch that depends on how rows and buckets
 * alternate, which no processor can predict. */
static void find_rows(const struct sonde__row *rows, uint32_t count, unsigned shift,
                      uint32_t found[BUCKETS_MAX + 1])
{
    const unsigned buckets = 1u << (SONDE__PAGE_SHIFT - shift);
    const unsigned round_up = (1u << shift) - 1;
    uint32_t row = 0;
    for (unsigned i = 0; i < buckets; i++) {
        found[i] = 0;
    }
    for (uint32_t i = 1; i < count; i++) {
        found[(rows[i].low + round_up) >> shift] = i; /* BUCKETS_MAX: behind the last start */
    }
    for (unsigned i = 0; i < buckets; i++) {
        row = found[i] > row ? found[i] : row;
        found[i] = row;
    }
}

void sonde__rows_put_blocks(const struct sonde__rows *t, unsigned shift,
                            struct sonde__block *blocks)
{
    const unsigned per_page = 1u << (SONDE__BUCKET_SHIFT_MAX - shift);
    const unsigned per_block = 1u << SONDE__BLOCK_SHIFT;
    uint32_t found[BUCKETS_MAX + 1] = {0};
    for (uint32_t page = 0; page < t->page_count; page++) {
        uint32_t first = t->pages[page];
        find_rows(t->rows + first, t->pages[page + 1] - first, shift, found);
        for (unsigned i = 0; i < per_page; i++, blocks++) {
            const uint32_t *row = found + (size_t)i * per_block;
            blocks->row = first + row[0];
            for (unsigned bucket = 0; bucket < per_block; bucket++) {
                uint32_t after = row[bucket] - row[0];
                blocks->after[bucket] = (uint8_t)(after < UINT8_MAX ? after : UINT8_MAX);
            }
        }
    }
}
