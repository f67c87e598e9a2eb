// SPDX-License-Identifier: Apache-2.0
/* A stall in progress: its samples, weighted by the time that each stands for, and the time that no
 * sample stands for. Together they are the whole stall.
 *
 * A sample stands for the time around it, halfway to its neighbours, if these are not further than
 * four times the time that was planned between them. If they are, it stands for the planned time,
 * and what lies between is uncovered; a thread that did not run meanwhile is where it was, so then
 * nothing is uncovered, however late the next sample comes. Where it is known when the thread left
 * the place of one sample and came to that of the next, each stands for that. A sample that equals
 * the one before extends it: an unchanged thread costs one element however long it hangs. Times are
 * effective times since the thread became busy. Context: any thread, one at a time. */
#ifndef SONDE_WATCH_STALL_H
#define SONDE_WATCH_STALL_H

#include "host_run.h"
#include "report_model.h"
#include "watch_capture.h"
#include "watch_child.h"

/* Different samples kept of one stall: at four a second, over four hours of a thread that never
 * does the same twice. What does not fit extends the last one and is counted. */
#define SONDE__WATCH_SAMPLES_MAX 65536u
/* Other threads that are sampled once; a note says how many do not fit. */
#define SONDE__WATCH_THREADS_MAX 1024u

struct sonde__cause;       /* cause.h */
struct sonde__watch_notes; /* watch_note.h */

struct sonde__watch_sample {
    struct sonde__sample sample;
    uint64_t time_ns;   /* what it stands for begins */
    uint64_t weight_ns; /* and lasts */
};

/* Time of the stall that no sample stands for. Uncovered times are in the order of time, do not
 * overlap, and are counted in the same effective time as samples. */
struct sonde__watch_uncovered {
    uint64_t time_ns, duration_ns; /* since the stall began */
    uint32_t reason;               /* enum sonde__report_uncovered_reason */
    uint64_t cpu_ns, runqueue_ns;  /* of it; 0 when not known */
    char detail[48];               /* what the thread waited for, or where in the kernel; "" */
};

/* More of them extend the last one: a watch that is late so often is late. */
#define SONDE__WATCH_UNCOVERED_MAX 64u

/* Looks at causes of one stall: the chain, and changes. Later ones are left out. A look costs 0.04
 * ms of CPU time, at a network socket some ms. */
#define SONDE__WATCH_CAUSES_MAX 24u

struct sonde__watch_stall {
    struct sonde__watch_sample *samples;
    uint32_t count, capacity;
    struct sonde__watch_uncovered uncovered[SONDE__WATCH_UNCOVERED_MAX];
    uint32_t uncovered_count;
    uint64_t lost;
    uint64_t early;              /* samples that ended a system call of the thread early */
    struct sonde__cause *causes; /* watch_cause.h; null: none were looked for */
    uint64_t cause_ns[SONDE__WATCH_CAUSES_MAX]; /* of the sample that each was found with */
    uint32_t cause_count, cause_looks;
    struct sonde__watch_child *child; /* that is waited for; null: none, or it was not read */
    struct sonde__sample *threads;
    uint32_t thread_count, thread_total;
    uint64_t last_ns; /* when the last sample was taken, and the time planned after it */
    uint64_t last_step_ns;
    uint64_t cpu_ns, runqueue_ns, overhead_ns;
    struct sonde__report_load load;
    struct sonde__watch_notes *notes; /* what the program said then; null: nothing */
};

/* What is known of the time before a sample. */
struct sonde__watch_gap {
    uint64_t step_ns;  /* planned between samples from now on */
    uint64_t moved_ns; /* how long the thread ran since the last sample, at most; UINT64_MAX:
                          unknown. Before the first sample: since still_ns */
    uint64_t still_ns; /* when the turn was first looked at */
    uint64_t apart_ns; /* between samples of a thread that runs on */
    /* when it left the place of the last sample, and came to that of this one; 0: not known */
    uint64_t left_ns, came_ns;
    uint32_t reason;              /* enum sonde__report_uncovered_reason, if the sample is late */
    uint64_t cpu_ns, runqueue_ns; /* of the time before the first sample */
    const char *waits;            /* what the thread waited for then, or "" */
};

void sonde__watch_stall_init(struct sonde__watch_stall *stall);
void sonde__watch_stall_done(struct sonde__watch_stall *stall);
/* Would a sample tell more than the last one? Not if the thread still waits there, and not yet if
 * it runs on. */
bool sonde__watch_stall_wants(const struct sonde__watch_stall *stall, uint64_t counted_ns,
                              const struct sonde__watch_gap *gap);
/* Takes the sample over, which was taken at counted_ns. */
void sonde__watch_stall_add(struct sonde__watch_stall *stall, struct sonde__sample *sample,
                            uint64_t counted_ns, const struct sonde__watch_gap *gap);
/* The thread has not run since the last sample: that one is good for this time, too. */
void sonde__watch_stall_stay(struct sonde__watch_stall *stall, uint64_t counted_ns,
                             uint64_t step_ns);
/* The stall ended at duration_ns. gap: since the last sample. Without samples all is uncovered. */
void sonde__watch_stall_end(struct sonde__watch_stall *stall, uint64_t duration_ns,
                            const struct sonde__watch_gap *gap);
void sonde__watch_stall_add_threads(struct sonde__watch_stall *stall,
                                    struct sonde__watch_sampler *sampler, uint64_t tid);

#endif
