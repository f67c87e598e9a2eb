// SPDX-License-Identifier: Apache-2.0
#include "report_rule_values.h"

#include <stdlib.h>

#include "base_search.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "report_view.h"

/* Equal values of one argument lie together. */
static int by_value(const void *left, const void *right)
{
    const struct sonde__report_value *a = left, *b = right;
    int order = SONDE__ORDER2(a, b, rule, argument.position);
    return order != 0 ? order : SONDE__ORDER2(a, b, argument.name, argument.value);
}

static bool is_same_argument(const struct sonde__report_value *a,
                             const struct sonde__report_value *b)
{
    return a->rule == b->rule && a->argument.position == b->argument.position &&
           a->argument.name == b->argument.name;
}

/* As they are shown. */
static int by_count(const void *left, const void *right)
{
    const struct sonde__report_value *a = left, *b = right;
    bool is_other = a->argument.value == 0, is_b_other = b->argument.value == 0;
    int order = SONDE__ORDER2(a, b, rule, argument.position);
    order = order != 0 ? order : SONDE__ORDER(a, b, argument.name);
    order = order != 0 ? order : is_other - is_b_other;
    return order != 0 ? order : SONDE__ORDER2(b, a, argument.count, argument.value);
}

static void collect(const struct sonde__report *report, struct sonde__report_values *values)
{
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        for (uint32_t k = 0; call->rule != 0 && k < call->argument_count; k++) {
            values->list[values->count++] =
                (struct sonde__report_value){call->rule, call->arguments[k]};
        }
    }
}

static void join_equal(struct sonde__report_values *values)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        if (kept != 0 && by_value(&values->list[kept - 1], &values->list[i]) == 0) {
            values->list[kept - 1].argument.count += values->list[i].argument.count;
        } else {
            values->list[kept++] = values->list[i];
        }
    }
    values->count = kept;
}

/* The rarest values of an argument that has too many become others. */
static void fold_rare(struct sonde__report_values *values)
{
    uint32_t kept = 0, of_argument = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        struct sonde__report_value *value = &values->list[i];
        bool is_first = kept == 0 || !is_same_argument(&values->list[kept - 1], value);
        of_argument = is_first ? 0 : of_argument;
        if (of_argument == SONDE__REPORT_ARGUMENTS_MAX) {
            values->list[kept - 1].argument.count += value->argument.count;
            values->list[kept - 1].argument.value = 0;
        } else {
            values->list[kept++] = *value;
            of_argument++;
        }
    }
    values->count = kept;
}

enum sonde_status sonde__report_sum_values(const struct sonde__report *report,
                                           struct sonde__report_values *ret_values)
{
    struct sonde__report_values values = {.count = 0};
    size_t most = 1;
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        most += sonde__report_call(report, i)->argument_count;
    }
    values.list = sonde__mem_alloc_array(most, sizeof *values.list);
    if (values.list == NULL) {
        return SONDE_MEMORY;
    }
    collect(report, &values);
    qsort(values.list, values.count, sizeof *values.list, by_value);
    join_equal(&values);
    qsort(values.list, values.count, sizeof *values.list, by_count);
    fold_rare(&values);
    *ret_values = values;
    return SONDE_OK;
}

void sonde__report_values_done(struct sonde__report_values *values)
{
    sonde__mem_free(values->list);
    *values = (struct sonde__report_values){0};
}

uint32_t sonde__report_values_of(const struct sonde__report_values *values, uint32_t rule,
                                 struct sonde__report_argument *ret_arguments, uint32_t capacity)
{
    uint32_t count = 0, i = SONDE__SEARCH(0, values->count, k, values->list[k].rule < rule);
    while (i < values->count && count < capacity && values->list[i].rule == rule) {
        ret_arguments[count++] = values->list[i++].argument;
    }
    return count;
}
