// SPDX-License-Identifier: Apache-2.0
/* Translates what the system shows of a blocked thread to what the probe would note about the wait.
 *
 * The probe reads its caller's frame; this walks the thread's stack passively. The probe's rules
 * decide which waits may be a loop's. A wait that cannot be classified from outside is no loop.
 * Context: any thread, one at a time. */
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

/* The last waits of a thread. They are kept because a loop waits at one place, and a walk of the
 * stack costs some 10 to 1000 us, more than all else together. */
#define SONDE__WATCH_OUTSIDE_PLACES 4u
struct sonde__watch_outside_places {
    struct {
        struct sonde__os_wait wait;
        struct sonde__probe_wait is; /* the result, without now_ns */
    } list[SONDE__WATCH_OUTSIDE_PLACES];
    uint32_t next;
};

/* Describe `wait`, including now_ns and flags. main: the thread is the main thread. any: also
 * describe a wait that only shows where the thread is. False: the wait is of no use: it cannot be a
 * loop's, and does not show where the thread is. */
bool sonde__watch_outside_describe(const struct sonde__watch_outside_calls *calls,
                                   struct sonde__watch_outside_places *places,
                                   struct sonde__target *target, uint64_t tid, bool main, bool any,
                                   const struct sonde__os_wait *wait, uint64_t now_ns,
                                   struct sonde__probe_wait *ret_wait);

/* Do both make the same call for the same object at the same place? Time-outs may differ. */
bool sonde__watch_outside_is_same(const struct sonde__os_wait *a, const struct sonde__os_wait *b);

/* Is this a Go program, or is the code that waits here Go code? Goroutines move between threads, so
 * no thread has a loop. */
bool sonde__watch_outside_is_go(struct sonde__target *target, const struct sonde__os_wait *wait);
/* Is the program a Go program? */
bool sonde__watch_outside_is_go_program(struct sonde__target *target);

#endif
