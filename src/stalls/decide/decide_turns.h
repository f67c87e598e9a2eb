// SPDX-License-Identifier: Apache-2.0
/* How long turns were, and how many frames they cost, from the stamps of the turns that the watch
 * saw.
 *
 * The program has no extra work. With a look each period, every turn of at least two periods is
 * seen; its length comes from its own stamps, by the probe's clock of some ms. Shorter turns are
 * not distinguished. A watch that gets no CPU misses turns, and reports that. Pure. Context: any
 * thread, one at a time. */
#ifndef SONDE_DECIDE_TURNS_H
#define SONDE_DECIDE_TURNS_H

#include <stdint.h>

#include "decide.h"
#include "report_model.h"

/* Buckets of lengths from two periods on, each twice as long as the one before: 20 ms to 20 s. */
#define SONDE__DECIDE_TURN_BUCKETS 11u

struct sonde__decide_turns {
    uint64_t period_ns; /* between looks while the loop turns */
    uint64_t rare_ns;   /* the same while the budget is overspent */
    uint64_t frame_ns;  /* of the refresh rate; 0: none */
    uint64_t apart_ns;  /* the longest pause: shorter turns may not have been seen */
    uint64_t counts[SONDE__DECIDE_TURN_BUCKETS];
    uint64_t frames;
};

/* fps: a refresh rate; 0: none. */
void sonde__decide_turns_init(struct sonde__decide_turns *turns, uint64_t threshold_ns,
                              uint32_t fps);
/* The pause until the next look, if a sample is due in due_ns (UINT64_MAX: none): at most a period,
 * or a little longer to look only once. Turns of two periods are still seen. With an overspent
 * budget (means), the first sample of a turn is due later, and so is the look that finds the turn,
 * unless frames are counted. alone: the sample is of a turn of the only loop, so that no other turn
 * is to be found. */
uint64_t sonde__decide_turns_pause(struct sonde__decide_turns *turns,
                                   enum sonde__decide_means means, uint64_t due_ns, bool alone);
void sonde__decide_turns_add(struct sonde__decide_turns *turns, uint64_t duration_ns);
/* Fill the end's turn_counts (from `ret_counts`), frame_ns and frames_dropped. */
void sonde__decide_turns_fill(
    const struct sonde__decide_turns *turns, struct sonde__report_end *end,
    struct sonde__report_turn_count ret_counts[SONDE__DECIDE_TURN_BUCKETS]);

#endif
