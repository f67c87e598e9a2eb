// SPDX-License-Identifier: Apache-2.0
#include "report_group.h"

#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* A fingerprint that changed because names were added after it was written. */
struct renamed {
    uint32_t written; /* string id */
    const char *now;
};

/* By fingerprint, then by report, then by position in the report. */
static int by_id(const void *left, const void *right)
{
    const struct sonde__report_group *a = left, *b = right;
    int result = strcmp(a->id, b->id);
    return result != 0 ? result : SONDE__ORDER2(a, b, source, longest);
}

static int by_written(const void *left, const void *right)
{
    const struct renamed *a = left, *b = right;
    return SONDE__ORDER(a, b, written);
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
    into->source = is_longer ? from->source : into->source;
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

static struct sonde__report_group take_count(const struct sonde__report *report, uint32_t index,
                                             const struct renamed *renamed, uint32_t renamed_count)
{
    const struct sonde__report_stall_count *c = sonde__report_stall_count_at(report, index);
    const struct renamed key = {.written = c->fingerprint};
    const struct renamed *found =
        bsearch(&key, renamed, renamed_count, sizeof *renamed, by_written);
    struct sonde__report_group group = {.count = c->count,
                                        .counted = c->count,
                                        .total_ns = c->total_ns,
                                        .longest_ns = c->longest_ns,
                                        .first_ns = c->first_ns,
                                        .last_ns = c->last_ns,
                                        .longest = UINT32_MAX};
    struct sonde__text id;
    sonde__base_text_init(&id, group.id, sizeof group.id);
    sonde__base_text_str(&id,
                         found != NULL ? found->now : sonde__report_text(report, c->fingerprint));
    return group;
}

/* Add a group for each stall and each count of one report. */
static enum sonde_status take_report(const struct sonde__report *report,
                                     struct sonde__report_group *ret_list)
{
    uint32_t stalls = sonde__report_stall_count(report), renamed_count = 0;
    uint32_t counts = sonde__report_stall_count_count(report);
    struct renamed *renamed = sonde__mem_alloc_array((size_t)stalls + 1, sizeof *renamed);
    enum sonde_status status = renamed != NULL ? SONDE_OK : SONDE_MEMORY;
    for (uint32_t i = 0; i < stalls && status == SONDE_OK; i++) {
        uint32_t written = sonde__report_stall(report, i)->fingerprint;
        status = take_stall(report, i, &ret_list[i]);
        if (status == SONDE_OK && written != 0 && ret_list[i].id[0] != '\0') {
            renamed[renamed_count++] = (struct renamed){written, ret_list[i].id};
        }
    }
    if (status == SONDE_OK) {
        qsort(renamed, renamed_count, sizeof *renamed, by_written);
    }
    for (uint32_t i = 0; i < counts && status == SONDE_OK; i++) {
        ret_list[stalls + i] = take_count(report, i, renamed, renamed_count);
    }
    sonde__mem_free(renamed);
    return status;
}

/* Join equal neighbours. Returns the new count. */
static uint32_t join(struct sonde__report_group *all, uint32_t count)
{
    uint32_t kept = 0, source = count == 0 ? 0 : all[0].source;
    for (uint32_t i = 0; i < count; i++) {
        all[i].sources = 1;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t own = all[i].source;
        if (all[i].id[0] != '\0' && strcmp(all[i].id, all[kept].id) == 0) {
            absorb(&all[kept], &all[i]);
            all[kept].sources += own != source;
        } else {
            all[++kept] = all[i];
        }
        source = own;
    }
    return count == 0 ? 0 : kept + 1;
}

enum sonde_status sonde__report_group_stalls(const struct sonde__report *const *reports,
                                             uint32_t count, struct sonde__report_groups *ret)
{
    size_t total = 0;
    uint32_t done = 0;
    enum sonde_status status = SONDE_OK;
    for (uint32_t i = 0; i < count; i++) {
        total += sonde__report_stall_count(reports[i]);
        total += sonde__report_stall_count_count(reports[i]);
    }
    struct sonde__report_group *all = sonde__mem_alloc_array(total + 1, sizeof *all);
    status = all != NULL && total < UINT32_MAX ? SONDE_OK : SONDE_MEMORY;
    for (uint32_t i = 0; i < count && status == SONDE_OK; i++) {
        uint32_t own =
            sonde__report_stall_count(reports[i]) + sonde__report_stall_count_count(reports[i]);
        status = take_report(reports[i], &all[done]);
        for (uint32_t k = 0; k < own && status == SONDE_OK; k++) {
            all[done + k].source = i;
        }
        done += own;
    }
    if (status != SONDE_OK) {
        sonde__mem_free(all);
        return status;
    }
    qsort(all, done, sizeof *all, by_id);
    *ret = (struct sonde__report_groups){all, join(all, done)};
    qsort(all, ret->count, sizeof *all, by_time);
    return SONDE_OK;
}

void sonde__report_groups_done(struct sonde__report_groups *groups)
{
    sonde__mem_free(groups->list);
    *groups = (struct sonde__report_groups){0};
}
