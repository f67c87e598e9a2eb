// SPDX-License-Identifier: Apache-2.0
/* Two passes over the parts of each stall, to count and to copy, so each array is allocated
 * once. */
#include "report_growing.h"

#include <string.h>

/* Limit of simultaneous stalls; a watch has at most one for each loop. It bounds the comparisons
 * for each part of a hostile file. */
#define STALLS_MAX 256u

struct growing {
    struct sonde__report_stall stall; /* counts: totals of its parts; arrays: null */
    bool is_withdrawn;
};

static bool is_same(const struct sonde__report_stall *a, const struct sonde__report_stall *b)
{
    return a->tid == b->tid && a->begin_ns == b->begin_ns && a->process == b->process;
}

/* Most parts belong to the same stall as the part before. */
static uint32_t find(const struct growing *list, uint32_t count,
                     const struct sonde__report_stall *part)
{
    uint32_t i = count;
    while (i > 0 && !is_same(&list[i - 1].stall, part)) {
        i--;
    }
    return i > 0 ? i - 1 : count;
}

#define TAKE(member) to->member = part->member != 0 ? part->member : to->member

static void take_values(struct sonde__report_stall *to, const struct sonde__report_stall *part)
{
    TAKE(duration_ns);
    TAKE(thread_name);
    TAKE(loop);
    TAKE(loop_detail);
    TAKE(loop_turns);
    TAKE(cpu_ns);
    TAKE(runqueue_ns);
    TAKE(overhead_ns);
    TAKE(samples_early);
    TAKE(sampler);
    TAKE(main);
    TAKE(fingerprint);
    TAKE(phase);
    TAKE(kind);
    TAKE(fatal);
    TAKE(loop_phase);
    TAKE(mode);
    TAKE(app_state);
    to->doubts |= part->doubts;
    to->open = part->open;
    to->load = part->load.measured_ns != 0 ? part->load : to->load;
    to->sample_count += part->sample_count;
    to->thread_count += part->thread_count;
    to->wait_count += part->wait_count;
    if (part->uncovered_count != 0) {
        to->uncovered = part->uncovered;
        to->uncovered_count = part->uncovered_count;
    }
    if (part->annotation_count != 0) {
        to->annotations = part->annotations;
        to->annotation_count = part->annotation_count;
    }
}

/* Room for the elements of all parts; null: no memory, counted as lost. */
static void *take_room(struct sonde__report *report, uint32_t *count, uint32_t max, size_t size,
                       uint64_t *lost)
{
    uint32_t kept = *count < max ? *count : max;
    void *room = kept != 0 ? sonde__report_arena_take(&report->arena, kept * size) : NULL;
    *lost += *count - (room != NULL ? kept : 0);
    *count = room != NULL ? kept : 0;
    return room;
}

static void add_samples(struct sonde__report_sample *to, uint32_t room, uint32_t *count,
                        const struct sonde__report_stall *part)
{
    for (uint32_t i = 0; i < part->sample_count; i++) {
        bool again = *count > 0 && to[*count - 1].time_ns == part->samples[i].time_ns;
        if (again || *count < room) {
            to[*count - again] = part->samples[i];
            *count += !again;
        }
    }
}

/* Drop samples taken after the stall ended, and shorten the last one that is kept. */
static void cut_samples(struct sonde__report_sample *samples, struct sonde__report_stall *stall)
{
    uint32_t *count = &stall->sample_count;
    while (*count > 0 && samples[*count - 1].time_ns >= stall->duration_ns) {
        (*count)--;
    }
    if (*count > 0) {
        struct sonde__report_sample *last = &samples[*count - 1];
        uint64_t rest_ns = stall->duration_ns - last->time_ns;
        last->weight_ns = last->weight_ns < rest_ns ? last->weight_ns : rest_ns;
    }
}

#define ADD(to, count, room, part, list, n)                                                        \
    for (uint32_t k = 0; k < (part)->n && (count) < (room); k++) {                                 \
        (to)[(count)++] = (part)->list[k];                                                         \
    }

static void add_stall(struct sonde__report *report, const struct sonde__report_list *parts,
                      struct sonde__report_stall stall)
{
    struct sonde__report_lost *lost = &report->lost;
    struct sonde__report_sample *samples = take_room(
        report, &stall.sample_count, SONDE__REPORT_SAMPLES_MAX, sizeof *samples, &lost->samples);
    struct sonde__report_thread *threads = take_room(
        report, &stall.thread_count, SONDE__REPORT_THREADS_MAX, sizeof *threads, &lost->threads);
    struct sonde__report_wait *waits =
        take_room(report, &stall.wait_count, SONDE__REPORT_WAITS_MAX, sizeof *waits, &lost->waits);
    uint32_t sample_count = 0, thread_count = 0, wait_count = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct sonde__report_stall *part = sonde__report_list_at(parts, i);
        if (is_same(part, &stall)) {
            add_samples(samples, stall.sample_count, &sample_count, part);
            ADD(threads, thread_count, stall.thread_count, part, threads, thread_count)
            ADD(waits, wait_count, stall.wait_count, part, waits, wait_count)
        }
    }
    stall.samples = samples;
    stall.sample_count = sample_count;
    stall.threads = threads;
    stall.thread_count = thread_count;
    stall.waits = waits;
    stall.wait_count = wait_count;
    cut_samples(samples, &stall);
    (void)sonde__report_append(report, SONDE__PART_STALLS, &stall);
}

static bool is_in(const struct sonde__report *report, uint32_t count,
                  const struct sonde__report_stall *stall)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_same(sonde__report_stall(report, i), stall)) {
            return true;
        }
    }
    return false;
}

void sonde__report_fold_growing(struct sonde__report *report,
                                const struct sonde__report_list *parts)
{
    struct growing *list;
    uint32_t count = 0, before = sonde__report_stall_count(report);
    if (parts->count == 0) {
        return;
    }
    list = sonde__report_arena_take(&report->arena, STALLS_MAX * sizeof *list);
    for (uint32_t i = 0; list != NULL && i < parts->count; i++) {
        const struct sonde__report_stall *part = sonde__report_list_at(parts, i);
        uint32_t at = find(list, count, part);
        if (at == STALLS_MAX) {
            report->lost.stalls++;
            continue;
        }
        if (at == count) {
            list[count++].stall = (struct sonde__report_stall){
                .tid = part->tid, .begin_ns = part->begin_ns, .process = part->process};
        }
        take_values(&list[at].stall, part);
        list[at].is_withdrawn = part->duration_ns == 0;
    }
    report->lost.stalls += list == NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!list[i].is_withdrawn && !is_in(report, before, &list[i].stall)) {
            add_stall(report, parts, list[i].stall);
        }
    }
}
