// SPDX-License-Identifier: Apache-2.0
#include "export_tracks.h"

#include "mem_heap.h"
#include "mem_sort.h"

uint32_t sonde__export_track_of(const struct sonde__export_tracks *t, int64_t tid)
{
    uint32_t hash = sonde__mem_hash((uint64_t)tid);
    return SONDE__TABLE_FIND(&t->table, hash, i, t->list[i].tid == tid);
}

static struct sonde__export_track *track_of(struct sonde__export_tracks *t, int64_t tid)
{
    uint32_t number = sonde__export_track_of(t, tid);
    if (number == SONDE__TABLE_NONE) {
        number = t->count;
        if (!sonde__mem_grow(&t->list, t->count, &t->capacity, sizeof *t->list) ||
            !sonde__mem_table_add(&t->table, sonde__mem_hash((uint64_t)tid), number)) {
            return NULL;
        }
        t->list[t->count++] = (struct sonde__export_track){.tid = tid};
    }
    return &t->list[number];
}

static bool add(struct sonde__export_tracks *t, const struct sonde__export_track *seen,
                uint32_t stall, uint32_t thread)
{
    struct sonde__export_track *track = track_of(t, seen->tid);
    if (track == NULL || !sonde__mem_grow(&t->appearances, t->appearance_count,
                                          &t->appearance_capacity, sizeof *t->appearances)) {
        return false;
    }
    track->name = track->name != 0 ? track->name : seen->name;
    track->main |= seen->main;
    track->stalls |= seen->stalls;
    track->count++;
    uint64_t key = (uint64_t)(track - t->list) << 32 | t->appearance_count;
    t->appearances[t->appearance_count++] = (struct sonde__export_appearance){key, stall, thread};
    return true;
}

static bool add_threads(struct sonde__export_tracks *t, const struct sonde__report_thread *thread,
                        uint32_t stall, uint32_t number)
{
    const struct sonde__export_track seen = {
        .tid = thread->tid, .name = thread->name, .main = thread->main};
    return add(t, &seen, stall, number);
}

static bool add_all(struct sonde__export_tracks *t)
{
    const struct sonde__report *r = t->report;
    bool done = true;
    for (uint32_t i = 0; i < sonde__report_stall_count(r) && done; i++) {
        const struct sonde__report_stall *s = sonde__report_stall(r, i);
        const struct sonde__export_track seen = {
            .tid = s->tid, .name = s->thread_name, .main = s->main, .stalls = true};
        done = add(t, &seen, i + 1, 0);
    }
    for (uint32_t i = 0; i < sonde__report_stall_count(r) && done; i++) {
        const struct sonde__report_stall *s = sonde__report_stall(r, i);
        for (uint32_t k = 0; k < s->thread_count && done; k++) {
            done = add_threads(t, &s->threads[k], i + 1, k + 1);
        }
    }
    for (uint32_t i = 0; i < sonde__report_thread_count(r) && done; i++) {
        done = add_threads(t, sonde__report_thread(r, i), 0, i + 1);
    }
    return done;
}

enum sonde_status sonde__export_tracks_make(struct sonde__export_tracks *t,
                                            const struct sonde__report *report)
{
    *t = (struct sonde__export_tracks){.report = report};
    if (!add_all(t)) {
        return SONDE_MEMORY;
    }
    SONDE__SORT_BY(t->appearances, t->appearance_count, key);
    uint32_t first = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        t->list[i].first = first;
        first += t->list[i].count;
    }
    return SONDE_OK;
}

void sonde__export_tracks_done(struct sonde__export_tracks *t)
{
    sonde__mem_free(t->list);
    sonde__mem_free(t->appearances);
    sonde__mem_table_done(&t->table);
    *t = (struct sonde__export_tracks){0};
}

const struct sonde__report_thread *
sonde__export_thread_of(const struct sonde__report *report,
                        const struct sonde__export_appearance *appearance)
{
    if (appearance->thread == 0) {
        return NULL;
    }
    return appearance->stall == 0 ? sonde__report_thread(report, appearance->thread - 1)
                                  : &sonde__report_stall(report, appearance->stall - 1)
                                         ->threads[appearance->thread - 1];
}
