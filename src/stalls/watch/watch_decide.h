// SPDX-License-Identifier: Apache-2.0
/* Is this thread stalled? A pure function of what each tick observes.
 *
 * Time is an effective clock. Time in which the thread was stopped or traced does not count. A tick
 * that is more than three periods late counts as one, because the watcher itself did not run (the
 * machine slept or was overloaded); time that the watcher spent on its own work (names for the
 * stall of a large program) is exempt from that rule. So SIGSTOP, a debugger, a suspended laptop
 * and an overloaded machine never make a stall; differences of wall-clock time gave 5 to 7 stalls
 * instead of one (twelve stops of 0.4 s during one true stall). An idle thread is never stalled.
 * Context: any thread. */
#ifndef SONDE_WATCH_DECIDE_H
#define SONDE_WATCH_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

/* A tick later than this many periods counts as one period. */
#define SONDE__WATCH_LATE_PERIODS 3u
/* Sampling: every FIRST for the first COUNT samples, then slower by 15 % each up to LAST. Most
 * stalls are shorter than a quarter second; a stall of minutes needs its phases, not 100 Hz. */
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
    SONDE__WATCH_BEGIN,  /* a stall begins: take a sample, and one of each other thread */
    SONDE__WATCH_DROP,   /* it was no stall: discard the samples */
    SONDE__WATCH_END,    /* the stall is over */
};

struct sonde__watch_decision {
    uint64_t threshold_ns;
    enum sonde__watch_phase phase;
    uint64_t since_ns;    /* when the thread left its loop's wait */
    uint64_t tick_ns;     /* the last tick, or since_ns */
    uint64_t counted_ns;  /* effective time since since_ns */
    uint64_t excluded_ns; /* the rest */
    uint32_t samples;     /* requested in this spell */
    uint64_t sample_ns;   /* time to the next one */
    uint64_t next_ns;     /* when */
    bool held;            /* at the last tick: the time since then does not count either */
    uint64_t duration_ns; /* of the stall that ended (END), effective */
};

/* One look at a thread. */
struct sonde__watch_look {
    uint64_t now_ns;
    bool busy;
    uint64_t since_ns; /* when it became busy */
    uint64_t ended_ns; /* when the last spell ended; 0: unknown, now is used */
    uint64_t own_ns;   /* CPU time of the watcher since the last look; 0 where the thread may have
                          waited for a CPU */
    bool held;         /* stopped, or traced by a debugger */
};

void sonde__watch_decide_init(struct sonde__watch_decision *decision, uint64_t threshold_ns);
enum sonde__watch_action sonde__watch_decide(struct sonde__watch_decision *decision,
                                             const struct sonde__watch_look *look);
/* How long until the next tick is due; UINT64_MAX: the thread is idle. */
uint64_t sonde__watch_next_tick(const struct sonde__watch_decision *decision, uint64_t now_ns);
#endif
