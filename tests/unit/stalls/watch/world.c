// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <string.h>

#include "base_math.h"
#include "decide_turns.h"
#include "report_model.h"
#include "sampler_border.h"
#include "test.h"

/* CPU time until a running thread is sampled; until one is that waited. */
enum { SAMPLE_NS = 200000, MET_NS = 1000000 };

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

static void add_slice(struct world *w, unsigned phase, uint64_t ns, uint8_t what)
{
    CHECK(w->slice_count < SLICES_MAX);
    w->slices[w->slice_count].ns = ns;
    w->slices[w->slice_count++].what = what;
    w->phases_ns[phase] += ns;
}

/* Divide the phases into slices, and add the time that other threads take. A slice that is not
 * used up goes on in the next phase. */
static void slice(struct world *w)
{
    uint64_t rest_ns = w->slice_ns > 0 ? world_random(w, w->slice_ns) : 0;
    for (unsigned i = 0; i < w->phase_count; i++) {
        uint64_t left_ns = w->phases_ns[i];
        w->phases_ns[i] = 0;
        while (left_ns > 0) {
            rest_ns = w->blocks[i] || w->crowd_ns == 0 ? left_ns : rest_ns;
            uint64_t ns = left_ns < rest_ns ? left_ns : rest_ns;
            left_ns -= ns;
            rest_ns -= ns;
            add_slice(w, i, ns, w->blocks[i] ? WORLD_WAITS : WORLD_RUNS);
            if (w->crowd_ns != 0 && rest_ns == 0) {
                add_slice(w, i, world_random(w, w->crowd_ns), WORLD_READY);
                rest_ns = w->slice_ns;
            }
        }
    }
}

static uint8_t what_at(const struct world *w, uint64_t done_ns)
{
    unsigned i = 0;
    while (i < w->slice_count && done_ns >= w->slices[i].ns) {
        done_ns -= w->slices[i++].ns;
    }
    return i < w->slice_count ? w->slices[i].what : WORLD_RUNS;
}

/* For how long the thread did this up to `done_ns` of its turn. */
static uint64_t time_after(const struct world *w, uint64_t done_ns, uint8_t what)
{
    uint64_t sum = 0, from = 0;
    for (unsigned i = 0; i < w->slice_count && from < done_ns; i++) {
        uint64_t part = done_ns - from < w->slices[i].ns ? done_ns - from : w->slices[i].ns;
        sum += w->slices[i].what == what ? part : 0;
        from += w->slices[i].ns;
    }
    return sum;
}

/* The kernel counts a wait for a processor when it ends. */
static uint64_t queued_after(const struct world *w, uint64_t done_ns)
{
    uint64_t sum = 0, from = 0;
    for (unsigned i = 0; i < w->slice_count; i++) {
        from += w->slices[i].ns;
        sum += from <= done_ns && w->slices[i].what == WORLD_READY ? w->slices[i].ns : 0;
    }
    return sum;
}

static uint64_t cpu_after(const struct world *w, uint64_t done_ns)
{
    return time_after(w, done_ns, WORLD_RUNS);
}

/* The moment after from_ns at which the thread has run for ran_ns more, or to_ns. */
static uint64_t after_running(const struct world *w, uint64_t from_ns, uint64_t to_ns,
                              uint64_t ran_ns)
{
    uint64_t from = 0;
    ran_ns += cpu_after(w, from_ns);
    for (unsigned i = 0; i < w->slice_count && from < to_ns; i++) {
        uint64_t ns = w->slices[i].ns;
        if (w->slices[i].what == WORLD_RUNS && ran_ns <= ns) {
            return from + ran_ns < to_ns ? from + ran_ns : to_ns;
        }
        ran_ns -= w->slices[i].what == WORLD_RUNS ? ns : 0;
        from += ns;
    }
    return to_ns;
}

/* Each function of the program has one byte, and is a phase. */
static bool find_function(const void *ctx, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end)
{
    (void)ctx;
    *ret_start = pc;
    *ret_end = pc + 1;
    return true;
}

static uint64_t pc_of(unsigned phase)
{
    return 0x1000 + phase;
}

static void tell_offs(const struct world *w, uint64_t from_ns, uint64_t to_ns,
                      struct sonde__sampler_border *border)
{
    uint64_t from = 0;
    for (unsigned i = 0; i < w->slice_count; i++) {
        uint64_t to = from + w->slices[i].ns;
        if (w->slices[i].what == WORLD_READY && to > from_ns && to <= to_ns) {
            sonde__sampler_border_off(border, from, to);
        }
        from = to;
    }
}

/* Find the border between the phases of two samples, between which the thread ran on, by ticks of
 * its CPU time. */
static void find_ticks(const struct world *w, uint64_t from_ns, uint64_t to_ns,
                       struct sonde__sampler_gap *gap)
{
    struct sonde__sampler_border border;
    uint64_t from_pc = pc_of(phase_at(w, from_ns)), to_pc = pc_of(phase_at(w, to_ns));
    const struct sonde_stack from = {.pcs = &from_pc, .count = 1}, to = {.pcs = &to_pc, .count = 1};
    sonde__sampler_border_begin(&border, &from, &to, find_function, NULL);
    uint64_t step_ns = w->tick_step_ns != 0 ? w->tick_step_ns : SONDE__SAMPLER_TICK_NS;
    uint64_t ran_ns = step_ns - (cpu_after(w, from_ns) + w->tick_ns) % step_ns;
    for (;; ran_ns += step_ns) {
        uint64_t at_ns = after_running(w, from_ns, to_ns, ran_ns);
        const struct sonde__host_tick tick = {.time_ns = at_ns, .pc = pc_of(phase_at(w, at_ns))};
        if (at_ns >= to_ns) {
            break;
        }
        (void)sonde__sampler_border_tick(&border, &tick);
    }
    tell_offs(w, from_ns, to_ns, &border);
    uint64_t left_ns, came_ns;
    if (sonde__sampler_border_find(&border, from_ns, to_ns, &left_ns, &came_ns)) {
        gap->left_ns = left_ns > from_ns ? left_ns : from_ns;
        gap->came_ns = came_ns < to_ns ? came_ns : to_ns;
    }
}

/* The first and the last switch after a moment of the turn, until another one. */
static void find_borders(const struct world *w, uint64_t from_ns, uint64_t to_ns,
                         struct sonde__sampler_gap *gap)
{
    uint64_t border = 0;
    for (unsigned i = 0; w->traced && i < w->phase_count; i++) {
        bool waits = w->blocks[i] || (i + 1 < w->phase_count && w->blocks[i + 1]);
        border += w->phases_ns[i];
        if (border > from_ns && border <= to_ns && waits) {
            gap->left_ns = gap->left_ns == 0 ? border : gap->left_ns;
            gap->came_ns = border;
        }
    }
    bool ends = phase_at(w, to_ns) == w->phase_count;
    if (w->traced && w->stall.count > 0 && gap->left_ns == 0 && gap->moved_ns != UINT64_MAX &&
        !ends) {
        find_ticks(w, from_ns, to_ns, gap);
    }
}

static void take(struct world *w, unsigned phase, uint64_t counted_ns,
                 const struct sonde__sampler_gap *gap)
{
    w->samples++;
    uint64_t pcs[1] = {pc_of(phase)};
    uint8_t how[1] = {0};
    struct sonde__sample sample = {.stack = {.pcs = pcs, .how = how, .count = 1, .capacity = 1}};
    CHECK(sonde__sample_keep(&sample));
    sonde__sampler_stall_add(&w->stall, &sample, counted_ns, gap);
}

struct watcher {
    uint64_t done_ns, sampled_done_ns; /* of the turn, at the last look and sample */
    uint64_t now_ns, due_ns;
    uint64_t first_ns, seen_ns;
    struct sonde__sampler_head head;
    bool was_seen, still;
};

/* How far the thread ran between two moments of its turn, by the thread's switches. */
static uint64_t moved(const struct world *w, uint64_t from_ns, uint64_t to_ns)
{
    unsigned a = phase_at(w, from_ns), b = phase_at(w, to_ns);
    if (a == b && a < w->phase_count && w->blocks[a] && what_at(w, to_ns) == WORLD_WAITS) {
        return 0;
    }
    for (unsigned i = a; i <= b && i < w->phase_count; i++) {
        if (w->blocks[i]) {
            return UINT64_MAX;
        }
    }
    uint64_t ran_ns = cpu_after(w, to_ns) - cpu_after(w, from_ns);
    return ran_ns > 0 ? ran_ns : 1;
}

/* How much of the turn has passed when a sample is taken: a thread without a processor is sampled
 * when it has one, or waits again. */
static uint64_t sampled_at(const struct world *w, uint64_t done_ns)
{
    uint64_t from = 0;
    if (what_at(w, done_ns) != WORLD_READY) {
        return done_ns;
    }
    for (unsigned i = 0; i < w->slice_count; i++) {
        uint64_t to = from + w->slices[i].ns;
        bool waits = w->slices[i].what == WORLD_WAITS && from > done_ns;
        if (waits || (w->slices[i].what == WORLD_RUNS && to > done_ns && to - from >= SAMPLE_NS)) {
            return waits ? from : from + SAMPLE_NS;
        }
        from = to;
    }
    return UINT64_MAX;
}

/* A thread that waited at its last sample was sampled when it ran. */
static void meet(struct world *w, struct watcher *at, uint64_t done_ns, uint64_t counted_ns)
{
    uint64_t from_ns = at->sampled_done_ns;
    uint64_t met_ns = after_running(w, from_ns, done_ns, MET_NS);
    struct sonde__sampler_gap gap = {.moved_ns = UINT64_MAX,
                                     .step_ns = w->decision.sample_ns,
                                     .reason = SONDE__REPORT_UNCOVERED_LATE};
    if (!w->traced || w->stop_count > 0 || w->stall.count == 0 || met_ns >= done_ns ||
        what_at(w, from_ns) != WORLD_WAITS) {
        return;
    }
    find_borders(w, from_ns, met_ns, &gap);
    take(w, phase_at(w, met_ns), counted_ns - (done_ns - met_ns), &gap);
    at->sampled_done_ns = met_ns;
}

/* Take a sample if it shows anything new. Returns how long that took. */
static uint64_t look_closely(struct world *w, struct watcher *at, uint64_t done_ns,
                             struct sonde__sampler_gap gap)
{
    uint64_t sampled_ns = sampled_at(w, done_ns), counted_ns = w->decision.counted_ns;
    if (w->stall.count > 0 && gap.moved_ns == 0) {
        sonde__sampler_stall_stay(&w->stall, counted_ns, gap.step_ns);
        at->sampled_done_ns = done_ns;
        return 0;
    }
    if (what_at(w, done_ns) != WORLD_WAITS ||
        cpu_after(w, done_ns) - cpu_after(w, at->sampled_done_ns) > gap.step_ns ||
        queued_after(w, done_ns) - queued_after(w, at->sampled_done_ns) > gap.step_ns) {
        meet(w, at, done_ns, counted_ns);
    }
    if (!sonde__sampler_stall_wants(&w->stall, counted_ns, &gap)) {
        return 0;
    }
    if (sampled_ns >= length(w)) {
        return length(w) - done_ns; /* the turn ended meanwhile */
    }
    gap.moved_ns = moved(w, at->sampled_done_ns, sampled_ns);
    if (w->stop_count == 0) { /* without stops both times are the same */
        find_borders(w, at->sampled_done_ns, sampled_ns, &gap);
    }
    counted_ns += sampled_ns - done_ns;
    if (w->stall.count == 0 && at->head.state == 'R') {
        const struct sonde__sampler_head head = {counted_ns, cpu_after(w, sampled_ns),
                                                 queued_after(w, sampled_ns), 'R'};
        gap.even = gap.even || sonde__sampler_stall_is_even(&head, gap.step_ns);
    }
    take(w, phase_at(w, sampled_ns), counted_ns, &gap);
    at->sampled_done_ns = sampled_ns;
    return sampled_ns - done_ns;
}

static struct sonde__decide_look make_look(const struct world *w, const struct watcher *at,
                                           uint64_t now_ns, uint64_t late_ns)
{
    uint64_t done = progress(w, now_ns);
    bool busy = now_ns >= w->begin_ns && done < length(w);
    return (struct sonde__decide_look){
        .now_ns = now_ns,
        .busy = busy,
        .since_ns = w->begin_ns,
        .ended_ns = !busy && at->was_seen ? w->ended_at_ns : 0,
        .halted_ns =
            sonde__decide_halted(sonde__base_max(at->now_ns, w->begin_ns), at->due_ns,
                                 busy ? now_ns : w->ended_at_ns, late_ns, w->threshold_ns, true),
        .ran_ns = cpu_after(w, done) - cpu_after(w, at->done_ns) + queued_after(w, done) -
                  queued_after(w, at->done_ns),
        .held = busy && stopped_at(w, now_ns, false),
        .means = w->means,
        .spread = w->spread,
        .still = w->traced && busy && at->was_seen && moved(w, at->done_ns, done) == 0,
    };
}

static void begin_turn(const struct world *w, struct watcher *at, uint64_t now_ns)
{
    uint64_t done = progress(w, now_ns);
    at->was_seen = true;
    at->first_ns = now_ns - w->begin_ns;
    at->head = (struct sonde__sampler_head){at->first_ns, cpu_after(w, done), queued_after(w, done),
                                            what_at(w, done) == WORLD_WAITS ? 'S' : 'R'};
    at->sampled_done_ns = done;
}

static void end(struct world *w, struct watcher *at, uint64_t done_ns,
                struct sonde__sampler_gap gap)
{
    uint64_t duration_ns = w->decision.duration_ns;
    if (at->still && w->stall.count > 0) {
        sonde__sampler_stall_stay(&w->stall, at->seen_ns, gap.step_ns);
    }
    if (duration_ns > w->stall.last_ns + gap.step_ns) {
        meet(w, at, done_ns < duration_ns ? done_ns : duration_ns, duration_ns);
    }
    if (w->stop_count == 0) {
        find_borders(w, at->sampled_done_ns, done_ns, &gap);
    }
    sonde__sampler_stall_end(&w->stall, duration_ns, &gap);
}

/* Returns how long a sample took. */
static uint64_t look(struct world *w, struct watcher *at, uint64_t now_ns, uint64_t late_ns)
{
    uint64_t done = progress(w, now_ns), took_ns = 0;
    const struct sonde__decide_look seen = make_look(w, at, now_ns, late_ns);
    if (seen.busy && !at->was_seen) {
        begin_turn(w, at, now_ns);
    }
    enum sonde__decide_action action = sonde__decide(&w->decision, &seen);
    const struct sonde__sampler_gap gap = {
        .moved_ns = moved(w, at->sampled_done_ns, done),
        .still_ns = at->first_ns,
        .even = sonde__sampler_stall_is_even(&at->head, w->decision.sample_ns),
        .reason = SONDE__REPORT_UNCOVERED_LATE,
        .step_ns = w->decision.sample_ns,
        .apart_ns = w->decision.apart_ns};
    w->looks++;
    w->begun += action == SONDE__DECIDE_BEGIN;
    w->ended += action == SONDE__DECIDE_END;
    if (action == SONDE__DECIDE_SAMPLE || action == SONDE__DECIDE_BEGIN) {
        took_ns = look_closely(w, at, done, gap);
    } else if (action == SONDE__DECIDE_END) {
        end(w, at, done, gap);
    } else if (action == SONDE__DECIDE_DROP) {
        sonde__sampler_stall_done(&w->stall);
    }
    at->still = seen.busy && gap.moved_ns == 0;
    at->seen_ns = seen.busy ? w->decision.counted_ns : at->seen_ns;
    at->done_ns = seen.busy ? done : at->done_ns;
    at->now_ns = now_ns;
    return took_ns;
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
    w->tick_ns = world_random(w, SONDE__SAMPLER_TICK_NS);
    sonde__decide_init(&w->decision, w->threshold_ns);
    sonde__sampler_stall_init(&w->stall);
    w->begun = w->ended = w->looks = w->samples = w->slice_count = 0;
    slice(w);
    w->ended_at_ns = w->begin_ns + length(w);
    while (progress(w, w->ended_at_ns) < length(w)) {
        w->ended_at_ns += length(w) - progress(w, w->ended_at_ns);
    }
    uint64_t period =
        sonde__decide_idle_period(w->threshold_ns) * (w->means == SONDE__DECIDE_POOR ? 2 : 1);
    uint64_t now_ns = world_random(w, period), late_ns = 0;
    while (now_ns < w->ended_at_ns + 1000 * MS && w->ended == 0) {
        now_ns += look(w, &at, now_ns, late_ns);
        uint64_t wait = sonde__decide_next_tick(&w->decision, now_ns);
        if (w->turns != NULL && wait != UINT64_MAX) {
            wait = sonde__decide_turns_pause(w->turns, w->means, wait, true);
        }
        late_ns = world_random(w, w->late_max_ns + 1);
        at.due_ns = now_ns + (wait < period || wait != UINT64_MAX ? wait : period);
        now_ns = when_awake(w, at.due_ns) + late_ns;
        now_ns += wait == 0; /* time passes */
    }
}

void world_done(struct world *w)
{
    sonde__sampler_stall_done(&w->stall);
}

uint64_t world_given(const struct world *w, unsigned phase)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < w->stall.count; i++) {
        const struct sonde__sampler_sample *sample = &w->stall.samples[i];
        sum += sample->sample.stack.pcs[0] == pc_of(phase) ? sample->weight_ns : 0;
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
