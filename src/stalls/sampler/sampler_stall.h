// SPDX-License-Identifier: Apache-2.0
/* A stall in progress: its samples, each with the time that it covers, and the time that no sample
 * covers. Together they make up the whole stall.
 *
 * A sample covers the time halfway to each neighbour if the neighbour is within four planned
 * intervals. Otherwise it covers the planned interval, and the rest is uncovered. A thread that has
 * not run is still where it was: then nothing is uncovered, however late the next sample is. If it
 * is known when the thread left the place of one sample and came to the next (sampler_trace.h), the
 * samples cover those times, and not what the thread did between. The first sample also covers the
 * time before the first look if the thread waited, or ran, all that time. A sample that equals the
 * previous one extends it, so an unchanged thread costs one element however long it hangs. Times
 * are effective times since the thread became busy. Context: any thread, one at a time. */
#ifndef SONDE_SAMPLER_STALL_H
#define SONDE_SAMPLER_STALL_H

#include "host_run.h"
#include "os.h"
#include "report_model.h"
#include "sampler.h"
#include "sampler_child.h"

/* Different samples kept of one stall: at four a second, enough for four hours of a thread that
 * changes all the time. Further samples extend the last one and are counted. */
#define SONDE__SAMPLER_SAMPLES_MAX 65536u
/* Other threads that are sampled once; a note tells how many are left out. */
#define SONDE__SAMPLER_THREADS_MAX 1024u

struct sonde__cause;         /* cause.h */
struct sonde__sampler_notes; /* sampler_note.h */

struct sonde__sampler_sample {
    struct sonde__sample sample;
    uint64_t time_ns;   /* begin of the time that it covers */
    uint64_t weight_ns; /* its length */
};

/* Time of the stall that no sample covers. Uncovered times are ordered, do not overlap, and use the
 * same effective time as samples. */
struct sonde__sampler_uncovered {
    uint64_t time_ns, duration_ns; /* since the stall began */
    uint32_t reason;               /* enum sonde__report_uncovered_reason */
    uint64_t cpu_ns, runqueue_ns;  /* in this time; 0: not known */
    char detail[48];               /* what the thread waited for, or where in the kernel; "" */
};

/* When the list is full, the last one grows. */
#define SONDE__SAMPLER_UNCOVERED_MAX 64u

/* Looks at causes of one stall: the chain of owners, and changes. Later ones are left out. A look
 * costs 0.04 ms of CPU time, at a network socket some ms. */
#define SONDE__SAMPLER_CAUSES_MAX 24u

struct sonde__sampler_stall {
    struct sonde__sampler_sample *samples;
    uint32_t count, capacity;
    struct sonde__sampler_uncovered uncovered[SONDE__SAMPLER_UNCOVERED_MAX];
    uint32_t uncovered_count;
    uint64_t lost;
    uint64_t early;              /* samples that ended a system call of the thread early */
    struct sonde__cause *causes; /* sampler_cause.h; null: none were looked for */
    uint64_t cause_ns[SONDE__SAMPLER_CAUSES_MAX]; /* of the sample that each was found with */
    uint32_t cause_count, cause_looks;
    uint64_t cause_next_ns;             /* when the end of the chain of owners is examined again */
    bool in_circle;                     /* the chain is one, which was reported */
    struct sonde__sampler_child *child; /* that the thread waits for; null: none, or not read */
    struct sonde__sample *threads;
    uint32_t thread_count, thread_total;
    uint64_t last_ns; /* when the last sample was taken, and the time planned after it */
    uint64_t last_step_ns;
    uint64_t cpu_ns, runqueue_ns, overhead_ns;
    struct sonde__report_load load;
    struct sonde__sampler_notes *notes; /* null: none */
};

/* What is known about the time before a sample. */
struct sonde__sampler_gap {
    uint64_t step_ns;  /* planned between samples from now on */
    uint64_t moved_ns; /* how long the thread ran since the last sample, at most; UINT64_MAX:
                          unknown. Before the first sample: since still_ns */
    uint64_t still_ns; /* when the turn was first looked at */
    bool even;         /* until then, the thread did the same all the time */
    uint64_t apart_ns; /* between samples of a thread that keeps running */
    /* when the thread left the place of the last sample, and came to that of this one: by the
     * scheduler, or for a thread that ran on by ticks of its CPU time; 0: not known */
    uint64_t left_ns, came_ns;
    uint32_t reason;              /* enum sonde__report_uncovered_reason, if the sample is late */
    uint64_t cpu_ns, runqueue_ns; /* of the time before the first sample */
    const char *waits;            /* what the thread waited for then, or "" */
};

/* The begin of a turn that no sample covers. */
struct sonde__sampler_head {
    uint64_t ns;
    uint64_t cpu_ns, runqueue_ns; /* of the thread, in this time */
    char state;                   /* at its end */
};
/* Did the thread do the same all that time? If it waits, so it did in nearly all of it, and for at
 * most twice the time between samples, for it may have waited elsewhere. If it runs, or waits for a
 * CPU, so it did in nearly all of it, and it may have been elsewhere while it ran. */
bool sonde__sampler_stall_is_even(const struct sonde__sampler_head *head, uint64_t step_ns);

/* How long a thread ran between two samples, if moved_ns is that time up to the look before the
 * second one; UINT64_MAX: unknown. waits: it waited at that look, or in that sample. Then a switch
 * between the two means that it went on. at_look, at_sample: its counters. */
uint64_t sonde__sampler_stall_moved(uint64_t moved_ns, bool waits,
                                    const struct sonde__os_schedstat *at_look,
                                    const struct sonde__os_schedstat *at_sample);

void sonde__sampler_stall_init(struct sonde__sampler_stall *stall);
void sonde__sampler_stall_done(struct sonde__sampler_stall *stall);
/* Would a sample show more than the last one? Not if the thread still waits there; if it keeps
 * running, not yet. */
bool sonde__sampler_stall_wants(const struct sonde__sampler_stall *stall, uint64_t counted_ns,
                                const struct sonde__sampler_gap *gap);
/* Add a sample that was taken at counted_ns. Ownership: takes what the sample holds. */
void sonde__sampler_stall_add(struct sonde__sampler_stall *stall, struct sonde__sample *sample,
                              uint64_t counted_ns, const struct sonde__sampler_gap *gap);
/* Where a stall's samples end. */
struct sonde__sampler_mark {
    uint32_t count, uncovered_count;
    uint64_t last_ns, last_step_ns;
};
struct sonde__sampler_mark sonde__sampler_stall_mark(const struct sonde__sampler_stall *stall);
/* Drop the samples added since the mark: the next one to be added, of the same place, covers their
 * time as well. */
void sonde__sampler_stall_return(struct sonde__sampler_stall *stall,
                                 const struct sonde__sampler_mark *mark);
/* The thread has not run since the last sample, which therefore covers this time, too. */
void sonde__sampler_stall_stay(struct sonde__sampler_stall *stall, uint64_t counted_ns,
                               uint64_t step_ns);
/* The stall ended at duration_ns. gap: since the last sample. Without samples, all is uncovered. */
void sonde__sampler_stall_end(struct sonde__sampler_stall *stall, uint64_t duration_ns,
                              const struct sonde__sampler_gap *gap);
/* Sample the other threads; those that lack a processor only in the first quarter of a second. tid
 * 0: all threads, in any time. */
void sonde__sampler_stall_add_threads(struct sonde__sampler_stall *stall,
                                      struct sonde__sampler *sampler, uint64_t tid);

#endif
