// SPDX-License-Identifier: Apache-2.0
/* From what the system tells of a blocked thread to what the probe would have said of the same
 * wait.
 *
 * Where the probe reads its caller's frame, this walks the thread's stack passively. What a wait
 * may be taken for follows the probe's rules; what cannot be told from outside is no loop. Context:
 * any thread, one at a time. */
#ifndef SONDE_WATCH_OUTSIDE_WAIT_H
#define SONDE_WATCH_OUTSIDE_WAIT_H

#include "os.h"
#include "probe_turn.h"
#include "target.h"

/* The numbers of the calls that threads wait in. */
struct sonde__watch_outside_calls {
    struct {
        int64_t number; /* -1: this system has no such call */
        uint8_t call;   /* which: watch_outside_wait.c */
    } list[24];
    uint32_t count;
};
void sonde__watch_outside_calls_init(struct sonde__watch_outside_calls *calls);

/* The waits that a thread was last seen in. A walk of its stack costs some 10 to 1000 us, more than
 * all else together, and a loop waits at one place. */
#define SONDE__WATCH_OUTSIDE_PLACES 4u
struct sonde__watch_outside_places {
    struct {
        struct sonde__os_wait wait;
        struct sonde__probe_wait is; /* what it is, now_ns left out */
    } list[SONDE__WATCH_OUTSIDE_PLACES];
    uint32_t next;
};

/* What `wait` is, now_ns and flags included. main: of the main thread; any: also if it only says
 * where the thread is. False: it is no wait that could be a loop's, or say where the thread is. */
bool sonde__watch_outside_describe(const struct sonde__watch_outside_calls *calls,
                                   struct sonde__watch_outside_places *places,
                                   struct sonde__target *target, uint64_t tid, bool main, bool any,
                                   const struct sonde__os_wait *wait, uint64_t now_ns,
                                   struct sonde__probe_wait *ret_wait);

/* The same call for the same thing at the same place; its time-out may differ. */
bool sonde__watch_outside_is_same(const struct sonde__os_wait *a, const struct sonde__os_wait *b);

/* Is the program, or the part of it that waits here, one of Go? Its goroutines move between
 * threads, so no thread has a loop. */
bool sonde__watch_outside_is_go(struct sonde__target *target, const struct sonde__os_wait *wait);
/* The program itself. */
bool sonde__watch_outside_is_go_program(struct sonde__target *target);

#endif
