// SPDX-License-Identifier: Apache-2.0
/* Is this thread stalled? A pure function of what is seen at each tick.
 *
 * Time is an effective clock: what passed while the thread was stopped or traced does not count,
 * and a tick that comes more than three periods late counts as one, because then the watcher itself
 * did not run (the machine slept or had no time); what it spent on work of its own meanwhile (the
 * names of a large program's stall) is no such time. So SIGSTOP, a debugger, a suspended laptop and
 * an overloaded machine never make a stall; wall-clock difference reported 5 to 7 where there was
 * one (twelve stops of 0.4 s over one true stall). An idle thread is never stalled, whatever the
 * clocks say. Context: any thread. */
#ifndef SONDE_WATCH_DECIDE_H
#define SONDE_WATCH_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

/* A tick later than this many periods counts as one period. */
#define SONDE__WATCH_LATE_PERIODS 3u
/* Sampling: every FIRST for the first COUNT samples, then slower by 15 % each up to LAST. The first
 * quarter second is what most stalls consist of; a stall of minutes needs its phases, not 100 Hz.
 */
#define SONDE__WATCH_SAMPLE_FIRST_NS 10000000u
#define SONDE__WATCH_SAMPLE_COUNT    25u
#define SONDE__WATCH_SAMPLE_LAST_NS  250000000u

enum sonde__watch_phase {
    SONDE__WATCH_IDLE,
    SONDE__WATCH_BUSY,
    SONDE__WATCH_SUSPECT, /* busy for half the threshold: samples are taken, nothing is written */
    SONDE__WATCH_STALL,   /* busy for the threshold */
};

/* What to do after a tick. */
enum sonde__watch_action {
    SONDE__WATCH_NOTHING,
    SONDE__WATCH_SAMPLE, /* take a sample */
    SONDE__WATCH_BEGIN,  /* it is a stall now: take a sample, and all other threads once */
    SONDE__WATCH_DROP,   /* it was none: forget the samples */
    SONDE__WATCH_END,    /* the stall is over */
};

struct sonde__watch_decision {
    uint64_t threshold_ns;
    enum sonde__watch_phase phase;
    uint64_t since_ns;    /* when the thread left its loop's wait */
    uint64_t tick_ns;     /* the last tick, or since_ns */
    uint64_t counted_ns;  /* effective time since since_ns */
    uint64_t excluded_ns; /* the rest */
    uint32_t samples;     /* asked for in this spell */
    uint64_t sample_ns;   /* distance of the next one */
    uint64_t next_ns;     /* when */
    bool held;            /* at the last tick: what passed since is not all its own either */
    uint64_t duration_ns; /* of the stall that END ended, effective */
};

/* One look at a thread. */
struct sonde__watch_look {
    uint64_t now_ns;
    bool busy;
    uint64_t since_ns; /* when it became busy */
    uint64_t ended_ns; /* when the last spell ended, 0: not known better than now */
    uint64_t own_ns;   /* since the last look the watcher worked for so long, and the thread did not
                          wait for a CPU */
    bool held;         /* stopped, or traced by a debugger */
};

void sonde__watch_decide_init(struct sonde__watch_decision *decision, uint64_t threshold_ns);
enum sonde__watch_action sonde__watch_decide(struct sonde__watch_decision *decision,
                                             const struct sonde__watch_look *look);
/* How long until the next tick is due; UINT64_MAX: the thread is idle. */
uint64_t sonde__watch_next_tick(const struct sonde__watch_decision *decision, uint64_t now_ns);
#endif
