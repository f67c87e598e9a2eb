// SPDX-License-Identifier: Apache-2.0
#include "decide_turns.h"

#include "base_math.h"

#define NS_PER_S 1000000000u
/* The probe's clock has no finer steps on most kernels. */
#define PERIOD_MIN_NS 4000000u
/* A look may be late by this part of a period: a turn of two periods is still seen. */
#define STRETCH_PART 3u
/* Rare looks are so many periods apart, which the first sample of a turn allows at the usual
 * thresholds; at least two. Stretched, they still see a turn of four periods, which is counted. */
#define RARE_LEAST 2u
#define RARE_MOST  3u

void sonde__decide_turns_init(struct sonde__decide_turns *turns, uint64_t threshold_ns,
                              uint32_t fps)
{
    uint64_t period_ns = sonde__decide_idle_period(threshold_ns);
    uint64_t rare_ns = sonde__base_min(RARE_MOST * period_ns, threshold_ns / 4);
    *turns = (struct sonde__decide_turns){
        .period_ns = period_ns, .rare_ns = sonde__base_max(RARE_LEAST * period_ns, rare_ns)};
    if (fps != 0) {
        uint64_t half;
        turns->frame_ns = NS_PER_S / fps;
        half = turns->frame_ns / 2;
        turns->period_ns = half < turns->period_ns ? half : turns->period_ns;
        turns->period_ns = turns->period_ns < PERIOD_MIN_NS ? PERIOD_MIN_NS : turns->period_ns;
    }
}

uint64_t sonde__decide_turns_pause(struct sonde__decide_turns *turns,
                                   enum sonde__decide_means means, uint64_t due_ns, bool alone)
{
    bool rarely = means == SONDE__DECIDE_POOR && turns->frame_ns == 0;
    uint64_t period_ns = rarely ? turns->rare_ns : turns->period_ns;
    bool once =
        (rarely && alone && due_ns != UINT64_MAX) || due_ns <= period_ns + period_ns / STRETCH_PART;
    uint64_t pause_ns = once ? due_ns : period_ns;
    turns->apart_ns = sonde__base_max(turns->apart_ns, pause_ns);
    return pause_ns;
}

void sonde__decide_turns_add(struct sonde__decide_turns *turns, uint64_t duration_ns)
{
    uint64_t to_ns = 4 * turns->period_ns;
    uint32_t bucket = 0;
    turns->frames += turns->frame_ns != 0 ? duration_ns / turns->frame_ns : 0;
    if (duration_ns < 2 * turns->period_ns) {
        return;
    }
    while (bucket + 1 < SONDE__DECIDE_TURN_BUCKETS && duration_ns >= to_ns) {
        to_ns *= 2;
        bucket++;
    }
    turns->counts[bucket]++;
}

void sonde__decide_turns_fill(
    const struct sonde__decide_turns *turns, struct sonde__report_end *end,
    struct sonde__report_turn_count ret_counts[SONDE__DECIDE_TURN_BUCKETS])
{
    uint64_t from_ns = 2 * turns->period_ns;
    end->turn_counts = ret_counts;
    end->turn_count_count = 0;
    for (uint32_t i = 0; i < SONDE__DECIDE_TURN_BUCKETS; i++, from_ns *= 2) {
        bool last = i + 1 == SONDE__DECIDE_TURN_BUCKETS;
        if (turns->counts[i] != 0 && from_ns >= turns->apart_ns) {
            ret_counts[end->turn_count_count++] = (struct sonde__report_turn_count){
                .from_ns = from_ns, .to_ns = last ? 0 : 2 * from_ns, .count = turns->counts[i]};
        }
    }
    end->frame_ns = turns->frame_ns;
    end->frames_dropped = turns->frames;
}
