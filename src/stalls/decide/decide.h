// SPDX-License-Identifier: Apache-2.0
/* Is this thread stalled, and when is the next sample due? A pure function of what each look sees.
 *
 * The probe stamps the begin and the end of a turn, so a watcher that got no CPU for a while loses
 * samples, but no time. Only time in which the program could not go on is subtracted:
 *
 *   stopped or traced     a look saw it. In the intervals before and after that look, only the time
 *                         that the thread ran or waited for a CPU counts.
 *   the watch stood still it is late, and waited neither for a CPU nor for a thread to sample: it
 *                         was stopped, as a part of the program or with it (a frozen container),
 *                         which shows in the number of its waits, or the machine was for long. Of
 *                         that time, too, only the thread's own counts. A thread that slept through
 *                         it was not stopped, but the machine may have been for long.
 *
 * So SIGSTOP, a debugger and a paused machine never cause a stall, and load neither hides nor
 * shortens one. Differences of wall-clock time gave 5 to 7 stalls instead of one (twelve stops of
 * 0.4 s during one true stall). An idle thread is never stalled. Context: any thread. */
#ifndef SONDE_DECIDE_H
#define SONDE_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

/* A watch that was stopped has stood still if its own time does not explain a delay of this part of
 * the threshold. Shorter ones have many causes: a virtual machine without a processor, a lock in
 * the kernel. */
#define SONDE__DECIDE_HALT_PART 16u
/* Time between samples: a hundredth of the turn's age, or a two-hundredth of the threshold, which
 * any stall exceeds, but at least FIRST and at most LAST. So phases of a stall are resolved to 1 %
 * of its length, and a stall of a minute costs some five hundred samples. */
#define SONDE__DECIDE_SAMPLE_FIRST_NS 10000000u
#define SONDE__DECIDE_SAMPLE_PART     100u
#define SONDE__DECIDE_THRESHOLD_PART  200u
#define SONDE__DECIDE_SAMPLE_LAST_NS  250000000u
/* Factors on that time for a thread that keeps running, by the budget. Any other thread is sampled
 * when it has moved. */
#define SONDE__DECIDE_SAMPLE_FAIR 2u
#define SONDE__DECIDE_SAMPLE_POOR 3u
/* The factor for a thread that still waits in the same place: a look costs little, but wakes the
 * watch. */
#define SONDE__DECIDE_SAMPLE_STILL 2u
/* What is overspent spreads samples further apart, by up to this percentage; but a stall has four
 * looks for each threshold, or, where more than MOST lies between them, at least two. From SOME on,
 * LAST takes the place of MOST. */
#define SONDE__DECIDE_SPREAD_NONE    100u
#define SONDE__DECIDE_SPREAD_SOME    400u
#define SONDE__DECIDE_SPREAD_MAX     800u
#define SONDE__DECIDE_SPREAD_PART    4u
#define SONDE__DECIDE_SPREAD_MOST_NS 50000000u
#define SONDE__DECIDE_SPREAD_LAST_NS 62500000u

enum sonde__decide_phase {
    SONDE__DECIDE_IDLE,
    SONDE__DECIDE_BUSY,
    SONDE__DECIDE_SUSPECT, /* busy for some time: sampled, but nothing is written */
    SONDE__DECIDE_STALL,   /* busy for the threshold */
};

/* What to do after a look. */
enum sonde__decide_action {
    SONDE__DECIDE_NOTHING,
    SONDE__DECIDE_SAMPLE, /* take a sample, if it would show anything new */
    SONDE__DECIDE_BEGIN,  /* a stall begins: sample this thread and all others */
    SONDE__DECIDE_DROP,   /* this was no stall: discard the samples */
    SONDE__DECIDE_END,    /* the stall is over; it may never have been SUSPECT */
};

/* What samples may cost now (decide_budget.h). */
enum sonde__decide_means {
    SONDE__DECIDE_RICH, /* sample every turn of SONDE__DECIDE_SAMPLE_FIRST_NS */
    SONDE__DECIDE_FAIR, /* every turn of an eighth of the threshold */
    SONDE__DECIDE_POOR, /* every turn of a quarter of the threshold, and more rarely */
};

struct sonde__decision {
    uint64_t threshold_ns;
    enum sonde__decide_phase phase;
    uint64_t since_ns;    /* when the thread left its loop's wait */
    uint64_t tick_ns;     /* the last look, or since_ns */
    uint64_t counted_ns;  /* effective time since since_ns */
    uint64_t excluded_ns; /* the rest */
    uint64_t doubt_ns;    /* of it: the watcher was late, and nothing shows that the machine ran */
    uint32_t samples;     /* requested in this turn */
    uint64_t sample_ns;   /* time between two samples now */
    uint64_t apart_ns;    /* the least of sample_ns for a thread that keeps running */
    uint64_t next_ns;     /* when the next sample is due */
    uint64_t pause_ns; /* no look is needed for so long; 0: a quarter of the threshold. Samples of
                          an overspent budget are further apart, and a look costs as much */
    uint64_t arm_ns;   /* effective time at which the first sample is due */
    bool held;         /* at the last look */
    uint64_t duration_ns; /* of the stall that ended (END), effective */
};

/* One look at a thread. The times since the last look may include time before the turn. */
struct sonde__decide_look {
    uint64_t now_ns;
    bool busy;
    uint64_t since_ns;  /* when it became busy */
    uint64_t ended_ns;  /* when a turn that was seen before ended; 0: unknown */
    uint64_t ran_ns;    /* since the last look: the thread's CPU time and its wait for a CPU;
                           0: unknown, or not its own time (a debugger) */
    uint64_t halted_ns; /* likewise: the watch stood still (sonde__decide_halted()) */
    bool held;          /* stopped, or traced by a debugger */
    bool still;         /* it has waited since the last look, and its next move will be seen */
    bool early;         /* its loop is not known yet */
    bool slept;         /* it has slept since the last look, so that no stop has woken it */
    bool stops;         /* the program has been seen stopped or traced lately */
    enum sonde__decide_means means;
    uint32_t spread; /* POOR: of the time between samples, in percent */
};

/* For how long may the watch have stood still since from_ns, when it began to wait until due_ns, if
 * it goes on at now_ns, and ran or waited for a CPU for own_ns? stopped: it was stopped; else only
 * the machine may have stood still, and what delays a timer for less than long is no halt. */
uint64_t sonde__decide_halted(uint64_t from_ns, uint64_t due_ns, uint64_t now_ns, uint64_t own_ns,
                              uint64_t threshold_ns, bool stopped);

/* A long delay. If the program made stamps so long before or after a turn, and the watch was late
 * all that time, the program was not stopped with it. */
uint64_t sonde__decide_long_ns(uint64_t threshold_ns);

void sonde__decide_init(struct sonde__decision *decision, uint64_t threshold_ns);
enum sonde__decide_action sonde__decide(struct sonde__decision *decision,
                                        const struct sonde__decide_look *look);
/* The program exits at look->now_ns, in the turn. */
void sonde__decide_exit(struct sonde__decision *decision, const struct sonde__decide_look *look);
/* An upper bound of the turn's effective time: the machine may have run while the watcher was
 * late. */
uint64_t sonde__decide_most(const struct sonde__decision *decision);
/* A turn that began and ended between two looks, by its own stamps. */
struct sonde__decide_missed {
    uint64_t begin_ns, end_ns;
    uint64_t due_ns; /* when the look that found it was due; 0: the watcher slept until woken */
    uint64_t now_ns;
    uint64_t halted_ns; /* as of sonde__decide_look */
    bool stops;         /* the program has been seen stopped or traced lately */
};
/* A lower bound of its effective time. If the program made stamps while the watcher was late, the
 * machine was running and the stamps are right. Otherwise the machine or the program may have been
 * stopped while the watch stood still. */
uint64_t sonde__decide_missed_time(const struct sonde__decide_missed *missed,
                                   uint64_t threshold_ns);
/* Time until the next look is due; UINT64_MAX: the thread is idle. */
uint64_t sonde__decide_next_tick(const struct sonde__decision *decision, uint64_t now_ns);
/* Time from one sample to the next of a thread that keeps running: some looks in between find that
 * it is too soon. */
uint64_t sonde__decide_next_sample(const struct sonde__decision *decision);
/* How often to check an idle thread: a turn must be seen before its first sample is due. */
uint64_t sonde__decide_idle_period(uint64_t threshold_ns);
#endif
