// SPDX-License-Identifier: Apache-2.0
#include "report_group.h"

#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* By fingerprint, then by place in the report. */
static int by_id(const void *left, const void *right)
{
    const struct sonde__report_group *a = left, *b = right;
    int result = strcmp(a->id, b->id);
    return result != 0 ? result : SONDE__ORDER(a, b, longest);
}

static int by_time(const void *left, const void *right)
{
    const struct sonde__report_group *a = left, *b = right;
    return a->first_ns != b->first_ns ? (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns)
                                      : by_id(left, right);
}

static void absorb(struct sonde__report_group *into, const struct sonde__report_group *from)
{
    bool is_longer = into->longest == UINT32_MAX ||
                     (from->longest != UINT32_MAX && from->longest_ns > into->longest_ns);
    into->longest = is_longer ? from->longest : into->longest;
    into->count += from->count;
    into->counted += from->counted;
    into->total_ns += from->total_ns;
    into->longest_ns = from->longest_ns > into->longest_ns ? from->longest_ns : into->longest_ns;
    into->first_ns = from->first_ns < into->first_ns ? from->first_ns : into->first_ns;
    into->last_ns = from->last_ns > into->last_ns ? from->last_ns : into->last_ns;
}

static enum sonde_status take_stall(const struct sonde__report *report, uint32_t index,
                                    struct sonde__report_group *ret_group)
{
    const struct sonde__report_stall *stall = sonde__report_stall(report, index);
    struct sonde__report_fingerprint fingerprint;
    enum sonde_status status = sonde__report_fingerprint(report, stall, &fingerprint);
    if (status == SONDE_OK) {
        *ret_group = (struct sonde__report_group){.count = 1,
                                                  .total_ns = stall->duration_ns,
                                                  .longest_ns = stall->duration_ns,
                                                  .first_ns = stall->begin_ns,
                                                  .last_ns = stall->begin_ns,
                                                  .longest = index};
        memcpy(ret_group->id, fingerprint.id, sizeof ret_group->id);
        sonde__report_fingerprint_done(&fingerprint);
    }
    return status;
}

static struct sonde__report_group take_count(const struct sonde__report *report, uint32_t index)
{
    const struct sonde__report_stall_count *c = sonde__report_stall_count_at(report, index);
    struct sonde__report_group group = {.count = c->count,
                                        .counted = c->count,
                                        .total_ns = c->total_ns,
                                        .longest_ns = c->longest_ns,
                                        .first_ns = c->first_ns,
                                        .last_ns = c->last_ns,
                                        .longest = UINT32_MAX};
    struct sonde__text id;
    sonde__base_text_init(&id, group.id, sizeof group.id);
    sonde__base_text_str(&id, sonde__report_text(report, c->fingerprint));
    return group;
}

enum sonde_status sonde__report_group_stalls(const struct sonde__report *report,
                                             struct sonde__report_groups *ret)
{
    uint32_t stalls = sonde__report_stall_count(report), kept = 0;
    uint32_t count = stalls + sonde__report_stall_count_count(report);
    struct sonde__report_group *all = sonde__mem_alloc_array((size_t)count + 1, sizeof *all);
    enum sonde_status status = all != NULL ? SONDE_OK : SONDE_MEMORY;
    for (uint32_t i = 0; i < stalls && status == SONDE_OK; i++) {
        status = take_stall(report, i, &all[i]);
    }
    if (status != SONDE_OK) {
        sonde__mem_free(all);
        return status;
    }
    for (uint32_t i = stalls; i < count; i++) {
        all[i] = take_count(report, i - stalls);
    }
    qsort(all, count, sizeof *all, by_id);
    for (uint32_t i = 1; i < count; i++) {
        if (all[i].id[0] != '\0' && strcmp(all[i].id, all[kept].id) == 0) {
            absorb(&all[kept], &all[i]);
        } else {
            all[++kept] = all[i];
        }
    }
    *ret = (struct sonde__report_groups){all, count == 0 ? 0 : kept + 1};
    qsort(all, ret->count, sizeof *all, by_time);
    return SONDE_OK;
}

void sonde__report_groups_done(struct sonde__report_groups *groups)
{
    sonde__mem_free(groups->list);
    *groups = (struct sonde__report_groups){0};
}
