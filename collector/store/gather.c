// SPDX-License-Identifier: Apache-2.0
#include "gather.h"

#include <stdio.h>
#include <string.h>

#include "mem_arena.h"
#include "mem_heap.h"
#include "mem_table.h"

/* More than a column holds is cut (fit() of schema_postgres.c). */
#define SUM_MAX ((uint64_t)9000000000000000000)

/* Items of one kind in the arena, with a table over their keys. */
struct items {
    void **at;
    size_t count, capacity;
    struct sonde__mem_table table;
};

struct gather {
    struct sonde__arena arena;
    struct items causes, groups, sums, tags, calls, texts;
};

/* --- items --- */

static void items_done(struct items *items)
{
    sonde__mem_table_done(&items->table);
    sonde__mem_free(items->at);
    *items = (struct items){0};
}

/* A new item of the size, zeroed. */
static void *add_item(struct gather *gather, struct items *items, uint32_t hash, size_t size)
{
    void *item = sonde__arena_alloc(&gather->arena, size);
    if (item == NULL ||
        !sonde__mem_grow(&items->at, items->count, &items->capacity, sizeof *items->at) ||
        !sonde__mem_table_add(&items->table, hash, (uint32_t)items->count)) {
        return NULL;
    }
    memset(item, 0, size);
    items->at[items->count++] = item;
    return item;
}

static void *item_at(const struct items *items, uint32_t i)
{
    return i < items->count ? items->at[i] : NULL;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15u >> 7;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return hash;
}

/* The one copy of a text; null: no memory. */
static const char *keep_text(struct gather *gather, const char *text)
{
    uint32_t hash = sonde__mem_hash(mix_text(0, text));
    uint32_t found =
        SONDE__TABLE_FIND(&gather->texts.table, hash, i, strcmp(gather->texts.at[i], text) == 0);
    if (found != SONDE__TABLE_NONE) {
        return gather->texts.at[found];
    }
    size_t size = strlen(text) + 1;
    char *copy = add_item(gather, &gather->texts, hash, size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static void add_up(uint64_t *sum, uint64_t more)
{
    *sum = more < SUM_MAX - *sum ? *sum + more : SUM_MAX;
}

/* --- all --- */

struct gather *gather_begin(void)
{
    return sonde__mem_alloc_zeroed(sizeof(struct gather));
}

void gather_clear(struct gather *gather)
{
    items_done(&gather->causes);
    items_done(&gather->groups);
    items_done(&gather->sums);
    items_done(&gather->tags);
    items_done(&gather->calls);
    items_done(&gather->texts);
    sonde__arena_done(&gather->arena);
}

void gather_end(struct gather *gather)
{
    if (gather != NULL) {
        gather_clear(gather);
        sonde__mem_free(gather);
    }
}

bool gather_is_full(const struct gather *gather)
{
    return gather->arena.bytes > GATHER_BYTES_MAX;
}

/* --- causes --- */

static uint32_t hash_of_cause(uint32_t project, uint32_t kind, const char *group)
{
    return sonde__mem_hash(mix_text(mix(project, kind), group));
}

struct gather_cause *gather_find_cause(struct gather *gather, uint32_t project, uint32_t kind,
                                       const char *group)
{
    uint32_t found =
        SONDE__TABLE_FIND(&gather->causes.table, hash_of_cause(project, kind, group), i, ({
            const struct gather_cause *cause = gather->causes.at[i];
            cause->project == project && cause->kind == kind &&strcmp(cause->group, group) == 0;
        }));
    return found != SONDE__TABLE_NONE ? gather->causes.at[found] : NULL;
}

struct gather_cause *gather_add_cause(struct gather *gather, const struct gather_cause *cause)
{
    const char *group = keep_text(gather, cause->group);
    struct gather_cause *kept =
        group != NULL
            ? add_item(gather, &gather->causes,
                       hash_of_cause(cause->project, cause->kind, cause->group), sizeof *kept)
            : NULL;
    if (kept != NULL) {
        *kept = *cause;
        kept->group = group;
    }
    return kept;
}

struct gather_cause *gather_cause_at(const struct gather *gather, uint32_t i)
{
    return item_at(&gather->causes, i);
}

void gather_add_to_row(struct gather_cause *cause, const struct digest_event *event)
{
    add_up(&cause->row.count, event->count);
    add_up(&cause->row.total_ns, event->total_ns);
}

/* --- groups --- */

struct gather_group *gather_group(struct gather *gather, int64_t number)
{
    uint32_t hash = sonde__mem_hash((uint64_t)number);
    uint32_t found =
        SONDE__TABLE_FIND(&gather->groups.table, hash, i,
                          ((const struct gather_group *)gather->groups.at[i])->number == number);
    if (found != SONDE__TABLE_NONE) {
        return gather->groups.at[found];
    }
    struct gather_group *group = add_item(gather, &gather->groups, hash, sizeof *group);
    if (group != NULL) {
        group->number = number;
    }
    return group;
}

bool gather_count(struct gather *gather, int64_t number, const struct digest_event *event,
                  uint64_t time_ns, const char *build)
{
    struct gather_group *group = gather_group(gather, number);
    const char *kept = keep_text(gather, build);
    if (group == NULL || kept == NULL) {
        return false;
    }
    if (!group->has_any || time_ns < group->first_ns) {
        group->first_ns = time_ns;
        group->first_build = kept;
    }
    if (!group->has_any || time_ns >= group->last_ns) {
        group->last_ns = time_ns;
        group->last_build = kept;
    }
    group->has_any = true;
    add_up(&group->count, event->count);
    add_up(&group->total_ns, event->total_ns);
    add_up(&group->fatal, event->is_fatal);
    group->severity = event->severity > group->severity ? event->severity : group->severity;
    return true;
}

bool gather_show(struct gather *gather, int64_t number, const struct digest_event *event,
                 const struct report_id *report)
{
    struct gather_group *group = gather_group(gather, number);
    if (group == NULL) {
        return false;
    }
    if (!group->has_longest || event->longest_ns >= group->longest_ns) {
        group->has_longest = true;
        group->longest_ns = event->longest_ns;
        group->longest = *report;
        snprintf(group->summary, sizeof group->summary, "%s", event->summary);
        if (event->title[0] != '\0') { /* else the one before stays */
            snprintf(group->title, sizeof group->title, "%s", event->title);
        }
    }
    return true;
}

struct gather_group *gather_group_at(const struct gather *gather, uint32_t i)
{
    return item_at(&gather->groups, i);
}

/* --- sums, tags and calls --- */

bool gather_add_sum(struct gather *gather, const struct gather_sum *sum)
{
    const char *build = keep_text(gather, sum->build);
    uint32_t hash =
        sonde__mem_hash(mix(mix((uint64_t)sum->cause, sum->hour), (uint64_t)(uintptr_t)build));
    uint32_t found = SONDE__TABLE_FIND(&gather->sums.table, hash, i, ({
        const struct gather_sum *known = gather->sums.at[i];
        known->cause == sum->cause && known->hour == sum->hour && known->build == build;
    }));
    struct gather_sum *kept = build == NULL ? NULL
                              : found != SONDE__TABLE_NONE
                                  ? gather->sums.at[found]
                                  : add_item(gather, &gather->sums, hash, sizeof *kept);
    if (kept == NULL) {
        return false;
    }
    kept->cause = sum->cause;
    kept->hour = sum->hour;
    kept->build = build;
    add_up(&kept->count, sum->count);
    add_up(&kept->total_ns, sum->total_ns);
    kept->longest_ns = sum->longest_ns > kept->longest_ns ? sum->longest_ns : kept->longest_ns;
    return true;
}

const struct gather_sum *gather_sum_at(const struct gather *gather, uint32_t i)
{
    return item_at(&gather->sums, i);
}

bool gather_add_tag(struct gather *gather, const struct gather_tag *tag)
{
    const char *name = keep_text(gather, tag->name), *value = keep_text(gather, tag->value);
    uint32_t hash = sonde__mem_hash(
        mix(mix((uint64_t)tag->cause, (uint64_t)(uintptr_t)name), (uint64_t)(uintptr_t)value));
    uint32_t found = SONDE__TABLE_FIND(&gather->tags.table, hash, i, ({
        const struct gather_tag *known = gather->tags.at[i];
        known->cause == tag->cause && known->name == name && known->value == value;
    }));
    struct gather_tag *kept = name == NULL || value == NULL ? NULL
                              : found != SONDE__TABLE_NONE
                                  ? gather->tags.at[found]
                                  : add_item(gather, &gather->tags, hash, sizeof *kept);
    if (kept == NULL) {
        return false;
    }
    kept->cause = tag->cause;
    kept->name = name;
    kept->value = value;
    add_up(&kept->count, tag->count);
    return true;
}

const struct gather_tag *gather_tag_at(const struct gather *gather, uint32_t i)
{
    return item_at(&gather->tags, i);
}

static bool keep_call_texts(struct gather *gather, const struct gather_call *from,
                            struct gather_call *to)
{
    to->rule = keep_text(gather, from->rule);
    to->api = keep_text(gather, from->api);
    to->path = keep_text(gather, from->path);
    to->sdk = keep_text(gather, from->sdk);
    to->code = keep_text(gather, from->code);
    return to->rule != NULL && to->api != NULL && to->path != NULL && to->sdk != NULL &&
           to->code != NULL;
}

struct gather_call *gather_add_call(struct gather *gather, const struct gather_call *call)
{
    const char *build = keep_text(gather, call->build);
    uint32_t hash =
        sonde__mem_hash(mix(mix((uint64_t)call->cause, call->project), (uint64_t)(uintptr_t)build));
    uint32_t found = SONDE__TABLE_FIND(&gather->calls.table, hash, i, ({
        const struct gather_call *known = gather->calls.at[i];
        known->cause == call->cause && known->project == call->project && known->build == build;
    }));
    struct gather_call *kept = build == NULL ? NULL
                               : found != SONDE__TABLE_NONE
                                   ? gather->calls.at[found]
                                   : add_item(gather, &gather->calls, hash, sizeof *kept);
    if (kept == NULL || !keep_call_texts(gather, call, kept)) {
        return NULL;
    }
    kept->project = call->project;
    kept->cause = call->cause;
    kept->build = build;
    kept->is_stable = call->is_stable;
    add_up(&kept->count, call->count);
    add_up(&kept->before, call->before);
    add_up(&kept->given, call->given);
    add_up(&kept->refused, call->refused);
    add_up(&kept->over, call->over);
    add_up(&kept->direct, call->direct);
    add_up(&kept->system, call->system);
    add_up(&kept->reports, call->reports);
    return kept;
}

const struct gather_call *gather_call_at(const struct gather *gather, uint32_t i)
{
    return item_at(&gather->calls, i);
}
