// SPDX-License-Identifier: Apache-2.0
/* A program, a machine and a watcher in virtual time: one turn of a loop, in phases; intervals in
 * which the program is stopped, or the whole machine; a watcher that gets its CPU late. The watcher
 * sees what the kernel would report, so the truth is known exactly. */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "decide.h"
#include "decide_budget.h"
#include "sampler_stall.h"

#define MS 1000000ull

enum { PHASES_MAX = 8, STOPS_MAX = 16, SLICES_MAX = 512 };

/* What the thread does for a part of its turn. */
enum { WORLD_RUNS, WORLD_WAITS, WORLD_READY /* it could run, and has no processor */ };

struct world {
    /* the turn; begin_ns is not aligned to the watcher's looks */
    uint64_t threshold_ns, begin_ns;
    uint64_t phases_ns[PHASES_MAX];
    bool blocks[PHASES_MAX]; /* the thread waits in this phase; else it runs */
    /* Other threads take the processor for up to crowd_ns each slice_ns, and before the thread goes
     * on after a wait. That time is added to the phase. 0: the thread always has a processor. */
    uint64_t crowd_ns, slice_ns;
    bool traced;           /* the switches of the thread are known, and ticks of its CPU time, */
    uint64_t tick_step_ns; /* which are so far apart; 0: SONDE__SAMPLER_TICK_NS */
    uint64_t tick_ns;      /* since the last tick when the turn begins */
    unsigned phase_count;
    /* The program is stopped in these intervals, in which phases stand still. machine: the watcher
     * is stopped, too, without a trace in its counters. */
    struct {
        uint64_t from_ns, for_ns;
        bool machine;
    } stops[STOPS_MAX];
    unsigned stop_count;
    uint64_t late_max_ns; /* largest delay of a look, because the watcher waits for a CPU */
    uint64_t seed;
    struct {
        uint64_t ns;
        uint8_t what;
    } slices[SLICES_MAX]; /* of the turn */
    unsigned slice_count;
    /* results */
    struct sonde__decision decision;
    struct sonde__sampler_stall stall;
    unsigned begun, ended, looks, samples;
    enum sonde__decide_means means;    /* while the turn is played */
    uint32_t spread;                   /* likewise */
    struct sonde__decide_turns *turns; /* what decides on pauses; null: looks are made when due */
    uint64_t ended_at_ns;              /* on the world's clock */
};

uint64_t world_random(struct world *world, uint64_t below);
/* Play the turn to its end and a second longer. */
void world_play(struct world *world);
void world_done(struct world *world);
/* Time that the samples give to a phase; PHASES_MAX: to none. */
uint64_t world_given(const struct world *world, unsigned phase);
/* The phase with most time. */
unsigned world_blamed(const struct world *world);

#endif
