// SPDX-License-Identifier: Apache-2.0
#include "audit_blocks.h"

#include <stdio.h>

#include "audit_read.h"
#include "base_text.h"
#include "mem_heap.h"
#include "os.h"
#include "record_page.h"

static uint64_t since(uint64_t start_ns, uint64_t time_ns)
{
    return time_ns > start_ns ? time_ns - start_ns : 0; /* the coarse clock lags */
}

struct output {
    const struct sonde__audit_blocks *blocks;
    struct sonde__audit_stacks *stacks;
    struct sonde__report *report;
    uint64_t time_ns;
    bool all;
};

/* now, before: either may be null. */
static void put_group(const struct output *o, const struct sonde__registry_group *now,
                      const struct sonde__registry_group *before)
{
    const struct sonde__registry_group *one = now != NULL ? now : before;
    struct sonde__report_heap_blocks line = {.time_ns = o->time_ns, .tid = (int64_t)one->tid};
    if (now != NULL) {
        line.count = now->count;
        line.size_bytes = now->size_bytes;
        line.oldest_ns = since(o->blocks->start_ns, now->oldest_ns);
        line.newest_ns = since(o->blocks->start_ns, now->newest_ns);
    }
    line.growth = (int64_t)(line.count - (before != NULL ? before->count : 0));
    line.growth_bytes = (int64_t)(line.size_bytes - (before != NULL ? before->size_bytes : 0));
    if (!o->all && line.growth == 0 && line.growth_bytes == 0) {
        return;
    }
    line.stack = sonde__audit_stacks_put(o->stacks, one->stack);
    line.function = sonde__audit_stacks_function(o->stacks, one->invoke);
    sonde__report_add_heap_blocks(o->report, &line);
}

/* Both are sorted: merge them. */
static void put_all(const struct output *o, const struct sonde__registry_group *now,
                    uint32_t now_count, const struct sonde__registry_group *before,
                    uint32_t before_count)
{
    for (uint32_t i = 0, k = 0; i < now_count || k < before_count;) {
        int order = i == now_count      ? 1
                    : k == before_count ? -1
                                        : sonde__registry_group_order(&now[i], &before[k]);
        put_group(o, order <= 0 ? &now[i] : NULL, order >= 0 ? &before[k] : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

enum sonde_status sonde__audit_read_blocks(struct sonde__audit_blocks *blocks, const void *memory,
                                           struct sonde__symfile_cache *symbols, bool all,
                                           struct sonde__report *report)
{
    struct output o = {.blocks = blocks, .report = report, .all = all};
    const struct sonde__audit_source source = {.memory = memory, .nodes = blocks->nodes};
    const struct sonde__registry registry = {(uint8_t *)(uintptr_t)memory + SONDE__RECORD_OFFSET +
                                                 sonde__record_size(blocks->nodes),
                                             blocks->lines};
    uint32_t live, most = sonde__registry_count(&registry) + 1024; /* the program may be running */
    struct sonde__registry_group *groups = sonde__mem_alloc_array(most, sizeof *groups);
    enum sonde_status status = groups != NULL
                                   ? sonde__audit_stacks_open(&source, symbols, report, &o.stacks)
                                   : SONDE_MEMORY;
    if (status != SONDE_OK) {
        sonde__mem_free(groups);
        return status;
    }
    blocks->total = sonde__registry_total(&registry);
    uint32_t count = sonde__registry_groups(&registry, groups, most, &live);
    blocks->live = live;
    o.time_ns = since(blocks->start_ns, sonde__os_now_ns());
    blocks->size_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        blocks->size_bytes += groups[i].size_bytes;
    }
    put_all(&o, groups, count, blocks->groups, blocks->group_count);
    sonde__audit_stacks_close(o.stacks);
    sonde__mem_free(blocks->groups);
    blocks->groups = groups;
    blocks->group_count = count;
    return SONDE_OK;
}

static void print_count(uint64_t count, const char *what, struct sonde__report_lines lines)
{
    if (count != 0) {
        sonde__report_line(lines, "%llu block%s %s", (unsigned long long)count,
                           sonde__base_plural(count), what);
    }
}

void sonde__audit_print_blocks(const struct sonde__audit_blocks *blocks,
                               struct sonde__report_lines lines)
{
    const struct sonde__registry_total *total = &blocks->total;
    /* seen: a runtime linked into the program may have made others */
    sonde__report_line(lines, "saw %llu block%s made on the heap; %llu live, %llu bytes",
                       (unsigned long long)total->made, sonde__base_plural(total->made),
                       (unsigned long long)blocks->live, (unsigned long long)blocks->size_bytes);
    print_count(total->dropped, "had no room: they are not listed", lines);
    print_count(total->replaced, "ended by calls that are not seen", lines);
    print_count(total->unseen, "lost references by calls that are not seen", lines);
    print_count(total->unknown, "(or references to them) were made by calls that are not seen",
                lines);
}
