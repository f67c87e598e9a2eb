// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <string.h>

#include "report_model.h"
#include "test.h"
#include "watch_border.h"

uint64_t world_random(struct world *world, uint64_t below)
{
    world->seed ^= world->seed << 13;
    world->seed ^= world->seed >> 7;
    world->seed ^= world->seed << 17;
    return below > 0 ? world->seed % below : 0;
}

static bool stopped_at(const struct world *w, uint64_t now_ns, bool machine)
{
    for (unsigned i = 0; i < w->stop_count; i++) {
        if (w->stops[i].machine == machine && now_ns >= w->stops[i].from_ns &&
            now_ns < w->stops[i].from_ns + w->stops[i].for_ns) {
            return true;
        }
    }
    return false;
}

/* How much of the turn has passed. */
static uint64_t progress(const struct world *w, uint64_t now_ns)
{
    uint64_t done = now_ns > w->begin_ns ? now_ns - w->begin_ns : 0;
    for (unsigned i = 0; i < w->stop_count; i++) {
        uint64_t from = w->stops[i].from_ns, to = from + w->stops[i].for_ns;
        to = to < now_ns ? to : now_ns;
        from = from > w->begin_ns ? from : w->begin_ns;
        done -= to > from ? to - from : 0;
    }
    return done;
}

static unsigned phase_at(const struct world *w, uint64_t done_ns)
{
    unsigned phase = 0;
    while (phase < w->phase_count && done_ns >= w->phases_ns[phase]) {
        done_ns -= w->phases_ns[phase++];
    }
    return phase;
}

static uint64_t length(const struct world *w)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < w->phase_count; i++) {
        sum += w->phases_ns[i];
    }
    return sum;
}

/* CPU time of the thread up to `done_ns` of its turn. */
static uint64_t cpu_after(const struct world *w, uint64_t done_ns)
{
    uint64_t cpu = 0, from = 0;
    for (unsigned i = 0; i < w->phase_count && from < done_ns; i++) {
        uint64_t part = done_ns - from < w->phases_ns[i] ? done_ns - from : w->phases_ns[i];
        cpu += w->blocks[i] ? 0 : part;
        from += w->phases_ns[i];
    }
    return cpu;
}

/* Ticks of the thread's CPU time in the phases of two samples, between which it ran. */
static void find_ticks(const struct world *w, uint64_t from_ns, uint64_t to_ns,
                       struct sonde__watch_gap *gap)
{
    unsigned from = phase_at(w, from_ns), to = phase_at(w, to_ns);
    gap->left_ns = from_ns;
    gap->came_ns = to_ns;
    for (uint64_t at = from_ns; at < to_ns && from < to; at++) {
        at += SONDE__WATCH_TICK_NS - 1 - (cpu_after(w, at) + w->tick_ns) % SONDE__WATCH_TICK_NS;
        unsigned phase = phase_at(w, at);
        gap->left_ns = phase == from && at < to_ns ? at : gap->left_ns;
        gap->came_ns = phase == to && at < gap->came_ns ? at : gap->came_ns;
    }
}

/* The first and the last switch after a moment of the turn, until another one. */
static void find_borders(const struct world *w, uint64_t from_ns, uint64_t to_ns,
                         struct sonde__watch_gap *gap)
{
    uint64_t border = 0;
    for (unsigned i = 0; w->traced && i + 1 < w->phase_count; i++) {
        border += w->phases_ns[i];
        if (border > from_ns && border <= to_ns && (w->blocks[i] || w->blocks[i + 1])) {
            gap->left_ns = gap->left_ns == 0 ? border : gap->left_ns;
            gap->came_ns = border;
        }
    }
    if (w->traced && w->stall.count > 0 && gap->left_ns == 0 && gap->moved_ns != UINT64_MAX) {
        find_ticks(w, from_ns, to_ns, gap);
    }
}

static void take(struct world *w, unsigned phase, const struct sonde__watch_gap *gap)
{
    w->samples++;
    uint64_t pcs[1] = {0x1000 + phase};
    uint8_t how[1] = {0};
    struct sonde__sample sample = {.stack = {.pcs = pcs, .how = how, .count = 1, .capacity = 1}};
    CHECK(sonde__sample_keep(&sample));
    sonde__watch_stall_add(&w->stall, &sample, w->decision.counted_ns, gap);
}

struct watcher {
    uint64_t done_ns, sampled_done_ns; /* of the turn, at the last look and sample */
    uint64_t now_ns;
    uint64_t first_ns, seen_ns;
    bool was_seen, still, even;
};

/* How far the thread ran between two moments of its turn, by the thread's switches. */
static uint64_t moved(const struct world *w, uint64_t from_ns, uint64_t to_ns)
{
    unsigned a = phase_at(w, from_ns), b = phase_at(w, to_ns);
    if (a == b && a < w->phase_count && w->blocks[a]) {
        return 0;
    }
    for (unsigned i = a; i <= b && i < w->phase_count; i++) {
        if (w->blocks[i]) {
            return UINT64_MAX;
        }
    }
    return to_ns - from_ns;
}

static void look(struct world *w, struct watcher *at, uint64_t now_ns, uint64_t late_ns)
{
    uint64_t done = progress(w, now_ns), all = length(w);
    bool busy = now_ns >= w->begin_ns && done < all;
    uint64_t end_ns = w->ended_at_ns;
    struct sonde__watch_look seen = {
        .now_ns = now_ns,
        .busy = busy,
        .since_ns = w->begin_ns,
        .ended_ns = !busy && at->was_seen ? end_ns : 0,
        .own_ns = late_ns,
        .ran_ns = cpu_after(w, done) - cpu_after(w, at->done_ns),
        .held = busy && stopped_at(w, now_ns, false),
        .means = w->means,
        .still = w->traced && busy && at->was_seen && moved(w, at->done_ns, done) == 0,
    };
    if (busy && !at->was_seen) {
        at->was_seen = true;
        at->first_ns = now_ns - w->begin_ns;
        at->even = sonde__watch_stall_is_even(w->blocks[phase_at(w, done)] ? 'S' : 'R',
                                              at->first_ns, cpu_after(w, done), 0);
        at->sampled_done_ns = done;
    }
    const struct sonde__watch_gap gap = {.moved_ns = moved(w, at->sampled_done_ns, done),
                                         .still_ns = at->first_ns,
                                         .even = at->even,
                                         .reason = SONDE__REPORT_UNCOVERED_LATE};
    enum sonde__watch_action action = sonde__watch_decide(&w->decision, &seen);
    struct sonde__watch_gap now = gap;
    now.step_ns = w->decision.sample_ns;
    now.apart_ns = w->decision.apart_ns;
    if (w->stop_count == 0) { /* without stops both times are the same */
        find_borders(w, at->sampled_done_ns, done, &now);
    }
    w->looks++;
    w->begun += action == SONDE__WATCH_BEGIN;
    w->ended += action == SONDE__WATCH_END;
    if (action == SONDE__WATCH_SAMPLE || action == SONDE__WATCH_BEGIN) {
        if (w->stall.count > 0 && now.moved_ns == 0) {
            sonde__watch_stall_stay(&w->stall, w->decision.counted_ns, now.step_ns);
            at->sampled_done_ns = done;
        } else if (sonde__watch_stall_wants(&w->stall, w->decision.counted_ns, &now)) {
            take(w, phase_at(w, done), &now);
            at->sampled_done_ns = done;
        }
    } else if (action == SONDE__WATCH_END) {
        if (at->still && w->stall.count > 0) {
            sonde__watch_stall_stay(&w->stall, at->seen_ns, now.step_ns);
        }
        sonde__watch_stall_end(&w->stall, w->decision.duration_ns, &now);
    } else if (action == SONDE__WATCH_DROP) {
        sonde__watch_stall_done(&w->stall);
    }
    at->still = busy && now.moved_ns == 0;
    at->seen_ns = busy ? w->decision.counted_ns : at->seen_ns;
    at->done_ns = busy ? done : at->done_ns;
    at->now_ns = now_ns;
}

/* The next moment at which the machine runs. */
static uint64_t when_awake(const struct world *w, uint64_t now_ns)
{
    for (unsigned i = 0; i < w->stop_count; i++) {
        uint64_t to = w->stops[i].from_ns + w->stops[i].for_ns;
        if (w->stops[i].machine && now_ns >= w->stops[i].from_ns && now_ns < to) {
            now_ns = to;
        }
    }
    return now_ns;
}

void world_play(struct world *w)
{
    struct watcher at = {0};
    w->tick_ns = world_random(w, SONDE__WATCH_TICK_NS);
    sonde__watch_decide_init(&w->decision, w->threshold_ns);
    sonde__watch_stall_init(&w->stall);
    w->begun = w->ended = w->looks = w->samples = 0;
    w->ended_at_ns = w->begin_ns + length(w);
    while (progress(w, w->ended_at_ns) < length(w)) {
        w->ended_at_ns += length(w) - progress(w, w->ended_at_ns);
    }
    uint64_t period = sonde__watch_idle_period(w->threshold_ns);
    uint64_t now_ns = world_random(w, period), late_ns = 0;
    while (now_ns < w->ended_at_ns + 1000 * MS && w->ended == 0) {
        look(w, &at, now_ns, late_ns);
        uint64_t wait = sonde__watch_next_tick(&w->decision, now_ns);
        late_ns = world_random(w, w->late_max_ns + 1);
        now_ns =
            when_awake(w, now_ns + (wait < period || wait != UINT64_MAX ? wait : period)) + late_ns;
        now_ns += wait == 0; /* time passes */
    }
}

void world_done(struct world *w)
{
    sonde__watch_stall_done(&w->stall);
}

uint64_t world_given(const struct world *w, unsigned phase)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < w->stall.count; i++) {
        const struct sonde__watch_sample *sample = &w->stall.samples[i];
        sum += sample->sample.stack.pcs[0] == 0x1000 + phase ? sample->weight_ns : 0;
    }
    for (uint32_t i = 0; phase == PHASES_MAX && i < w->stall.uncovered_count; i++) {
        sum += w->stall.uncovered[i].duration_ns;
    }
    return sum;
}

unsigned world_blamed(const struct world *w)
{
    unsigned most = 0;
    for (unsigned i = 1; i < w->phase_count; i++) {
        most = world_given(w, i) > world_given(w, most) ? i : most;
    }
    return most;
}
