// SPDX-License-Identifier: Apache-2.0
/* The watch of a program without a probe: it looks at the threads from outside, and fills a page as
 * the probe would.
 *
 * Each round reads the scheduler's counters of every thread, from files that stay open, and the
 * waits of the threads that have run since the last round. The watch notes waits in a page of its
 * own, so learning and deciding are the same as with a probe. Stamps are as exact as the time
 * between two looks allows.
 *
 * A thread that is busy at every look may still have turned in between. After two busy looks in a
 * row, the kernel counts the thread's calls of the loop's wait, where that is allowed
 * (host_count.h); each call is a turn. Otherwise a turn ends where the thread may have been in its
 * loop: it gave up its CPU more often than in the waits that were seen, or it read or wrote. So a
 * loop that turns is not reported as stalled, but some stalls are missed or reported in parts. Only
 * a thread that does none of this for several turns looks like one long turn.
 *
 * When no thread has run for a while, the watch sleeps until the scheduler records that one runs
 * (host_perf.h): a program that waits costs nothing, and the records tell when the wait ended.
 * Without perf events the watch looks 20 to 50 times a second.
 *
 * The watch does not write to the program, and does not stop or signal its threads. Context: the
 * thread that samples. */
#ifndef SONDE_WATCH_OUTSIDE_H
#define SONDE_WATCH_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

struct sonde__watch_loop;    /* watch_session.h */
struct sonde__watch_outside; /* what is known of the threads */
struct sonde__watch_session;

SONDE_NODISCARD enum sonde_status sonde__watch_outside_create(struct sonde__watch_outside **ret);
void sonde__watch_outside_destroy(struct sonde__watch_outside *outside);

/* Look at all threads. Call it before the loops of the session are inspected. */
void sonde__watch_outside_look(struct sonde__watch_session *session, uint64_t now_ns);
/* Look at a thread again after a sample of it was taken. */
void sonde__watch_outside_look_again(struct sonde__watch_session *session,
                                     const struct sonde__watch_loop *loop);
/* Forget all threads and their loops: the process has executed another program. */
void sonde__watch_outside_forget(struct sonde__watch_session *session);
/* The longest time until the next look. */
uint64_t sonde__watch_outside_period(const struct sonde__watch_session *session, uint64_t now_ns);

/* May the watch sleep, because no thread runs, and each one that does will end the wait? True: call
 * _wake() after the wait. */
bool sonde__watch_outside_sleep(struct sonde__watch_session *session, uint64_t now_ns);
void sonde__watch_outside_wake(struct sonde__watch_session *session);

/* For the summary. */
struct sonde__watch_outside_counts {
    uint64_t looks;
    bool never_sleeps;  /* perf events are refused: nobody would end a sleep */
    uint32_t threads;   /* at the last look */
    uint32_t unwatched; /* threads without a free place, or that could not be read */
    uint32_t of_go;     /* threads that were seen in Go code */
    bool is_go;         /* the program is a Go program */
    uint64_t congested; /* times that a loop was not seen idle for the threshold, but turned */
    uint64_t doubtful;  /* the same, but the turns are a guess */
};
struct sonde__watch_outside_counts
sonde__watch_outside_counts(const struct sonde__watch_outside *outside);

#endif
