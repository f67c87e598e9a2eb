// SPDX-License-Identifier: Apache-2.0
#include "export_otlp_samples.h"

#include "mem_heap.h"
#include "mem_sort.h"

/* The number of a stack is its index in the list; 0 is none. False: no memory. */
static bool number_of(struct sonde__export_otlp_samples *s, struct sonde__export_otlp_stack stack,
                      uint32_t *ret_number)
{
    uint32_t hash = sonde__mem_hash((uint64_t)stack.node << 32 | stack.leaf);
    uint32_t number = SONDE__TABLE_FIND(
        &s->table, hash, i, s->stacks[i].node == stack.node && s->stacks[i].leaf == stack.leaf);
    if (number == SONDE__TABLE_NONE) {
        number = s->stack_count;
        if (!sonde__mem_grow(&s->stacks, s->stack_count, &s->stack_capacity, sizeof *s->stacks) ||
            !sonde__mem_table_add(&s->table, hash, number)) {
            return false;
        }
        s->stacks[s->stack_count++] = stack;
    }
    *ret_number = number;
    return true;
}

static bool take(void *ctx, const struct sonde__export_sample *sample)
{
    struct sonde__export_otlp_samples *s = ctx;
    const struct sonde__export_otlp_stack stack = {sample->stack, sample->leaf};
    uint32_t number = 0;
    if (s->entry_count == UINT32_MAX || !number_of(s, stack, &number) ||
        !sonde__mem_grow(&s->entries, s->entry_count, &s->entry_capacity, sizeof *s->entries)) {
        s->failed = true;
        return false;
    }
    s->entries[s->entry_count] = (struct sonde__export_otlp_entry){
        (uint64_t)number << 32 | s->entry_count, sample->at_ns, sample->weight, sample->tid};
    s->entry_count++;
    return true;
}

enum sonde_status sonde__export_otlp_gather(struct sonde__export_otlp_samples *s,
                                            const struct sonde__export_set *set)
{
    struct sonde__export_series series;
    *s = (struct sonde__export_otlp_samples){.set = set};
    if (!sonde__mem_grow(&s->stacks, s->stack_count, &s->stack_capacity, sizeof *s->stacks)) {
        return SONDE_MEMORY;
    }
    s->stacks[s->stack_count++] = (struct sonde__export_otlp_stack){0, 0}; /* in no table */
    for (uint32_t at = 0; !s->failed && sonde__export_next(set, &at, &series);) {
        if (!sonde__mem_grow(&s->series, s->series_count, &s->series_capacity, sizeof *s->series)) {
            return SONDE_MEMORY;
        }
        uint32_t first = s->entry_count;
        sonde__export_each(set, &series, take, s);
        s->series[s->series_count++] =
            (struct sonde__export_otlp_series){series, first, s->entry_count - first};
        if (s->entry_count != first) {
            SONDE__SORT_BY(s->entries + first, s->entry_count - first, key);
        }
    }
    return s->failed ? SONDE_MEMORY : SONDE_OK;
}

void sonde__export_otlp_done(struct sonde__export_otlp_samples *s)
{
    sonde__mem_free(s->stacks);
    sonde__mem_free(s->entries);
    sonde__mem_free(s->series);
    sonde__mem_table_done(&s->table);
    *s = (struct sonde__export_otlp_samples){0};
}
