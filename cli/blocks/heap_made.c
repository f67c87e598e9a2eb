// SPDX-License-Identifier: Apache-2.0
#include "heap_made.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base_text.h"
#include "cli_fit.h"
#include "cli_report.h"
#include "heap_view.h"
#include "host_clock.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Maximum of stacks for blocks of one kind. */
enum { STACKS_SHOWN = 10 };

struct heap_made {
    struct sonde__audit_process *process;
    const struct sonde__registry *registry;
    struct sonde__report *report;
    struct sonde__audit_stacks *stacks;
    uint64_t now_ns;
    struct sonde__registry_total total;
    size_t listed;
    size_t gone; /* listed blocks that no longer exist */
};

static bool is_same(const struct sonde__registry_block *listed,
                    const struct sonde__blockheap_item *item)
{
    return listed->invoke == item->invoke && listed->size_bytes == item->size;
}

/* Is it alive: found by the search, or by its header if it is younger? */
static bool is_live(const struct heap_view *view, const struct sonde__registry_block *listed)
{
    const struct sonde__blockheap_item *found = heap_view_block(view, listed->address);
    struct sonde__blockheap_item item;
    return (found != NULL && is_same(listed, found)) ||
           (sonde__blockheap_check(view->heap, listed->address, &item) && is_same(listed, &item));
}

/* A block that is still listed after its header was read did not end in between. */
static size_t count_still_listed(struct heap_view *view, const struct sonde__registry_block *blocks,
                                 size_t count)
{
    struct sonde__audit_process *again;
    struct sonde__registry_block now;
    size_t still = 0;
    if (count == 0 || sonde__audit_process_open(view->target, &again, NULL) != SONDE_OK) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        still +=
            sonde__registry_find(sonde__audit_process_registry(again), blocks[i].address, &now) &&
            now.time_ns == blocks[i].time_ns && now.invoke == blocks[i].invoke &&
            now.stack == blocks[i].stack && now.tid == blocks[i].tid;
    }
    sonde__audit_process_close(again);
    return still;
}

static void check_all(struct heap_view *view, struct heap_made *made)
{
    struct sonde__registry_block block, *missing = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < sonde__registry_places(made->registry); i++) {
        if (!sonde__registry_get(made->registry, i, &block)) {
            continue;
        }
        made->listed++;
        if (!is_live(view, &block) &&
            sonde__mem_grow(&missing, count, &capacity, sizeof *missing)) {
            missing[count++] = block;
        }
    }
    made->gone = count_still_listed(view, missing, count);
    sonde__mem_free(missing);
}

void heap_made_open(struct heap_view *view)
{
    struct sonde_error error = {.status = SONDE_OK};
    struct heap_made *made = sonde__mem_alloc_zeroed(sizeof *made);
    enum sonde_status status = SONDE_MEMORY;
    if (made != NULL) {
        status = sonde__audit_process_open(view->target, &made->process, &error);
    }
    if (status == SONDE_OK) {
        status = sonde__report_create(&made->report);
    }
    if (status == SONDE_OK) {
        status =
            sonde__audit_process_stacks(made->process, view->symfile, made->report, &made->stacks);
    }
    if (status != SONDE_OK) {
        if (status != SONDE_ABSENT) {
            (void)sonde__cli_fail(view->command, "its registry of blocks", status, &error);
        }
        heap_made_close(made);
        return;
    }
    made->registry = sonde__audit_process_registry(made->process);
    made->now_ns = sonde__host_monotonic_ns();
    made->total = sonde__registry_total(made->registry);
    view->made = made;
    check_all(view, made);
}

void heap_made_close(struct heap_made *made)
{
    if (made == NULL) {
        return;
    }
    if (made->stacks != NULL) {
        sonde__audit_stacks_close(made->stacks);
    }
    if (made->report != NULL) {
        sonde__report_destroy(made->report);
    }
    sonde__audit_process_close(made->process);
    sonde__mem_free(made);
}

void heap_made_print_total(const struct heap_made *made)
{
    if (made == NULL) {
        return;
    }
    printf("its registry lists %zu block%s", made->listed, made->listed == 1 ? "" : "s");
    if (made->gone != 0) {
        printf("; %zu %s gone, ended by calls that it does not see", made->gone,
               made->gone == 1 ? "is" : "are");
    }
    if (made->total.dropped != 0) {
        printf("; %" PRIu64 " had no room", made->total.dropped);
    }
    putchar('\n');
}

void heap_made_json_total(const struct heap_made *made, struct sonde__json *json)
{
    if (made == NULL) {
        sonde__json_string(json, "registry", NULL);
        return;
    }
    sonde__json_object(json, "registry");
    sonde__json_uint(json, "listed", made->listed);
    sonde__json_uint(json, "gone", made->gone);
    sonde__json_uint(json, "made", made->total.made);
    sonde__json_uint(json, "ended", made->total.ended);
    sonde__json_uint(json, "dropped", made->total.dropped);
    sonde__json_close(json);
}

/* Returns why the block's origin is unknown; null: it is known. */
static const char *look_up(const struct heap_made *made, const struct sonde__blockheap_item *item,
                           struct sonde__registry_block *ret_block)
{
    if (!sonde__registry_find(made->registry, item->address, ret_block)) {
        return "before its registry began, or by a call that is not seen";
    }
    return is_same(ret_block, item)
               ? NULL
               : "by a call that is not seen: its registry has another block there, which is gone";
}

static uint64_t age(const struct heap_made *made, uint64_t time_ns)
{
    return made->now_ns > time_ns ? made->now_ns - time_ns : 0;
}

static void print_group(struct heap_made *made, const struct sonde__registry_group *group)
{
    struct sonde__report_out out;
    uint32_t stack = sonde__audit_stacks_put(made->stacks, group->stack);
    sonde__report_out_init(&out, sonde__cli_sink(stdout), false);
    sonde__report_out_print(&out, "made %s",
                            sonde__report_duration(age(made, group->newest_ns)).text);
    if (group->oldest_ns != group->newest_ns) {
        sonde__report_out_print(&out, " to %s",
                                sonde__report_duration(age(made, group->oldest_ns)).text);
    }
    sonde__report_out_str(&out, group->tid != 0 ? " ago by thread " : " ago by several threads");
    if (group->tid != 0) {
        sonde__report_out_dec(&out, group->tid);
    }
    sonde__report_out_str(&out, stack == 0 ? ", stack not kept\n" : "\n");
    sonde__report_put_stack(&out, made->report, stack, 6);
    sonde__report_out_flush(&out);
}

/* Write the members of an object, each frame on its own line. */
static void put_group(struct sonde__json *json, struct heap_made *made,
                      const struct sonde__registry_group *group)
{
    struct sonde__json frames;
    sonde__json_uint(json, "newest_age_ns", age(made, group->newest_ns));
    sonde__json_uint(json, "oldest_age_ns", age(made, group->oldest_ns));
    sonde__json_uint(json, "tid", group->tid);
    sonde__report_out_str(json->out, ", ");
    sonde__json_init(&frames, json->out);
    sonde__report_put_json_frames(&frames, made->report,
                                  sonde__audit_stacks_put(made->stacks, group->stack));
}

void heap_made_print(struct heap_made *made, const struct sonde__blockheap_item *item)
{
    struct sonde__registry_block block;
    const char *problem = made != NULL ? look_up(made, item, &block) : NULL;
    if (problem != NULL) {
        printf("    made %s\n", problem);
    } else if (made != NULL) {
        const struct sonde__registry_group group = sonde__registry_group_of(&block);
        printf("    ");
        print_group(made, &group);
    }
}

void heap_made_print_gone(struct heap_made *made, uint64_t address)
{
    struct sonde__registry_block block;
    if (made != NULL && sonde__registry_find(made->registry, address, &block)) {
        const struct sonde__registry_group group = sonde__registry_group_of(&block);
        printf(
            "its registry lists a block there, which ended by a call that it does not see:\n    ");
        print_group(made, &group);
    }
}

void heap_made_json(struct heap_made *made, struct sonde__json *json,
                    const struct sonde__blockheap_item *item)
{
    struct sonde__registry_block block;
    if (made == NULL) {
        return;
    }
    if (look_up(made, item, &block) != NULL) {
        sonde__json_string(json, "made", NULL);
        return;
    }
    const struct sonde__registry_group group = sonde__registry_group_of(&block);
    sonde__json_object(json, "made");
    put_group(json, made, &group);
    sonde__json_close(json);
}

static int by_count(const void *left, const void *right)
{
    const struct sonde__registry_group *a = left, *b = right;
    return a->count != b->count ? SONDE__ORDER(b, a, count) : sonde__registry_group_order(a, b);
}

struct groups {
    struct sonde__registry_group *items;
    uint32_t count;
    size_t unknown; /* number of blocks of unknown origin */
};

/* Group these blocks by stack, the largest group first. */
static struct groups group(const struct heap_made *made, const struct sonde__blockheap_item *items,
                           size_t count)
{
    struct sonde__registry_block block;
    struct groups groups = {.items = sonde__mem_alloc_array(count + 1, sizeof *groups.items)};
    for (size_t i = 0; i < count && groups.items != NULL; i++) {
        if (groups.count < UINT32_MAX && look_up(made, &items[i], &block) == NULL) {
            groups.items[groups.count++] = sonde__registry_group_of(&block);
        }
    }
    groups.unknown = count - groups.count;
    groups.count = sonde__registry_unite(groups.items, groups.count);
    if (groups.items != NULL && groups.count > 1) {
        qsort(groups.items, groups.count, sizeof *groups.items, by_count);
    }
    return groups;
}

void heap_made_print_all(struct heap_made *made, const struct sonde__blockheap_item *items,
                         size_t count)
{
    if (made == NULL) {
        return;
    }
    struct groups groups = group(made, items, count);
    for (uint32_t i = 0; i < groups.count && i < STACKS_SHOWN; i++) {
        printf("    %" PRIu64 " ", groups.items[i].count);
        print_group(made, &groups.items[i]);
    }
    if (groups.count > STACKS_SHOWN) {
        printf("    and by %" PRIu32 " more stack%s\n", groups.count - STACKS_SHOWN,
               sonde__base_plural(groups.count - STACKS_SHOWN));
    }
    if (groups.unknown != 0) {
        printf("    %zu made before its registry began, or by calls that are not seen\n",
               groups.unknown);
    }
    sonde__mem_free(groups.items);
}

void heap_made_json_all(struct heap_made *made, struct sonde__json *json,
                        const struct sonde__blockheap_item *items, size_t count)
{
    if (made == NULL) {
        return;
    }
    struct groups groups = group(made, items, count);
    sonde__json_line(json, 5);
    sonde__json_array(json, "made");
    for (uint32_t i = 0; i < groups.count; i++) {
        sonde__json_object(json, NULL);
        sonde__json_uint(json, "count", groups.items[i].count);
        put_group(json, made, &groups.items[i]);
        sonde__json_close(json);
    }
    sonde__json_close(json);
    sonde__json_uint(json, "made_unknown", groups.unknown);
    sonde__mem_free(groups.items);
}
