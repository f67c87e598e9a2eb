// SPDX-License-Identifier: Apache-2.0
/* The key of a recorded call is a hash of its function and of the program's own functions that led
 * to it, outermost first and each only once, so that recursion of any depth gives the same key. The
 * cost is one walk of each stack. */
#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "diff_parts.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "report_own.h"

/* Frames walked in total: some hundred times those of the largest recording. Stacks beyond are
 * UNSURE. */
#define STEPS_MAX 200000000u
/* Distinct functions of one stack. */
#define FUNCTIONS_MAX 256u

struct entry {
    struct sonde__report_hash key;
    unsigned side;
    bool is_unsure; /* the other build may give another key */
    struct sonde__diff_call call;
};

struct work {
    const struct sonde__diff *diff;
    struct sonde__report_path *path;
    struct entry *entries;
    size_t count;
    uint64_t steps;
    /* the image of the last question, and its answer */
    const struct sonde__report *moved_report;
    uint32_t moved_image;
    bool has_moved;
    /* functions met in the current stack */
    uint64_t hashes[FUNCTIONS_MAX];
    uint32_t hash_count;
};

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = (a->key.high > b->key.high) - (a->key.high < b->key.high);
    order = order != 0 ? order : (a->key.low > b->key.low) - (a->key.low < b->key.low);
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
    return order != 0 ? order : SONDE__ORDER(a, b, stack);
}

/* False: it was met before. */
static bool is_first(struct work *w, uint64_t hash)
{
    for (uint32_t i = 0; i < w->hash_count; i++) {
        if (w->hashes[i] == hash) {
            return false;
        }
    }
    if (w->hash_count < FUNCTIONS_MAX) {
        w->hashes[w->hash_count++] = hash;
    }
    return true;
}

static bool has_moved(struct work *w, const struct sonde__report *report,
                      const struct sonde__report_element *e,
                      const struct sonde__report_element_name *name)
{
    if (w->moved_report != report || w->moved_image != e->image) {
        w->moved_report = report;
        w->moved_image = e->image;
        w->has_moved = sonde__diff_has_moved(w->diff, name->bytes, name->size);
    }
    return w->has_moved;
}

static void add_stack(struct work *w, const struct sonde__report *report, struct entry *entry)
{
    struct sonde__report_path *path = w->path;
    if (w->steps >= STEPS_MAX) {
        entry->is_unsure = true;
        return;
    }
    sonde__report_path_read(report, entry->call.stack, path);
    w->steps += path->count;
    w->hash_count = 0;
    for (uint32_t i = path->count; i > 0; i--) {
        const struct sonde__report_step *step = &path->steps[i - 1];
        struct sonde__report_element e = sonde__report_element(report, step);
        if (!sonde__report_path_is_own(report, path, step) || !is_first(w, e.hash)) {
            continue;
        }
        struct sonde__report_element_name name = sonde__report_element_name(report, &e);
        sonde__report_hash_add(&entry->key, name.bytes, name.size);
        sonde__report_hash_add(&entry->key, name.start, strlen(name.start));
        sonde__report_hash_add(&entry->key, "\n", 1);
        entry->is_unsure =
            entry->is_unsure || (e.name == 0 && e.start != 0 && has_moved(w, report, &e, &name));
    }
}

/* Calls whose stacks were not kept are one entry per function. */
static void add_call(struct work *w, unsigned side, const struct sonde__report *report,
                     const struct sonde__report_call *call)
{
    struct entry *entry = &w->entries[w->count++];
    const char *function = sonde__report_text(report, call->function);
    const char *rule = sonde__report_text(report, sonde__report_rule(report, call->rule)->name);
    *entry = (struct entry){.side = side};
    entry->call.function = function;
    entry->call.report = report;
    entry->call.stack = call->stack;
    entry->call.amounts[side].count = call->count;
    entry->is_unsure = call->stack == 0 || call->end == SONDE_END_COSTLY;
    sonde__report_hash_init(&entry->key);
    sonde__report_hash_add(&entry->key, rule, strlen(rule) + 1);
    sonde__report_hash_add(&entry->key, function, strlen(function) + 1);
    if (call->stack != 0) {
        add_stack(w, report, entry);
    } else {
        sonde__report_hash_add(&entry->key, "", 1);
    }
}

/* Join entries with equal keys. The newest side comes last and gives the stack. */
static void merge(struct sonde__diff *diff, const struct work *w)
{
    for (size_t i = 0; i < w->count;) {
        struct sonde__diff_call *call = &diff->calls[diff->call_count++];
        size_t first = i;
        bool is_unsure = false;
        *call = w->entries[i].call;
        memset(call->amounts, 0, sizeof call->amounts);
        for (; i < w->count &&
               memcmp(&w->entries[i].key, &w->entries[first].key, sizeof w->entries[i].key) == 0;
             i++) {
            const struct entry *e = &w->entries[i];
            call->amounts[e->side].count += e->call.amounts[e->side].count;
            call->report = e->call.report;
            call->function = e->call.function;
            call->stack = e->call.stack;
            is_unsure = is_unsure || e->is_unsure;
        }
        call->state = sonde__diff_judge(diff, diff->recorded, call->amounts);
        if (is_unsure && (call->state == SONDE__DIFF_NEW || call->state == SONDE__DIFF_GONE)) {
            call->state = SONDE__DIFF_UNSURE;
        }
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
        status =
            w->path != NULL && w->entries != NULL && diff->calls != NULL ? SONDE_OK : SONDE_MEMORY;
    }
    if (status == SONDE_OK) {
        add_all(w);
        qsort(w->entries, w->count, sizeof *w->entries, by_key);
        merge(diff, w);
        qsort(diff->calls, diff->call_count, sizeof *diff->calls, by_state);
    }
    if (w != NULL) {
        sonde__mem_free(w->path);
        sonde__mem_free(w->entries);
    }
    sonde__mem_free(w);
    return status;
}
