// SPDX-License-Identifier: Apache-2.0
#include "sampler_stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_math.h"
#include "report_model.h"

uint64_t sonde__sampler_stall_moved(uint64_t moved_ns, bool waits,
                                    const struct sonde__os_schedstat *at_look,
                                    const struct sonde__os_schedstat *at_sample)
{
    if (moved_ns == UINT64_MAX || (waits && at_look->slices != at_sample->slices)) {
        return UINT64_MAX;
    }
    return moved_ns + sonde__base_minus(at_sample->cpu_ns, at_look->cpu_ns);
}

void sonde__sampler_stall_init(struct sonde__sampler_stall *stall)
{
    memset(stall, 0, sizeof *stall);
}

void sonde__sampler_stall_done(struct sonde__sampler_stall *stall)
{
    for (uint32_t i = 0; i < stall->count; i++) {
        sonde__sample_done(&stall->samples[i].sample);
    }
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        sonde__sample_done(&stall->threads[i]);
    }
    free(stall->samples);
    free(stall->threads);
    free(stall->causes);
    free(stall->notes);
    sonde__sampler_child_done(stall->child);
    sonde__sampler_stall_init(stall);
}

static bool make_room(struct sonde__sampler_stall *stall)
{
    if (stall->count < stall->capacity) {
        return true;
    }
    uint32_t capacity = stall->capacity == 0 ? 64 : stall->capacity * 2;
    struct sonde__sampler_sample *samples =
        capacity > SONDE__SAMPLER_SAMPLES_MAX
            ? NULL
            : realloc(stall->samples, capacity * sizeof *stall->samples);
    if (samples == NULL) {
        return false;
    }
    stall->samples = samples;
    stall->capacity = capacity;
    return true;
}

/* Add an uncovered time. When the list is full, the last one grows. */
static void add_uncovered(struct sonde__sampler_stall *stall, uint64_t from_ns, uint64_t to_ns,
                          const struct sonde__sampler_gap *gap, uint32_t reason)
{
    uint32_t n = stall->uncovered_count;
    struct sonde__sampler_uncovered *last = n > 0 ? &stall->uncovered[n - 1] : NULL;
    if (to_ns <= from_ns) {
        return;
    }
    if (last != NULL && n == SONDE__SAMPLER_UNCOVERED_MAX) {
        last->duration_ns += to_ns - from_ns;
        return;
    }
    last = &stall->uncovered[stall->uncovered_count++];
    *last = (struct sonde__sampler_uncovered){
        .time_ns = from_ns, .duration_ns = to_ns - from_ns, .reason = reason};
    if (from_ns == 0 && gap->waits != NULL) {
        last->cpu_ns = sonde__base_min(gap->cpu_ns, last->duration_ns);
        last->runqueue_ns = sonde__base_min(gap->runqueue_ns, last->duration_ns);
        snprintf(last->detail, sizeof last->detail, "%s", gap->waits);
    }
}

/* In this time the threads beside a stall are sampled, and the stalled one is not. Where processors
 * are short, each one that could run takes up to 300 ms. */
#define OTHERS_NS 250000000u

static bool stays(const struct sonde__sampler_gap *gap)
{
    return gap->moved_ns == 0;
}

/* If a thread moved for at most this many planned intervals between two samples, each sample covers
 * half of the time. */
#define NEAR_STEPS 4u
/* Largest step of the clock that stamps a turn's begin and end. */
#define TICK_NS 5000000u
/* What a thread runs before a wait without being elsewhere: a part of the time, or so much. */
#define EVEN_PART 8u
#define EVEN_NS   1000000u
/* How long the thread may have been elsewhere before the first look, in planned intervals. */
#define EVEN_STEPS 2u

bool sonde__sampler_stall_is_even(const struct sonde__sampler_head *head, uint64_t step_ns)
{
    uint64_t part_ns = head->ns / EVEN_PART, most_ns = EVEN_STEPS * step_ns;
    if (head->state == 'R') {
        return head->cpu_ns + head->runqueue_ns + part_ns + TICK_NS >= head->ns &&
               head->cpu_ns <= most_ns;
    }
    return (head->state == 'S' || head->state == 'D') &&
           head->cpu_ns <= sonde__base_max(part_ns, EVEN_NS) && head->ns <= most_ns;
}

/* Has the thread moved so little that the two samples cover the time between them? */
static bool is_near(uint64_t between_ns, uint64_t step_ns, const struct sonde__sampler_gap *gap)
{
    return sonde__base_min(between_ns, gap->moved_ns) <= NEAR_STEPS * step_ns;
}

static bool knows_borders(const struct sonde__sampler_stall *stall, uint64_t counted_ns,
                          const struct sonde__sampler_gap *gap)
{
    return gap->left_ns >= stall->last_ns && gap->left_ns != 0 && gap->came_ns >= gap->left_ns &&
           gap->came_ns <= counted_ns;
}

/* Cover the time before the first sample: half an interval, or back to the first look if the thread
 * has hardly run since; or to the begin, if it did the same before. Waiting for a CPU does not move
 * a thread. If it is known when it came to its place: back to then. */
static uint64_t cover_head(struct sonde__sampler_stall *stall, uint64_t counted_ns,
                           const struct sonde__sampler_gap *gap)
{
    uint64_t from_ns = counted_ns - sonde__base_min(counted_ns, gap->step_ns / 2);
    if (knows_borders(stall, counted_ns, gap)) {
        from_ns = gap->came_ns;
    } else if (gap->moved_ns <= NEAR_STEPS * gap->step_ns) {
        from_ns = gap->even ? 0 : sonde__base_min(from_ns, gap->still_ns);
    }
    add_uncovered(stall, 0, from_ns, gap, SONDE__REPORT_UNCOVERED_BEFORE);
    return from_ns;
}

/* Divide the time since the last sample between that sample and the next one, and leave the rest
 * uncovered. same: both are equal. Returns the begin of the next sample's time. */
static uint64_t cover_gap(struct sonde__sampler_stall *stall, uint64_t counted_ns,
                          const struct sonde__sampler_gap *gap, bool same)
{
    struct sonde__sampler_sample *last = &stall->samples[stall->count - 1];
    uint64_t between_ns = counted_ns - stall->last_ns, step_ns = stall->last_step_ns;
    uint64_t end_ns = counted_ns, from_ns = counted_ns;
    if (knows_borders(stall, counted_ns, gap)) {
        bool ran_on = gap->moved_ns != UINT64_MAX;
        bool near = gap->came_ns - gap->left_ns <= (same || ran_on ? NEAR_STEPS : 1) * step_ns;
        uint64_t half_ns = (gap->came_ns - gap->left_ns) / 2;
        end_ns = near ? gap->left_ns + half_ns : gap->left_ns;
        from_ns = near ? end_ns : gap->came_ns;
    } else if (is_near(between_ns, step_ns, gap) && !stays(gap)) {
        end_ns = from_ns = stall->last_ns + between_ns / 2;
    } else if (!stays(gap)) {
        end_ns = stall->last_ns + step_ns;
        from_ns = counted_ns - step_ns;
    }
    last->weight_ns = end_ns - last->time_ns;
    add_uncovered(stall, end_ns, from_ns, gap, gap->reason);
    return from_ns;
}

bool sonde__sampler_stall_wants(const struct sonde__sampler_stall *stall, uint64_t counted_ns,
                                const struct sonde__sampler_gap *gap)
{
    bool runs_on = gap->moved_ns != UINT64_MAX;
    return stall->count == 0 ||
           (!stays(gap) &&
            (!runs_on || counted_ns - stall->last_ns + gap->step_ns / 2 >= gap->apart_ns));
}

void sonde__sampler_stall_add(struct sonde__sampler_stall *stall, struct sonde__sample *sample,
                              uint64_t counted_ns, const struct sonde__sampler_gap *gap)
{
    struct sonde__sampler_sample *last;
    uint64_t from_ns = 0;
    stall->early += sample->capture.early;
    counted_ns = counted_ns > stall->last_ns ? counted_ns : stall->last_ns;
    last = stall->count > 0 ? &stall->samples[stall->count - 1] : NULL;
    bool same = last != NULL && sonde__sample_is_same(&last->sample, sample);
    from_ns =
        last == NULL ? cover_head(stall, counted_ns, gap) : cover_gap(stall, counted_ns, gap, same);
    stall->last_ns = counted_ns;
    stall->last_step_ns = gap->step_ns;
    if (same && last->time_ns + last->weight_ns == from_ns) {
        last->weight_ns = counted_ns - last->time_ns;
        sonde__sample_done(sample);
        return;
    }
    if (!make_room(stall)) {
        stall->lost++;
        if (last != NULL) {
            last->weight_ns += counted_ns - from_ns;
        }
        sonde__sample_done(sample);
        return;
    }
    /* there is room: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    stall->samples[stall->count++] = (struct sonde__sampler_sample){
        .sample = *sample, .time_ns = from_ns, .weight_ns = counted_ns - from_ns};
}

struct sonde__sampler_mark sonde__sampler_stall_mark(const struct sonde__sampler_stall *stall)
{
    return (struct sonde__sampler_mark){stall->count, stall->uncovered_count, stall->last_ns,
                                        stall->last_step_ns};
}

void sonde__sampler_stall_return(struct sonde__sampler_stall *stall,
                                 const struct sonde__sampler_mark *mark)
{
    if (mark->uncovered_count == SONDE__SAMPLER_UNCOVERED_MAX) {
        return; /* the last one may have grown */
    }
    while (stall->count > mark->count) {
        sonde__sample_done(&stall->samples[--stall->count].sample);
    }
    stall->uncovered_count = mark->uncovered_count;
    stall->last_ns = mark->last_ns;
    stall->last_step_ns = mark->last_step_ns;
}

void sonde__sampler_stall_stay(struct sonde__sampler_stall *stall, uint64_t counted_ns,
                               uint64_t step_ns)
{
    struct sonde__sampler_sample *last = &stall->samples[stall->count - 1];
    if (counted_ns > stall->last_ns) {
        last->weight_ns = counted_ns - last->time_ns;
        stall->last_ns = counted_ns;
    }
    stall->last_step_ns = step_ns;
}

/* Drop what lies after the end. A clock of some ms stamps the end, so the last sample may be later.
 * Returns the end of the time that the remaining samples cover. */
static uint64_t cut(struct sonde__sampler_stall *stall, uint64_t duration_ns)
{
    uint64_t until_ns = 0;
    while (stall->cause_count > 0 && stall->cause_ns[stall->cause_count - 1] > duration_ns) {
        stall->cause_count--;
    }
    while (stall->count > 0 && stall->samples[stall->count - 1].time_ns >= duration_ns) {
        sonde__sample_done(&stall->samples[--stall->count].sample);
    }
    while (stall->uncovered_count > 0 &&
           stall->uncovered[stall->uncovered_count - 1].time_ns >= duration_ns) {
        stall->uncovered_count--;
    }
    if (stall->count > 0) {
        struct sonde__sampler_sample *last = &stall->samples[stall->count - 1];
        last->weight_ns = sonde__base_min(last->weight_ns, duration_ns - last->time_ns);
        until_ns = last->time_ns + last->weight_ns;
    }
    if (stall->uncovered_count > 0) {
        struct sonde__sampler_uncovered *last = &stall->uncovered[stall->uncovered_count - 1];
        last->duration_ns = sonde__base_min(last->duration_ns, duration_ns - last->time_ns);
        uint64_t end_ns = last->time_ns + last->duration_ns;
        until_ns = end_ns > until_ns ? end_ns : until_ns;
    }
    return until_ns;
}

void sonde__sampler_stall_end(struct sonde__sampler_stall *stall, uint64_t duration_ns,
                              const struct sonde__sampler_gap *gap)
{
    uint64_t until_ns = cut(stall, duration_ns);
    if (stall->count == 0) {
        stall->uncovered_count = 0;
        add_uncovered(stall, 0, duration_ns, gap, gap->reason);
    } else if (until_ns < duration_ns) {
        struct sonde__sampler_sample *last = &stall->samples[stall->count - 1];
        uint64_t end_ns = duration_ns, step_ns = stall->last_step_ns;
        if (knows_borders(stall, duration_ns, gap)) {
            end_ns = duration_ns - gap->left_ns > TICK_NS ? gap->left_ns : duration_ns;
        } else if (!is_near(duration_ns - stall->last_ns, step_ns, gap)) {
            end_ns = stall->last_ns + step_ns;
        }
        last->weight_ns = end_ns - last->time_ns;
        add_uncovered(stall, end_ns, duration_ns, gap, gap->reason);
    }
}

void sonde__sampler_stall_add_threads(struct sonde__sampler_stall *stall,
                                      struct sonde__sampler *sampler, uint64_t tid)
{
    uint32_t count = sonde__sampler_list(sampler);
    count = count < SONDE__SAMPLER_THREADS_MAX ? count : SONDE__SAMPLER_THREADS_MAX;
    stall->threads = calloc((size_t)count + 1, sizeof *stall->threads);
    if (stall->threads != NULL) {
        stall->thread_count =
            sonde__sampler_take_all(sampler, tid, tid != 0 ? OTHERS_NS : UINT64_MAX, stall->threads,
                                    count, &stall->thread_total);
    }
}
