// SPDX-License-Identifier: Apache-2.0
#include "report_rule_sum.h"

#include <stdlib.h>

#include "mem_heap.h"
#include "mem_sort.h"
#include "report_analyse.h"
#include "report_view.h"

bool sonde__report_is_finding(const struct sonde__report *report,
                              const struct sonde__report_call *call)
{
    return call->rule != 0 && call->rule <= sonde__report_rule_count(report);
}

/* The next node to show, from `node` outwards. */
static uint32_t next_shown(const struct sonde__report *report, uint32_t node, bool app_only)
{
    while (app_only && node != 0) {
        const struct sonde__report_node *n = sonde__report_node(report, node);
        if (sonde__report_frame_is_app(report, sonde__report_frame(report, n->frame))) {
            break;
        }
        node = n->parent;
    }
    return node;
}

uint64_t sonde__report_stack_key(const struct sonde__report *report, uint32_t stack, bool app_only)
{
    uint64_t key = stack;
    if (!app_only) {
        return key;
    }
    key = 0;
    for (uint32_t n = next_shown(report, stack, true); n != 0;
         n = next_shown(report, sonde__report_node(report, n)->parent, true)) {
        key = (key ^ sonde__report_node(report, n)->frame) * 0x9e3779b97f4a7c15u;
        key ^= key >> 32;
    }
    return key;
}

bool sonde__report_stacks_alike(const struct sonde__report *report, uint32_t a, uint32_t b,
                                bool app_only)
{
    a = next_shown(report, a, app_only);
    b = next_shown(report, b, app_only);
    while (app_only && a != 0 && b != 0 &&
           sonde__report_node(report, a)->frame == sonde__report_node(report, b)->frame) {
        a = next_shown(report, sonde__report_node(report, a)->parent, true);
        b = next_shown(report, sonde__report_node(report, b)->parent, true);
    }
    return a == b;
}

struct entry {
    uint32_t rule, function, stack, process;
    uint64_t key, threads;
};

static int by_stack(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = SONDE__ORDER2(a, b, rule, function);
    order = order != 0 ? order : SONDE__ORDER(a, b, key);
    return order != 0 ? order : SONDE__ORDER(a, b, stack);
}

static int by_process(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return SONDE__ORDER2(a, b, rule, process);
}

static void add_sdk(struct sonde__report_rule_sum *sum, uint32_t sdk)
{
    uint32_t i = 0;
    while (i < sum->sdk_count && sum->sdks[i] != sdk) {
        i++;
    }
    if (sdk == 0 || i < sum->sdk_count) {
        return;
    }
    sum->has_more_sdks |= i == SONDE__REPORT_SUM_SDKS;
    if (i < SONDE__REPORT_SUM_SDKS) {
        sum->sdks[sum->sdk_count++] = sdk;
    }
}

static void add_call(struct sonde__report_rule_sum *sum, const struct sonde__report_call *call)
{
    sum->calls += call->count;
    add_sdk(sum, call->sdk);
    if (call->last_ns != 0) {
        bool is_first = sum->first_ns == 0 || call->first_ns < sum->first_ns;
        sum->first_ns = is_first ? call->first_ns : sum->first_ns;
        sum->last_ns = call->last_ns > sum->last_ns ? call->last_ns : sum->last_ns;
    }
}

static void count_stacks(const struct sonde__report *report, struct entry *entries, uint32_t count,
                         struct sonde__report_rule_sum *sums)
{
    qsort(entries, count, sizeof *entries, by_stack);
    for (uint32_t i = 0; i < count; i++) {
        const struct entry *e = &entries[i];
        bool is_new = e->stack != 0 && (i == 0 || by_stack(e, e - 1) != 0);
        if (is_new && i > 0 && e->rule == e[-1].rule && e->function == e[-1].function &&
            e->key == e[-1].key) {
            is_new = !sonde__report_stacks_alike(report, e->stack, e[-1].stack, true);
        }
        sums[e->rule - 1].app_stacks += is_new;
    }
}

/* Threads of two processes are different ones. */
static void count_threads(struct entry *entries, uint32_t count,
                          struct sonde__report_rule_sum *sums)
{
    qsort(entries, count, sizeof *entries, by_process);
    for (uint32_t i = 0, end; i < count; i = end) {
        struct sonde__report_rule_sum *sum = &sums[entries[i].rule - 1];
        uint64_t threads = 0;
        for (end = i; end < count && by_process(&entries[end], &entries[i]) == 0; end++) {
            threads |= entries[end].threads;
        }
        sum->has_more_threads |= (threads & SONDE__REPORT_LATER_THREADS) != 0;
        sum->threads += (uint32_t)__builtin_popcountll(threads);
    }
}

enum sonde_status sonde__report_sum_rules(const struct sonde__report *report,
                                          struct sonde__report_rule_sum **ret_sums)
{
    uint32_t count = 0, calls = sonde__report_call_count(report);
    uint32_t rules = sonde__report_rule_count(report);
    struct sonde__report_rule_sum *sums =
        sonde__mem_alloc_zeroed(((size_t)rules + 1) * sizeof *sums);
    struct entry *entries = sonde__mem_alloc_array((size_t)calls + 1, sizeof *entries);
    if (sums == NULL || entries == NULL) {
        sonde__mem_free(sums);
        sonde__mem_free(entries);
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < calls; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (sonde__report_is_finding(report, call)) {
            add_call(&sums[call->rule - 1], call);
            entries[count++] = (struct entry){call->rule,
                                              call->function,
                                              call->stack,
                                              call->process,
                                              sonde__report_stack_key(report, call->stack, true),
                                              call->threads};
        }
    }
    count_stacks(report, entries, count, sums);
    count_threads(entries, count, sums);
    sonde__mem_free(entries);
    *ret_sums = sums;
    return SONDE_OK;
}
