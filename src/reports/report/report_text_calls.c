// SPDX-License-Identifier: Apache-2.0
/* Recorded calls as text; functions and their callers are sorted by number of calls:
 *
 *   getenv  12345 calls from 3 stacks
 *     12000 calls
 *       #0  main+0x12   prog+0x1137
 *
 * Calls that may be missing are listed below. With app_only, stacks that differ only in system
 * frames are joined. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "report_rule_sum.h"
#include "report_view.h"

/* A line of the list: calls of one function from one stack, or from several that are shown
 * alike. */
struct entry {
    uint32_t function, stack;
    uint64_t count, total; /* count of this entry, and of the whole function */
    uint64_t key;          /* hash of the shown frames */
    bool is_cut;           /* its walk did not reach the root, to save time */
};

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = SONDE__ORDER2(a, b, function, key);
    return order != 0 ? order : SONDE__ORDER2(a, b, is_cut, stack);
}

static int by_count(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = SONDE__ORDER(b, a, total);
    order = order != 0 ? order : SONDE__ORDER(a, b, function);
    order = order != 0 ? order : SONDE__ORDER(b, a, count);
    return order != 0 ? order : SONDE__ORDER(a, b, stack);
}

/* Sort entries for output; returns their number. */
static uint32_t arrange(const struct sonde__report *report, struct entry *entries, bool app_only)
{
    uint32_t count = 0, given = 0;
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (call->missed != 0) {
            continue;
        }
        if (sonde__report_is_finding(report, call)) {
            continue;
        }
        entries[given++] =
            (struct entry){.function = call->function,
                           .stack = call->stack,
                           .count = call->count,
                           .is_cut = call->end == SONDE_END_COSTLY,
                           .key = sonde__report_stack_key(report, call->stack, app_only)};
    }
    qsort(entries, given, sizeof *entries, by_key);
    for (uint32_t i = 0; i < given; i++) {
        struct entry *last = count > 0 ? &entries[count - 1] : NULL;
        if (last != NULL && last->function == entries[i].function &&
            last->is_cut == entries[i].is_cut &&
            sonde__report_stacks_alike(report, last->stack, entries[i].stack, app_only)) {
            last->count += entries[i].count;
        } else {
            entries[count++] = entries[i];
        }
    }
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i;
        uint64_t total = 0;
        while (end < count && entries[end].function == entries[i].function) {
            total += entries[end++].count;
        }
        while (i < end) {
            entries[i++].total = total;
        }
    }
    qsort(entries, count, sizeof *entries, by_count);
    return count;
}

static void put_calls_line(struct sonde__report_out *out, uint64_t count)
{
    sonde__report_out_print(out, "%" PRIu64 " call%s", count, sonde__base_plural(count));
}

static void put_function(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct entry *entry, uint32_t stacks, bool app_only)
{
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_text(out, sonde__report_text(report, entry->function));
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_str(out, "  ");
    put_calls_line(out, entry->total);
    if (entry->total == 0) {
        sonde__report_out_str(out, "\n");
        return;
    }
    sonde__report_out_print(out, " from %u stack%s", stacks, sonde__base_plural(stacks));
    sonde__report_out_str(out, app_only ? " of the program's own frames\n" : "\n");
}

/* The range of calls with `missed` set; they are few and adjacent. */
struct missed {
    uint32_t first, end;
};

static struct missed find_missed(const struct sonde__report *report)
{
    struct missed missed = {UINT32_MAX, 0};
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        if (sonde__report_call(report, i)->missed != 0) {
            missed.first = missed.first < i ? missed.first : i;
            missed.end = i + 1;
        }
    }
    return missed;
}

static void put_missed(struct sonde__report_out *out, const struct sonde__report *report,
                       struct missed missed, uint32_t function)
{
    for (uint32_t i = missed.first; i < missed.end && !out->stopped; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (call->missed != 0 && call->function == function) {
            sonde__report_out_print(out, "  may be missing: %s\n",
                                    sonde__report_text(report, call->missed));
        }
    }
}

static void put_stack_of_calls(struct sonde__report_out *out, const struct sonde__report *report,
                               const struct entry *entry)
{
    if (entry->count == 0) {
        return;
    }
    sonde__report_out_str(out, "  ");
    put_calls_line(out, entry->count);
    sonde__report_out_str(out, entry->stack == 0 ? ", stack not kept\n" : "\n");
    sonde__report_put_stack(out, report, entry->stack, 4);
    if (entry->is_cut) {
        sonde__report_out_str(out, "    (cut: to search for the next caller costs too much)\n");
    }
}

/* Count what --top left out. */
static void put_rest(struct sonde__report_out *out, const struct entry *entries, uint32_t count)
{
    uint64_t calls = 0;
    while (count > 0 && entries[count - 1].count == 0) {
        count--;
    }
    for (uint32_t i = 0; i < count; i++) {
        calls += entries[i].count;
    }
    if (count > 0) {
        sonde__report_out_str(out, "  ");
        put_calls_line(out, calls);
        sonde__report_out_print(out, " from %u", count);
        sonde__report_out_str(out, count == 1 ? " more stack (--top=all)\n"
                                              : " more stacks (--top=all)\n");
    }
}

void sonde__report_put_calls(struct sonde__report_out *out, const struct sonde__report *report,
                             const struct sonde__report_view *view)
{
    uint32_t count = sonde__report_call_count(report);
    struct entry *entries = count > 0 ? sonde__mem_alloc_array(count, sizeof *entries) : NULL;
    if (entries == NULL) {
        if (count > 0) {
            sonde__report_out_str(out, "\nnote: out of memory: recorded calls are not shown\n");
        }
        return;
    }
    struct missed missed = find_missed(report);
    count = arrange(report, entries, view->app_only);
    uint32_t top = view->top != 0 ? view->top : SONDE__REPORT_TOP;
    for (uint32_t i = 0, stacks = 0; i < count && !out->stopped; i += stacks) {
        for (stacks = 0;
             i + stacks < count && entries[i + stacks].function == entries[i].function;) {
            stacks++;
        }
        uint32_t shown = stacks < top ? stacks : top;
        put_function(out, report, &entries[i], stacks, view->app_only);
        put_missed(out, report, missed, entries[i].function);
        for (uint32_t k = 0; k < shown && !out->stopped; k++) {
            put_stack_of_calls(out, report, &entries[i + k]);
        }
        put_rest(out, &entries[i + shown], stacks - shown);
    }
    sonde__mem_free(entries);
}
