// SPDX-License-Identifier: Apache-2.0
/* Compiles .eh_frame to a table, in one pass over the records in order of address.
 *
 * The order comes from the search table of .eh_frame_hdr; without one, the records are sorted in
 * the given memory. Counts alone bound the sizes (a row needs at least two bytes of .eh_frame),
 * so nothing is interpreted twice. The memory asked for is an upper bound, meant for pages that
 * cost nothing until touched. */
#include "base_status.h"
#include "unwind_plain.h"

/* Limit of distinct rules in a table; further ones become OTHER, which is slower but right. The
 * richest library seen has 350. */
#define RULES_MAX 4096

/* Limit of records examined, as for a scan in place. */
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

struct order {
    uint64_t start;
    uint64_t offset;
};

/* Limit of CIEs with a kept initial state. Linkers leave one or two for each language. Records
 * of other CIEs go through the interpreter. */
#define CIES_MAX 32

struct record {
    struct sonde__cfi_fde fde;          /* its cie is of the last record read in full */
    const struct sonde__plain_cie *cie; /* its own CIE; null: it is in fde */
};

struct builder {
    struct plan plan;
    struct sonde__rules *table;
    struct sonde__rows rows;
    struct order *order;
    uint32_t cie_count;
    uint32_t cie_last; /* found last */
    struct sonde__plain_cie cies[CIES_MAX];
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

/* Find the first start and the last end from the ends of the search table. */
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

/* Compute the sizes of the parts. A table that would be mostly index (records spread over
 * gigabytes) is not worth its memory: then walks search the image in place. */
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

/* Put the rows of any FDE from vaddr *covered up to `limit`. */
static bool put_rows(struct builder *b, const struct sonde__cfi_fde *fde, uint64_t limit,
                     uint64_t *covered)
{
    struct sonde__program *p = &b->compact.program;
    bool is_good = sonde__program_start(p, fde);
    while (is_good && *covered < limit && sonde__program_next(p)) {
        if (p->row_end <= *covered) {
            continue;
        }
        uint32_t index = sonde__rows_intern(&b->rows, sonde__compact_key(&b->compact));
        if (!sonde__rows_put(&b->rows, p->row_start - b->plan.start, index)) {
            return false;
        }
        *covered = p->row_end < limit ? p->row_end : limit;
    }
    return true;
}

/* Put the rows of one FDE up to `limit`, and the end of their range. */
static bool put_record(struct builder *b, struct record *record, uint64_t limit)
{
    struct sonde__cfi_fde *fde = &record->fde;
    const struct sonde__plain_cie *cie = record->cie;
    uint64_t base = b->plan.start;
    uint64_t covered = fde->start;
    limit = limit < fde->end ? limit : fde->end;
    if (cie != NULL && cie->is_plain &&
        !sonde__plain_put_rows(&b->rows, &b->compact, cie, fde, base, limit, &covered)) {
        return false;
    }
    if (covered < limit) {
        fde->cie = cie != NULL ? cie->cie : fde->cie;
        if (!put_rows(b, fde, limit, &covered)) {
            return false;
        }
    }
    return sonde__rows_put(&b->rows, covered - base, SONDE__RULE_INDEX_NONE);
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

/* Heap sort: in place, no quadratic case. */
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

static const struct sonde__plain_cie *find_cie(struct builder *b, uint64_t offset)
{
    if (b->cie_last < b->cie_count && b->cies[b->cie_last].cie.offset == offset) {
        return &b->cies[b->cie_last];
    }
    for (uint32_t i = 0; i < b->cie_count; i++) {
        if (b->cies[i].cie.offset == offset) {
            b->cie_last = i;
            return &b->cies[i];
        }
    }
    return NULL;
}

static const struct sonde__plain_cie *keep_cie(struct builder *b, const struct sonde__cfi_cie *cie)
{
    const struct sonde__plain_cie *kept = find_cie(b, cie->offset);
    if (kept == NULL && b->cie_count < CIES_MAX) {
        struct sonde__plain_cie *fresh = &b->cies[b->cie_count++];
        fresh->cie = *cie;
        sonde__plain_cie_init(fresh, &b->compact);
        kept = fresh;
    }
    return kept;
}

static bool read_record(struct builder *b, const struct sonde__cfi *cfi, unsigned arch,
                        uint64_t offset, struct record *record)
{
    uint64_t next = 0;
    uint64_t cie_offset = 0;
    if (sonde__cfi_fde_cie(cfi, offset, &cie_offset)) {
        record->cie = find_cie(b, cie_offset);
        if (record->cie != NULL &&
            sonde__cfi_fde_read_short(cfi, &record->cie->cie, offset, &record->fde)) {
            return true;
        }
    }
    if (sonde__cfi_record_read(cfi, arch, SONDE__CFI_EH_FRAME, offset, &record->fde, &next) !=
        SONDE__CFI_RECORD_FDE) {
        return false;
    }
    record->cie = keep_cie(b, &record->fde.cie);
    return true;
}

/* Read record `index` in order of address. False: unreadable. */
static bool read_in_order(struct builder *b, const struct sonde__cfi *cfi, unsigned arch,
                          uint32_t index, struct record *record)
{
    uint64_t start = 0;
    uint64_t offset = 0;
    if (b->plan.search.count != 0) {
        sonde__cfi_search_entry(cfi, &b->plan.search, index, &start, &offset);
    } else {
        offset = b->order[index].offset;
    }
    return read_record(b, cfi, arch, offset, record);
}

/* Put all records; each ends where the next one starts at the latest. */
static bool put_records(struct builder *b, const struct sonde__cfi *cfi, unsigned arch)
{
    struct record records[2];
    struct record *current = NULL;
    unsigned spare = 0;
    records[0].fde.cie.program = NULL;
    records[1].fde.cie.program = NULL;
    for (uint32_t i = 0; i < b->plan.fde_count; i++) {
        struct record *next = &records[spare];
        if (!read_in_order(b, cfi, arch, i, next) || next->fde.start < b->plan.start ||
            (current != NULL && next->fde.start < current->fde.start)) {
            continue; /* malformed: skip it */
        }
        if (current != NULL && !put_record(b, current, next->fde.start)) {
            return false;
        }
        current = next;
        spare ^= 1;
    }
    return current != NULL && put_record(b, current, current->fde.end);
}

/* Write the blocks and then the rules. This completes the table. */
static void finish(struct builder *b)
{
    struct sonde__rules *table = b->table;
    const struct sonde__rows *rows = &b->rows;
    size_t rows_end = table->rows_offset + rows->row_count * sizeof(struct sonde__row);
    rows->pages[b->plan.page_count] = rows->row_count;
    table->blocks_offset = (uint32_t)rows_end;
    sonde__rows_put_blocks(rows, b->plan.bucket_shift,
                           (struct sonde__block *)((char *)table + rows_end));
    table->rules_offset = (uint32_t)(rows_end + index_bytes(&b->plan));
    struct sonde__rule *rules = (struct sonde__rule *)((char *)table + table->rules_offset);
    for (uint32_t i = 0; i < rows->rule_count; i++) {
        rules[i] = sonde__rule_of_key(rows->keys[i]);
    }
    table->start = b->plan.start;
    table->page_count = b->plan.page_count;
    table->row_count = rows->row_count;
    table->rule_count = rows->rule_count;
    table->bucket_shift = b->plan.bucket_shift;
    table->size_bytes =
        (uint32_t)(table->rules_offset + rows->rule_count * sizeof(struct sonde__rule));
}

/* Lay out the parts: those that stay from the front, those for building from the back. */
static void lay_out(struct builder *b, void *memory, size_t size)
{
    const struct plan *plan = &b->plan;
    struct sonde__rows *rows = &b->rows;
    char *back = (char *)memory + size / 8 * 8;
    b->table = memory;
    rows->rows = (struct sonde__row *)(b->table + 1);
    b->table->rows_offset = (uint32_t)((char *)rows->rows - (char *)memory);
    if (plan->search.count == 0) {
        back -= plan->fde_count * sizeof(struct order);
        b->order = (struct order *)back;
    }
    back -= plan->hash_size * sizeof(uint16_t);
    rows->hash = (uint16_t *)back;
    back -= round_up(plan->rules_max * sizeof(struct sonde__rule_key), 8);
    rows->keys = (struct sonde__rule_key *)back;
    rows->pages = (uint32_t *)back - (plan->page_count + 1);
    for (uint32_t i = 0; i < plan->hash_size; i++) {
        rows->hash[i] = 0;
    }
    rows->row_count = 0;
    rows->rows_max = plan->rows_max;
    rows->page_count = plan->page_count;
    rows->next_page = 0;
    rows->rule_count = 0;
    rows->rules_max = plan->rules_max;
    rows->hash_mask = plan->hash_size - 1;
    rows->current = SONDE__RULE_INDEX_NONE;
    (void)sonde__rows_intern(rows, (struct sonde__rule_key){.kinds = SONDE__RULE_NONE});
    (void)sonde__rows_intern(rows, (struct sonde__rule_key){.kinds = SONDE__RULE_OTHER});
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
    b.cie_count = 0;
    b.cie_last = 0;
    sonde__compact_init(&b.compact, cfi, arch);
    if (b.plan.search.count == 0) {
        sort_records(&b, cfi, arch);
    }
    if (!put_records(&b, cfi, arch) ||
        !sonde__rows_open_pages(&b.rows, ((uint64_t)b.plan.page_count << SONDE__PAGE_SHIFT) - 1) ||
        !sonde__rows_close_page(&b.rows)) {
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
