// SPDX-License-Identifier: Apache-2.0
/* The watch of a program that carries no probe: what a look from outside sees of its threads, in
 * the words of the probe's page.
 *
 * Each round reads the scheduler's counters of every thread, from files that stay open, and of
 * those that have run since the last round also what they wait in. A wait that was seen is noted in
 * a page of the watch's own as the probe would have noted it, so learning and deciding are the
 * same. Stamps are as exact as the time between two looks allows.
 *
 * A thread that is busy at each look may turn all the same. Once it is busy at two looks in a row,
 * the kernel counts its calls of the loop's wait, where that is allowed (host_count.h): a call is a
 * turn. Else a turn ends where the thread may have been in its loop: it gave up its CPU more often
 * than in the waits that were seen, or it read or wrote. So what turns is not called stalled, and
 * some stalls are missed or shown in parts; only a thread that does none of this, turn after turn,
 * looks like one long turn.
 *
 * Nothing is written to the program, and none of its threads is stopped or signalled. Context: the
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

/* Look at all threads. Before the loops of the session are inspected. */
void sonde__watch_outside_look(struct sonde__watch_session *session, uint64_t now_ns);
/* Look at one thread again: a sample of it has just been taken. */
void sonde__watch_outside_look_again(struct sonde__watch_session *session,
                                     const struct sonde__watch_loop *loop);
/* The process has executed another program: forget all that was learned. */
void sonde__watch_outside_forget(struct sonde__watch_session *session);
/* How long to the next look, at most. */
uint64_t sonde__watch_outside_period(const struct sonde__watch_session *session, uint64_t now_ns);

/* For the last line: what was looked at. */
struct sonde__watch_outside_counts {
    uint64_t looks;
    uint32_t threads;   /* at the last look */
    uint32_t unwatched; /* of them: no place, or they could not be read */
    uint32_t of_go;     /* threads that were seen in code of Go */
    bool is_go;         /* the program is one of Go */
    uint64_t congested; /* times that a loop was not seen idle for the threshold, and turned */
    uint64_t doubtful;  /* the same where that it turned is a guess */
};
struct sonde__watch_outside_counts
sonde__watch_outside_counts(const struct sonde__watch_outside *outside);

#endif
