// SPDX-License-Identifier: Apache-2.0
#include "decide.h"

#include "base_math.h"

#define IDLE_PERIOD_MAX_NS 50000000u

static uint64_t period_of(uint64_t threshold_ns)
{
    return sonde__base_max(threshold_ns / 4, 1);
}

uint64_t sonde__decide_long_ns(uint64_t threshold_ns)
{
    return 3 * period_of(threshold_ns);
}

uint64_t sonde__decide_halted(uint64_t from_ns, uint64_t due_ns, uint64_t now_ns, uint64_t own_ns,
                              uint64_t threshold_ns, bool stopped)
{
    uint64_t least_ns =
        stopped ? threshold_ns / SONDE__DECIDE_HALT_PART : sonde__decide_long_ns(threshold_ns);
    uint64_t late_ns = sonde__base_minus(now_ns, sonde__base_max(from_ns, due_ns));
    uint64_t halted_ns = sonde__base_minus(late_ns, own_ns);
    return halted_ns > 0 && halted_ns >= least_ns ? now_ns - from_ns - own_ns : 0;
}

void sonde__decide_init(struct sonde__decision *decision, uint64_t threshold_ns)
{
    *decision = (struct sonde__decision){.threshold_ns = threshold_ns};
}

static uint64_t period_ns(const struct sonde__decision *d)
{
    return period_of(d->threshold_ns);
}

static uint64_t half_ns(const struct sonde__decision *d)
{
    return d->threshold_ns / 2;
}

/* The least time between two samples. */
static uint64_t first_ns(const struct sonde__decision *d)
{
    uint64_t part = d->threshold_ns / SONDE__DECIDE_THRESHOLD_PART;
    return sonde__base_min(sonde__base_max(part, SONDE__DECIDE_SAMPLE_FIRST_NS),
                           SONDE__DECIDE_SAMPLE_LAST_NS);
}

/* The turn's age at which its first sample is due. */
static uint64_t arm_after_ns(const struct sonde__decision *d, enum sonde__decide_means means)
{
    uint64_t first = first_ns(d), half = half_ns(d);
    uint64_t part = d->threshold_ns / (means == SONDE__DECIDE_FAIR ? 8 : 4);
    return sonde__base_min(half,
                           means == SONDE__DECIDE_RICH ? first : sonde__base_max(first, part));
}

static void begin_spell(struct sonde__decision *d, uint64_t since_ns)
{
    *d = (struct sonde__decision){.threshold_ns = d->threshold_ns,
                                  .phase = SONDE__DECIDE_BUSY,
                                  .since_ns = since_ns,
                                  .tick_ns = since_ns,
                                  .sample_ns = first_ns(d)};
}

/* Count the time from the last look to `to_ns` in which the program could go on. */
static void count_time(struct sonde__decision *d, uint64_t to_ns,
                       const struct sonde__decide_look *look)
{
    uint64_t passed = to_ns > d->tick_ns ? to_ns - d->tick_ns : 0;
    uint64_t counted = passed;
    if (look->held || d->held) {
        counted = sonde__base_min(passed, look->ran_ns);
    } else if (look->halted_ns > (look->slept ? sonde__decide_long_ns(d->threshold_ns) : 0)) {
        counted = sonde__base_max(sonde__base_min(passed, look->ran_ns),
                                  sonde__base_minus(passed, look->halted_ns));
        d->doubt_ns += passed - counted;
    } else if (look->stops && !look->slept && passed > look->ran_ns + period_ns(d)) {
        counted = look->ran_ns; /* a late look may have missed a stop */
        d->doubt_ns += passed - counted;
    }
    d->counted_ns += counted;
    d->excluded_ns += passed - counted;
    d->held = look->held;
    d->tick_ns = sonde__base_max(d->tick_ns, to_ns);
}

/* When the turn ended. Without a stamp: when it was last seen; for a stall, which is reported in
 * any case, when the next turn began or now. */
static uint64_t end_of(const struct sonde__decision *d, const struct sonde__decide_look *look)
{
    uint64_t latest = look->busy ? look->since_ns : look->now_ns;
    if (look->ended_ns != 0 && look->ended_ns >= d->since_ns) {
        return sonde__base_min(look->ended_ns, latest);
    }
    return d->phase == SONDE__DECIDE_STALL ? latest : d->tick_ns;
}

static enum sonde__decide_action end_spell(struct sonde__decision *d,
                                           const struct sonde__decide_look *look)
{
    enum sonde__decide_phase phase = d->phase;
    uint64_t end_ns = end_of(d, look);
    /* the thread may have come back to its loop before the last look */
    if (end_ns < d->tick_ns) {
        d->counted_ns -= sonde__base_min(d->tick_ns - end_ns, d->counted_ns);
    } else {
        struct sonde__decide_look at_end = *look;
        at_end.held = false;
        count_time(d, end_ns, &at_end);
    }
    d->phase = SONDE__DECIDE_IDLE;
    if (d->counted_ns >= d->threshold_ns) {
        d->duration_ns = d->counted_ns;
        return SONDE__DECIDE_END;
    }
    return phase >= SONDE__DECIDE_SUSPECT ? SONDE__DECIDE_DROP : SONDE__DECIDE_NOTHING;
}

static uint64_t sample_distance(enum sonde__decide_means means)
{
    return means == SONDE__DECIDE_RICH   ? 1
           : means == SONDE__DECIDE_FAIR ? SONDE__DECIDE_SAMPLE_FAIR
                                         : SONDE__DECIDE_SAMPLE_POOR;
}

/* The least time between two samples while the budget is overspent. */
static uint64_t spread_out(const struct sonde__decision *d, uint64_t least_ns, uint32_t spread)
{
    uint64_t short_ns = spread > SONDE__DECIDE_SPREAD_SOME ? SONDE__DECIDE_SPREAD_LAST_NS
                                                           : SONDE__DECIDE_SPREAD_MOST_NS;
    uint64_t most_ns = sonde__base_max(d->threshold_ns / SONDE__DECIDE_SPREAD_PART,
                                       sonde__base_min(short_ns, half_ns(d)));
    uint64_t spread_ns =
        least_ns * sonde__base_max(spread, SONDE__DECIDE_SPREAD_NONE) / SONDE__DECIDE_SPREAD_NONE;
    return sonde__base_max(least_ns,
                           sonde__base_min(spread_ns, most_ns / SONDE__DECIDE_SAMPLE_STILL));
}

static enum sonde__decide_action ask_sample(struct sonde__decision *d,
                                            const struct sonde__decide_look *look)
{
    if (d->samples > 0 && look->now_ns < d->next_ns) {
        return SONDE__DECIDE_NOTHING;
    }
    uint64_t first = first_ns(d), by_age = d->counted_ns / SONDE__DECIDE_SAMPLE_PART;
    bool rare = look->still || look->means == SONDE__DECIDE_POOR;
    if (look->means == SONDE__DECIDE_POOR) {
        first = spread_out(d, first, look->spread);
    }
    d->samples++;
    d->sample_ns =
        sonde__base_min(sonde__base_max(by_age, rare ? first * SONDE__DECIDE_SAMPLE_STILL : first),
                        SONDE__DECIDE_SAMPLE_LAST_NS);
    d->apart_ns = sonde__base_min(sonde__base_max(by_age, first * sample_distance(look->means)),
                                  SONDE__DECIDE_SAMPLE_LAST_NS);
    d->next_ns = look->now_ns + d->sample_ns;
    d->pause_ns = look->means == SONDE__DECIDE_POOR && !look->stops
                      ? sonde__base_min(d->sample_ns, half_ns(d))
                      : 0;
    return SONDE__DECIDE_SAMPLE;
}

enum sonde__decide_action sonde__decide(struct sonde__decision *d,
                                        const struct sonde__decide_look *look)
{
    /* clocks tick: a turn that begins in the same tick as the last one has the same stamp */
    bool ended = !look->busy || look->since_ns != d->since_ns || look->ended_ns != 0;
    if (d->phase != SONDE__DECIDE_IDLE && ended) {
        return end_spell(d, look); /* the next look sees a turn that has begun meanwhile */
    }
    if (!look->busy) {
        return SONDE__DECIDE_NOTHING;
    }
    if (d->phase == SONDE__DECIDE_IDLE) {
        begin_spell(d, look->since_ns);
    }
    count_time(d, look->now_ns, look);
    d->arm_ns = arm_after_ns(d, look->means);
    if (look->held) {
        d->next_ns = look->now_ns + period_ns(d);
        return SONDE__DECIDE_NOTHING;
    }
    if (d->phase == SONDE__DECIDE_BUSY && d->counted_ns >= d->arm_ns) {
        d->phase = SONDE__DECIDE_SUSPECT;
    }
    if (d->phase == SONDE__DECIDE_SUSPECT && d->counted_ns >= d->threshold_ns) {
        d->phase = SONDE__DECIDE_STALL;
        d->next_ns = look->now_ns;
        (void)ask_sample(d, look);
        return SONDE__DECIDE_BEGIN;
    }
    return d->phase >= SONDE__DECIDE_SUSPECT ? ask_sample(d, look) : SONDE__DECIDE_NOTHING;
}

void sonde__decide_exit(struct sonde__decision *d, const struct sonde__decide_look *look)
{
    if (d->phase == SONDE__DECIDE_IDLE) {
        return;
    }
    count_time(d, look->now_ns, look);
    if (d->counted_ns >= d->threshold_ns) {
        d->phase = SONDE__DECIDE_STALL;
    }
}

uint64_t sonde__decide_most(const struct sonde__decision *d)
{
    return d->counted_ns + d->doubt_ns;
}

uint64_t sonde__decide_missed_time(const struct sonde__decide_missed *m, uint64_t threshold_ns)
{
    uint64_t passed = m->end_ns - m->begin_ns;
    uint64_t due = m->due_ns == 0 ? m->begin_ns : m->due_ns;
    uint64_t apart = (m->begin_ns > due ? m->begin_ns - due : 0) + (m->now_ns - m->end_ns);
    if (m->stops) {
        return sonde__base_min(passed, period_of(threshold_ns));
    }
    return apart > sonde__decide_long_ns(threshold_ns) ? passed
                                                       : sonde__base_minus(passed, m->halted_ns);
}

uint64_t sonde__decide_next_tick(const struct sonde__decision *d, uint64_t now_ns)
{
    if (d->phase == SONDE__DECIDE_IDLE) {
        return UINT64_MAX;
    }
    if (d->phase >= SONDE__DECIDE_SUSPECT || d->held) {
        uint64_t most_ns = sonde__base_max(period_ns(d), d->pause_ns);
        return d->next_ns > now_ns ? sonde__base_min(d->next_ns - now_ns, most_ns) : 0;
    }
    return d->counted_ns < d->arm_ns ? sonde__base_min(d->arm_ns - d->counted_ns, period_ns(d)) : 0;
}

/* As sonde__sampler_stall_wants() decides at each look. */
uint64_t sonde__decide_next_sample(const struct sonde__decision *d)
{
    uint64_t step = sonde__base_max(d->sample_ns, 1);
    uint64_t least = sonde__base_minus(d->apart_ns, step / 2);
    return sonde__base_max((least + step - 1) / step, 1) * step;
}

uint64_t sonde__decide_idle_period(uint64_t threshold_ns)
{
    return sonde__base_min(sonde__base_max(threshold_ns / 16, SONDE__DECIDE_SAMPLE_FIRST_NS),
                           IDLE_PERIOD_MAX_NS);
}
