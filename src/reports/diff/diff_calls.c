// SPDX-License-Identifier: Apache-2.0
/* Recorded calls are joined by their keys (report_call_key.h). The cost is one walk of each stack.
 */
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "diff_parts.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Frames walked in total: some hundred times those of the largest recording. Stacks beyond are
 * UNSURE. */
#define STEPS_MAX 200000000u

struct entry {
    unsigned side;
    struct sonde__diff_call call;
};

struct work {
    const struct sonde__diff *diff;
    struct sonde__report_path *path;
    struct sonde__report_call_key key;
    struct entry *entries;
    size_t count;
    uint64_t steps;
    /* the image of the last question, and its answer */
    const struct sonde__report *moved_report;
    uint32_t moved_image;
    bool has_moved;
};

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = SONDE__ORDER2(&a->call, &b->call, key.high, key.low);
    return order != 0 ? order : SONDE__ORDER(a, b, side);
}

static int by_state(const void *left, const void *right)
{
    const struct sonde__diff_call *a = left, *b = right;
    uint64_t a_count = a->amounts[0].count + a->amounts[1].count;
    uint64_t b_count = b->amounts[0].count + b->amounts[1].count;
    int order = SONDE__ORDER(a, b, state);
    order = order != 0 ? order : strcmp(a->function, b->function);
    order = order != 0 ? order : (a_count < b_count) - (a_count > b_count);
    return order != 0 ? order : SONDE__ORDER2(a, b, key.high, key.low);
}

static bool has_moved(struct work *w, const struct sonde__report *report,
                      const struct sonde__report_element *e)
{
    struct sonde__report_element_name name = sonde__report_element_name(report, e);
    if (w->moved_report != report || w->moved_image != e->image) {
        w->moved_report = report;
        w->moved_image = e->image;
        w->has_moved = sonde__diff_has_moved(w->diff, name.bytes, name.size);
    }
    return w->has_moved;
}

/* Why the other build may give another key. */
static enum sonde__diff_doubt doubt_of(struct work *w, const struct sonde__report *report)
{
    const struct sonde__report_call_key *key = &w->key;
    if (key->has_no_stack || key->is_cut) {
        return SONDE__DIFF_CUT;
    }
    if (key->has_unnamed && key->has_more) {
        return SONDE__DIFF_UNNAMED;
    }
    for (uint32_t i = 0; key->has_unnamed && i < key->count; i++) {
        const struct sonde__report_element *e = &key->functions[i].element;
        if (e->name == 0 && e->start != 0 && has_moved(w, report, e)) {
            return SONDE__DIFF_UNNAMED;
        }
    }
    return SONDE__DIFF_SURE;
}

/* Calls whose stacks were not kept are one entry per function. */
static void add_call(struct work *w, unsigned side, const struct sonde__report *report,
                     const struct sonde__report_call *call)
{
    struct entry *entry = &w->entries[w->count++];
    struct sonde__report_call without_stack = *call;
    bool is_over = w->steps >= STEPS_MAX;
    without_stack.stack = 0;
    sonde__report_call_key(report, is_over ? &without_stack : call, w->path, &w->key);
    w->steps += w->path->count;
    *entry = (struct entry){.side = side,
                            .call = {.doubt = doubt_of(w, report),
                                     .key = w->key.hash,
                                     .is_stable = sonde__report_call_key_is_stable(&w->key),
                                     .function = sonde__report_text(report, call->function),
                                     .report = report,
                                     .call = call,
                                     .first_ns = call->first_ns,
                                     .last_ns = call->last_ns,
                                     .threads = call->threads}};
    entry->call.amounts[side].count = call->count;
}

/* When, and by which threads: of a call and of another one with the same key and side. */
static void join_seen(struct sonde__diff_call *call, const struct sonde__diff_call *other)
{
    bool is_same = call->report == other->report && call->call->process == other->call->process &&
                   call->threads != 0 && other->threads != 0;
    if (other->first_ns != 0 && (call->first_ns == 0 || other->first_ns < call->first_ns)) {
        call->first_ns = other->first_ns;
    }
    call->last_ns = other->last_ns > call->last_ns ? other->last_ns : call->last_ns;
    call->threads = is_same ? call->threads | other->threads : 0;
}

/* Join entries with equal keys. The newest side comes last and gives the call. */
static void merge(struct sonde__diff *diff, const struct work *w)
{
    for (size_t i = 0; i < w->count;) {
        struct sonde__diff_call *call = &diff->calls[diff->call_count++];
        *call = w->entries[i].call;
        size_t first = i;
        enum sonde__diff_doubt doubt = SONDE__DIFF_SURE;
        struct sonde__diff_amount amounts[SONDE__DIFF_SIDES] = {{0}};
        for (; i < w->count && memcmp(&w->entries[i].call.key, &w->entries[first].call.key,
                                      sizeof w->entries[i].call.key) == 0;
             i++) {
            const struct entry *e = &w->entries[i];
            struct sonde__diff_call before = *call;
            amounts[e->side].count += e->call.amounts[e->side].count;
            doubt = e->call.doubt != SONDE__DIFF_SURE ? e->call.doubt : doubt;
            *call = e->call;
            if (i > first && e->side == w->entries[i - 1].side) {
                join_seen(call, &before);
            }
        }
        memcpy(call->amounts, amounts, sizeof amounts);
        call->doubt = doubt;
        call->state = sonde__diff_judge(diff, diff->recorded, amounts);
    }
}

/* Only what is on one side can be doubtful. */
static void apply_doubts(struct sonde__diff *diff)
{
    for (uint32_t i = 0; i < diff->call_count; i++) {
        struct sonde__diff_call *call = &diff->calls[i];
        bool is_on_one_side = call->state == SONDE__DIFF_NEW || call->state == SONDE__DIFF_GONE;
        call->doubt = is_on_one_side ? call->doubt : SONDE__DIFF_SURE;
        call->state = call->doubt != SONDE__DIFF_SURE ? SONDE__DIFF_UNSURE : call->state;
    }
}

static void add_all(struct work *w)
{
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        for (uint32_t r = 0; r < w->diff->sides[s].count; r++) {
            const struct sonde__report *report = w->diff->sides[s].reports[r];
            for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
                const struct sonde__report_call *call = sonde__report_call(report, i);
                if (call->missed == 0 && call->count != 0) {
                    add_call(w, s, report, call);
                }
            }
        }
    }
}

/* Lists in `w` and `diff` have memory. */
static enum sonde_status compare(struct work *w, struct sonde__diff *diff)
{
    add_all(w);
    qsort(w->entries, w->count, sizeof *w->entries, by_key);
    merge(diff, w);
    qsort(diff->calls, diff->call_count, sizeof *diff->calls, by_state);
    if (sonde__diff_is_list(diff)) {
        return SONDE_OK;
    }
    SONDE_TRY(sonde__diff_doubt_unlisted(diff));
    SONDE_TRY(sonde__diff_doubt_inlined(diff, w->path));
    apply_doubts(diff);
    qsort(diff->calls, diff->call_count, sizeof *diff->calls, by_state);
    return SONDE_OK;
}

enum sonde_status sonde__diff_compare_calls(struct sonde__diff *diff)
{
    struct work *w = sonde__mem_alloc_zeroed(sizeof *w);
    enum sonde_status status = SONDE_MEMORY;
    size_t count = 1;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        for (uint32_t r = 0; r < diff->sides[s].count; r++) {
            count += sonde__report_call_count(diff->sides[s].reports[r]);
        }
    }
    if (w != NULL) {
        w->diff = diff;
        w->path = sonde__mem_alloc(sizeof *w->path);
        w->entries = sonde__mem_alloc_array(count, sizeof *w->entries);
        diff->calls = sonde__mem_alloc_array(count, sizeof *diff->calls);
        status = w->path != NULL && w->entries != NULL && diff->calls != NULL ? compare(w, diff)
                                                                              : SONDE_MEMORY;
        sonde__mem_free(w->path);
        sonde__mem_free(w->entries);
    }
    sonde__mem_free(w);
    return status;
}
