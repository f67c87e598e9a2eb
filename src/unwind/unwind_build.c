// SPDX-License-Identifier: Apache-2.0
/* .eh_frame -> table, in one pass over the records in order of address.
 *
 * The order comes from the search table of .eh_frame_hdr; without one the records are sorted in
 * the given memory. Sizes are bounded from counts alone (a row needs at least two bytes of
 * .eh_frame), so nothing is interpreted twice: the memory asked for is an upper bound, meant for
 * pages that cost nothing until touched. */
#include "unwind_table.h"

#include "base_status.h"

/* Distinct rules of a table at most; what comes later is OTHER, which is slower and right. The
 * richest library seen has 350. */
#define RULES_MAX 4096

/* Records examined at most, as for a scan in place. */
#define RECORDS_MAX (1u << 22)

struct plan {
    struct sonde__cfi_search search; /* count 0: none */
    uint64_t start;                  /* vaddr, page-aligned */
    uint32_t fde_count;
    uint32_t page_count;
    uint32_t bucket_shift;
    uint32_t rows_max;
    uint32_t rules_max;
    uint32_t hash_size; /* a power of two */
    size_t size;        /* bytes of memory needed; 0: no table */
};

struct order { /* one record to sort */
    uint64_t start;
    uint64_t offset;
};

struct builder {
    struct plan plan;
    struct sonde__rules *table;
    uint32_t *pages; /* the first row of each; one past the last row */
    struct sonde__row *rows;
    uint32_t row_count;
    uint32_t next_page; /* the first page that has no rows yet */
    uint16_t current;   /* rule of the last row */
    struct sonde__rule_key *keys;
    uint32_t rule_count;
    uint16_t *hash; /* rule index + 1; 0: free */
    struct order *order;
    struct sonde__compact compact;
};

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static size_t index_bytes(const struct plan *plan)
{
    return ((size_t)plan->page_count << (SONDE__BUCKET_SHIFT_MAX - plan->bucket_shift)) *
           sizeof(struct sonde__block);
}

/* First start and last end from the ends of the search table. */
static bool span_by_search(const struct sonde__cfi *cfi, unsigned arch, struct plan *plan,
                           uint64_t *ret_start, uint64_t *ret_end)
{
    struct sonde__cfi_fde fde;
    uint64_t start = 0;
    uint64_t offset = 0;
    uint64_t next = 0;
    uint32_t left = plan->search.count;
    sonde__cfi_search_entry(cfi, &plan->search, 0, ret_start, &offset);
    plan->fde_count = left;
    fde.cie.program = NULL;
    while (left-- > 0) {
        sonde__cfi_search_entry(cfi, &plan->search, left, &start, &offset);
        if (sonde__cfi_record_read(cfi, arch, SONDE__CFI_EH_FRAME, offset, &fde, &next) ==
            SONDE__CFI_RECORD_FDE) {
            *ret_end = fde.end;
            return fde.end > *ret_start;
        }
    }
    return false;
}

static bool span_by_scan(const struct sonde__cfi *cfi, unsigned arch, struct plan *plan,
                         uint64_t *ret_start, uint64_t *ret_end)
{
    struct sonde__cfi_fde fde;
    uint64_t offset = 0;
    *ret_start = UINT64_MAX;
    *ret_end = 0;
    fde.cie.program = NULL;
    for (uint32_t i = 0; i < RECORDS_MAX; i++) {
        uint64_t next = 0;
        enum sonde__cfi_record record =
            sonde__cfi_record_read(cfi, arch, SONDE__CFI_EH_FRAME, offset, &fde, &next);
        if (record == SONDE__CFI_RECORD_END) {
            break;
        }
        if (record == SONDE__CFI_RECORD_FDE) {
            plan->fde_count++;
            *ret_start = fde.start < *ret_start ? fde.start : *ret_start;
            *ret_end = fde.end > *ret_end ? fde.end : *ret_end;
        }
        offset = next;
    }
    return plan->fde_count > 0;
}

/* Sizes of the parts. A table that would be mostly index (records strewn over gigabytes) is not
 * worth its memory; the image is then walked in place. */
static void plan_sizes(const struct sonde__cfi *cfi, uint64_t span, struct plan *plan)
{
    uint64_t page_count = (span >> SONDE__PAGE_SHIFT) + 1;
    if (page_count > (uint64_t)plan->fde_count * 4 + 1024 ||
        cfi->eh_frame_size / 2 + page_count * (1 + SONDE__ROW_GROUP) > UINT32_MAX / 8) {
        return;
    }
    plan->page_count = (uint32_t)page_count;
    plan->bucket_shift = SONDE__BUCKET_SHIFT_MIN;
    while (plan->bucket_shift < SONDE__BUCKET_SHIFT_MAX &&
           index_bytes(plan) > (size_t)plan->fde_count * 8 + 32) {
        plan->bucket_shift++;
    }
    plan->rows_max = (uint32_t)(cfi->eh_frame_size / 2 + page_count * (1 + SONDE__ROW_GROUP) + 16);
    plan->rules_max = plan->fde_count > RULES_MAX / 8 ? RULES_MAX : plan->fde_count * 8 + 16;
    plan->hash_size = 64;
    while (plan->hash_size < plan->rules_max * 2) {
        plan->hash_size *= 2;
    }
    size_t size = sizeof(struct sonde__rules) + (page_count + 1) * sizeof(uint32_t) +
                  (size_t)plan->rows_max * sizeof(struct sonde__row);
    size += round_up(index_bytes(plan), 8);
    size += plan->rules_max * (sizeof(struct sonde__rule) + sizeof(struct sonde__rule_key));
    size += plan->hash_size * sizeof(uint16_t);
    if (plan->search.count == 0) {
        size += plan->fde_count * sizeof(struct order);
    }
    plan->size = round_up(size, 8) + 32; /* slack for the alignment of each part */
}

static enum sonde_status make_plan(const struct sonde__cfi *cfi, unsigned arch,
                                   struct plan *ret_plan)
{
    struct plan plan = {.size = 0};
    uint64_t start = 0;
    uint64_t end = 0;
    *ret_plan = plan;
    if (cfi->eh_frame == NULL || cfi->eh_frame_size < 4) {
        return SONDE_OK;
    }
    bool good =
        sonde__cfi_search_open(cfi, &plan.search) && span_by_search(cfi, arch, &plan, &start, &end);
    if (!good) {
        plan.search.count = 0;
        plan.fde_count = 0;
        good = span_by_scan(cfi, arch, &plan, &start, &end);
    }
    if (!good) {
        return SONDE_CORRUPT;
    }
    plan.start = start >> SONDE__PAGE_SHIFT << SONDE__PAGE_SHIFT;
    plan_sizes(cfi, end - plan.start, &plan);
    *ret_plan = plan;
    return SONDE_OK;
}

enum sonde_status sonde__unwind_rules_size(const struct sonde__cfi *cfi, unsigned arch,
                                           size_t *ret_size)
{
    struct plan plan;
    enum sonde_status status = make_plan(cfi, arch, &plan);
    if (status == SONDE_OK) {
        *ret_size = plan.size;
    }
    return status;
}

/* Distances are multiples of eight and few: the high bits of the product mix them all. */
static inline uint32_t hash_key(struct sonde__rule_key key)
{
    uint64_t word = (uint64_t)key.cfa_offset | (uint64_t)key.offsets << 32;
    return (uint32_t)(((word ^ (uint64_t)key.kinds << 13) * 0x9e3779b97f4a7c15) >> 44);
}

static inline bool equal_keys(struct sonde__rule_key a, struct sonde__rule_key b)
{
    return ((a.cfa_offset ^ b.cfa_offset) | (a.offsets ^ b.offsets) | (a.kinds ^ b.kinds)) == 0;
}

/* The index of a rule, which is added when it is new. */
static inline uint16_t intern(struct builder *b, struct sonde__rule_key key)
{
    uint32_t mask = b->plan.hash_size - 1;
    uint32_t slot = hash_key(key) & mask;
    while (b->hash[slot] != 0) {
        uint16_t index = (uint16_t)(b->hash[slot] - 1);
        if (equal_keys(b->keys[index], key)) {
            return index;
        }
        slot = (slot + 1) & mask;
    }
    if (b->rule_count == b->plan.rules_max) {
        return SONDE__RULE_INDEX_OTHER;
    }
    b->keys[b->rule_count] = key;
    b->hash[slot] = (uint16_t)++b->rule_count;
    return (uint16_t)(b->rule_count - 1);
}

/* End the last page that has rows with copies of the rule in force, as look-ups need them. */
static bool close_page(struct builder *b)
{
    if (b->next_page == 0) {
        return true;
    }
    if (b->plan.rows_max - b->row_count < SONDE__ROW_GROUP) {
        return false;
    }
    for (unsigned i = 0; i < SONDE__ROW_GROUP; i++) {
        b->rows[b->row_count++] = (struct sonde__row){UINT16_MAX, b->current};
    }
    return true;
}

/* Start every page up to the one of offset `at` with the rule in force. */
static bool open_pages(struct builder *b, uint64_t at)
{
    uint64_t page = at >> SONDE__PAGE_SHIFT;
    while (b->next_page <= page && b->next_page < b->plan.page_count) {
        if (!close_page(b) || b->row_count == b->plan.rows_max) {
            return false;
        }
        b->pages[b->next_page++] = b->row_count;
        b->rows[b->row_count++] = (struct sonde__row){0, b->current};
    }
    return true;
}

/* From offset `at` on `rule` is in force; offsets come in order. False: no room. */
static inline bool put_row(struct builder *b, uint64_t at, uint16_t rule)
{
    uint64_t page = at >> SONDE__PAGE_SHIFT;
    if (page >= b->plan.page_count || (rule == b->current && b->row_count > 0)) {
        return true;
    }
    if (page >= b->next_page && !open_pages(b, at)) {
        return false;
    }
    b->current = rule;
    struct sonde__row *last = &b->rows[b->row_count - 1];
    if (last->low == (at & 0xffff)) {
        last->rule = rule; /* the row before it was empty */
        return true;
    }
    if (b->row_count == b->plan.rows_max) {
        return false;
    }
    b->rows[b->row_count++] = (struct sonde__row){(uint16_t)at, rule};
    return true;
}

/* The rows of one FDE, up to `limit`, and the end of what they cover. */
static bool put_fde(struct builder *b, const struct sonde__cfi_fde *fde, uint64_t limit)
{
    struct sonde__program *p = &b->compact.program;
    uint64_t covered = fde->start;
    limit = limit < fde->end ? limit : fde->end;
    if (sonde__program_start(p, fde)) {
        while (covered < limit && sonde__program_next(p)) {
            uint16_t index = intern(b, sonde__compact_key(&b->compact));
            if (!put_row(b, p->row_start - b->plan.start, index)) {
                return false;
            }
            covered = p->row_end;
        }
    }
    covered = covered < limit ? covered : limit;
    return put_row(b, covered - b->plan.start, SONDE__RULE_INDEX_NONE);
}

static bool is_before(const struct order *a, const struct order *b)
{
    return a->start < b->start || (a->start == b->start && a->offset < b->offset);
}

static void sift_down(struct order *order, uint32_t root, uint32_t count)
{
    for (;;) {
        uint32_t child = root * 2 + 1;
        if (child >= count) {
            return;
        }
        if (child + 1 < count && is_before(&order[child], &order[child + 1])) {
            child++;
        }
        if (!is_before(&order[root], &order[child])) {
            return;
        }
        struct order moved = order[root];
        order[root] = order[child];
        order[child] = moved;
        root = child;
    }
}

/* Heap sort: in place, no worst case. */
static void sort(struct order *order, uint32_t count)
{
    for (uint32_t i = count / 2; i > 0; i--) {
        sift_down(order, i - 1, count);
    }
    for (uint32_t left = count; left > 1; left--) {
        struct order moved = order[0];
        order[0] = order[left - 1];
        order[left - 1] = moved;
        sift_down(order, 0, left - 1);
    }
}

static void sort_records(struct builder *b, const struct sonde__cfi *cfi, unsigned arch)
{
    struct sonde__cfi_fde fde;
    uint64_t offset = 0;
    uint32_t count = 0;
    fde.cie.program = NULL;
    while (count < b->plan.fde_count) {
        uint64_t next = 0;
        enum sonde__cfi_record record =
            sonde__cfi_record_read(cfi, arch, SONDE__CFI_EH_FRAME, offset, &fde, &next);
        if (record == SONDE__CFI_RECORD_END) {
            break;
        }
        if (record == SONDE__CFI_RECORD_FDE) {
            b->order[count++] = (struct order){fde.start, offset};
        }
        offset = next;
    }
    b->plan.fde_count = count;
    sort(b->order, count);
}

/* Record `index` in order of address. False: there is no record to be read. */
static bool read_in_order(const struct builder *b, const struct sonde__cfi *cfi, unsigned arch,
                          uint32_t index, struct sonde__cfi_fde *fde)
{
    uint64_t start = 0;
    uint64_t offset = 0;
    uint64_t next = 0;
    if (b->plan.search.count != 0) {
        sonde__cfi_search_entry(cfi, &b->plan.search, index, &start, &offset);
    } else {
        offset = b->order[index].offset;
    }
    return sonde__cfi_record_read(cfi, arch, SONDE__CFI_EH_FRAME, offset, fde, &next) ==
           SONDE__CFI_RECORD_FDE;
}

/* All records; each is cut where the next one starts. */
static bool put_records(struct builder *b, const struct sonde__cfi *cfi, unsigned arch)
{
    struct sonde__cfi_fde fdes[2];
    struct sonde__cfi_fde *current = NULL;
    unsigned spare = 0;
    fdes[0].cie.program = NULL;
    fdes[1].cie.program = NULL;
    for (uint32_t i = 0; i < b->plan.fde_count; i++) {
        struct sonde__cfi_fde *next = &fdes[spare];
        if (!read_in_order(b, cfi, arch, i, next) || next->start < b->plan.start ||
            (current != NULL && next->start < current->start)) {
            continue; /* malformed: costs itself */
        }
        if (current != NULL && !put_fde(b, current, next->start)) {
            return false;
        }
        current = next;
        spare ^= 1;
    }
    return current != NULL && put_fde(b, current, current->end);
}

/* The blocks of one page. Returns where those of the next one go. */
static struct sonde__block *put_blocks(const struct builder *b, uint32_t page,
                                       struct sonde__block *block)
{
    const uint32_t bucket = 1u << b->plan.bucket_shift;
    const struct sonde__row *rows = b->rows;
    uint32_t row = b->pages[page];
    uint32_t last = b->pages[page + 1] - 1;
    for (uint32_t at = 0; at < 1u << SONDE__PAGE_SHIFT; block++) {
        for (uint32_t i = 0; i < 1u << SONDE__BLOCK_SHIFT; i++, at += bucket) {
            while (row < last && rows[row + 1].low <= at) {
                row++;
            }
            if (i == 0) {
                block->row = row;
            }
            uint32_t after = row - block->row;
            block->after[i] = (uint8_t)(after < UINT8_MAX ? after : UINT8_MAX);
        }
    }
    return block;
}

/* Blocks, and the rules behind them: the table is complete afterwards. */
static void finish(struct builder *b)
{
    struct sonde__rules *table = b->table;
    size_t rows_end = table->rows_offset + b->row_count * sizeof(struct sonde__row);
    struct sonde__block *block = (struct sonde__block *)((char *)table + rows_end);
    b->pages[b->plan.page_count] = b->row_count;
    table->blocks_offset = (uint32_t)rows_end;
    for (uint32_t page = 0; page < b->plan.page_count; page++) {
        block = put_blocks(b, page, block);
    }
    table->rules_offset = (uint32_t)(rows_end + index_bytes(&b->plan));
    struct sonde__rule *rules = (struct sonde__rule *)((char *)table + table->rules_offset);
    for (uint32_t i = 0; i < b->rule_count; i++) {
        rules[i] = sonde__rule_of_key(b->keys[i]);
    }
    table->start = b->plan.start;
    table->page_count = b->plan.page_count;
    table->row_count = b->row_count;
    table->rule_count = b->rule_count;
    table->bucket_shift = b->plan.bucket_shift;
    table->size_bytes =
        (uint32_t)(table->rules_offset + b->rule_count * sizeof(struct sonde__rule));
}

/* Lay the parts out: what stays from the front, what is needed while building from the back. */
static void lay_out(struct builder *b, void *memory, size_t size)
{
    const struct plan *plan = &b->plan;
    char *back = (char *)memory + size / 8 * 8;
    b->table = memory;
    b->rows = (struct sonde__row *)(b->table + 1);
    b->table->rows_offset = (uint32_t)((char *)b->rows - (char *)memory);
    if (plan->search.count == 0) {
        back -= plan->fde_count * sizeof(struct order);
        b->order = (struct order *)back;
    }
    back -= plan->hash_size * sizeof(uint16_t);
    b->hash = (uint16_t *)back;
    back -= round_up(plan->rules_max * sizeof(struct sonde__rule_key), 8);
    b->keys = (struct sonde__rule_key *)back;
    b->pages = (uint32_t *)back - (plan->page_count + 1);
    for (uint32_t i = 0; i < plan->hash_size; i++) {
        b->hash[i] = 0;
    }
}

enum sonde_status sonde__unwind_rules_build(const struct sonde__cfi *cfi, unsigned arch,
                                            void *memory, size_t size,
                                            const struct sonde__rules **ret_rules)
{
    struct builder b;
    SONDE_TRY(make_plan(cfi, arch, &b.plan));
    if (b.plan.size == 0) {
        return SONDE_CORRUPT;
    }
    if (size < b.plan.size || ((uintptr_t)memory & 7) != 0) {
        return SONDE_LIMIT;
    }
    lay_out(&b, memory, size);
    b.row_count = 0;
    b.next_page = 0;
    b.rule_count = 0;
    (void)intern(&b, (struct sonde__rule_key){.kinds = SONDE__RULE_NONE});
    (void)intern(&b, (struct sonde__rule_key){.kinds = SONDE__RULE_OTHER});
    b.current = SONDE__RULE_INDEX_NONE;
    sonde__compact_init(&b.compact, cfi, arch);
    if (b.plan.search.count == 0) {
        sort_records(&b, cfi, arch);
    }
    if (!put_records(&b, cfi, arch) ||
        !open_pages(&b, ((uint64_t)b.plan.page_count << SONDE__PAGE_SHIFT) - 1) ||
        !close_page(&b)) {
        return SONDE_CORRUPT;
    }
    finish(&b);
    *ret_rules = b.table;
    return SONDE_OK;
}

size_t sonde__unwind_rules_bytes(const struct sonde__rules *rules)
{
    return rules->size_bytes;
}
