// SPDX-License-Identifier: Apache-2.0
#include "watch_decide.h"

void sonde__watch_decide_init(struct sonde__watch_decision *decision, uint64_t threshold_ns)
{
    *decision = (struct sonde__watch_decision){.threshold_ns = threshold_ns};
}

static uint64_t period_ns(const struct sonde__watch_decision *d)
{
    uint64_t quarter = d->threshold_ns / 4;
    if (d->phase >= SONDE__WATCH_SUSPECT && d->sample_ns > quarter) {
        return d->sample_ns;
    }
    return quarter > 0 ? quarter : 1;
}

static void begin_spell(struct sonde__watch_decision *d, uint64_t since_ns)
{
    d->phase = SONDE__WATCH_BUSY;
    d->since_ns = since_ns;
    d->tick_ns = since_ns;
    d->counted_ns = 0;
    d->excluded_ns = 0;
    d->samples = 0;
    d->held = false;
    d->sample_ns = SONDE__WATCH_SAMPLE_FIRST_NS;
}

/* Time from the last tick to `to_ns` on the effective clock. */
static void count_time(struct sonde__watch_decision *d, uint64_t to_ns, bool held, uint64_t own_ns)
{
    uint64_t passed = to_ns > d->tick_ns ? to_ns - d->tick_ns : 0;
    uint64_t period = period_ns(d);
    uint64_t late = passed > own_ns ? passed - own_ns : 0;
    uint64_t counted = held || d->held                             ? 0
                       : late > SONDE__WATCH_LATE_PERIODS * period ? passed - late + period
                                                                   : passed;
    d->counted_ns += counted;
    d->excluded_ns += passed - counted;
    d->held = held;
    if (to_ns > d->tick_ns) {
        d->tick_ns = to_ns;
    }
}

static enum sonde__watch_action end_spell(struct sonde__watch_decision *d, uint64_t end_ns,
                                          uint64_t own_ns)
{
    enum sonde__watch_phase phase = d->phase;
    if (phase == SONDE__WATCH_STALL) {
        /* the thread may have come back to its loop before the last tick */
        if (end_ns < d->tick_ns) {
            uint64_t back = d->tick_ns - end_ns;
            d->counted_ns = d->counted_ns > back ? d->counted_ns - back : 0;
        } else {
            count_time(d, end_ns, false, own_ns);
        }
        d->duration_ns = d->counted_ns;
    }
    d->phase = SONDE__WATCH_IDLE;
    return phase == SONDE__WATCH_STALL     ? SONDE__WATCH_END
           : phase == SONDE__WATCH_SUSPECT ? SONDE__WATCH_DROP
                                           : SONDE__WATCH_NOTHING;
}

static enum sonde__watch_action ask_sample(struct sonde__watch_decision *d, uint64_t now_ns)
{
    if (now_ns < d->next_ns && d->samples > 0) {
        return SONDE__WATCH_NOTHING;
    }
    d->samples++;
    if (d->samples > SONDE__WATCH_SAMPLE_COUNT && d->sample_ns < SONDE__WATCH_SAMPLE_LAST_NS) {
        d->sample_ns += d->sample_ns * 15 / 100;
        if (d->sample_ns > SONDE__WATCH_SAMPLE_LAST_NS) {
            d->sample_ns = SONDE__WATCH_SAMPLE_LAST_NS;
        }
    }
    d->next_ns = now_ns + d->sample_ns;
    return SONDE__WATCH_SAMPLE;
}

enum sonde__watch_action sonde__watch_decide(struct sonde__watch_decision *d,
                                             const struct sonde__watch_look *look)
{
    if (d->phase != SONDE__WATCH_IDLE && (!look->busy || look->since_ns != d->since_ns)) {
        uint64_t end = look->busy            ? look->since_ns
                       : look->ended_ns != 0 ? look->ended_ns
                                             : look->now_ns;
        return end_spell(d, end,
                         look->own_ns); /* the next tick sees a spell that has begun since */
    }
    if (!look->busy) {
        return SONDE__WATCH_NOTHING;
    }
    if (d->phase == SONDE__WATCH_IDLE) {
        begin_spell(d, look->since_ns);
    }
    count_time(d, look->now_ns, look->held, look->own_ns);
    if (look->held) {
        d->next_ns = look->now_ns + period_ns(d);
        return SONDE__WATCH_NOTHING;
    }
    if (d->phase == SONDE__WATCH_BUSY && d->counted_ns >= d->threshold_ns / 2) {
        d->phase = SONDE__WATCH_SUSPECT;
    }
    if (d->phase == SONDE__WATCH_SUSPECT && d->counted_ns >= d->threshold_ns) {
        d->phase = SONDE__WATCH_STALL;
        d->next_ns = look->now_ns;
        (void)ask_sample(d, look->now_ns);
        return SONDE__WATCH_BEGIN;
    }
    return d->phase >= SONDE__WATCH_SUSPECT ? ask_sample(d, look->now_ns) : SONDE__WATCH_NOTHING;
}

uint64_t sonde__watch_next_tick(const struct sonde__watch_decision *d, uint64_t now_ns)
{
    if (d->phase == SONDE__WATCH_IDLE) {
        return UINT64_MAX;
    }
    uint64_t wait = period_ns(d);
    if (d->phase >= SONDE__WATCH_SUSPECT) {
        wait = d->next_ns > now_ns ? d->next_ns - now_ns : 0;
    }
    if (d->phase == SONDE__WATCH_BUSY && d->counted_ns < d->threshold_ns / 2) {
        uint64_t left = d->threshold_ns / 2 - d->counted_ns;
        wait = left < wait ? left : wait;
    }
    return wait;
}
