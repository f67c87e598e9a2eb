// SPDX-License-Identifier: Apache-2.0
/* Running threads capture themselves, then wait until all have: a consistent snapshot.
 *
 * A collector opens a collection, asks threads one by one, waits for all, reads each result, and
 * releases them. An asked thread runs our handler, writes its stack where the collector said, and
 * sleeps on a futex. This frees its CPU for the next one: eight busy threads on two CPUs are parked
 * in microseconds instead of time slices.
 *
 *     IDLE -> ASKED(epoch) -> WALKING(epoch) -> PARKED(epoch) -> IDLE
 *                  \-> IDLE (withdrawn at the deadline)
 *
 * One compare-and-swap on the slot decides who may write the stack: a signal that is delivered
 * too late finds another epoch and does nothing. A parked thread may hold any lock of the
 * program, so the collector takes no lock and calls no libc between the first request and the
 * release. No thread stays parked for longer than the collection's hold time, even if the
 * collector dies. One collector at a time, which the caller ensures. Context: handler. */
#ifndef SONDE_CAPTURE_PARK_H
#define SONDE_CAPTURE_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/stack.h>

/* Limit of threads in a collection: far more than run at a time. The caller gets LIMIT for
 * others. */
#define SONDE__PARK_SLOTS 1024u

/* Begin a collection. Its threads leave by themselves after hold_ns. */
void sonde__capture_park_open(uint64_t hold_ns);

/* Ask thread `tid`, not the calling one, by signal to write `stack` (prepared) and to wait.
 * Returns OK | LIMIT | ABSENT | BUSY (queue of signals full) | DENIED | OS. */
SONDE_NODISCARD enum sonde_status sonde__capture_park_ask(uint64_t tid, int32_t signal,
                                                          struct sonde_stack *stack,
                                                          uint32_t *ret_slot);

/* Sleep until all asked threads are parked, or until the monotonic clock shows until_ns. */
void sonde__capture_park_wait(uint64_t until_ns);

/* How many threads are asked and not parked yet? Has this one not begun to answer? */
uint32_t sonde__capture_park_missing(void);
bool sonde__capture_park_is_asked(uint32_t slot);

enum sonde__parked {
    SONDE__PARKED_HELD,    /* the stack is written, and the thread waits */
    SONDE__PARKED_LEFT,    /* the stack is written; the thread left after the hold time */
    SONDE__PARKED_WALKING, /* the thread is writing its stack */
    SONDE__PARKED_ABSENT,  /* no answer; the request is withdrawn, the stack is ours again */
};
/* The state of a request. ABSENT: no answer yet. */
enum sonde__parked sonde__capture_park_see(uint32_t slot);
/* The same, but withdraws an unanswered request: after ABSENT the slot is free. */
enum sonde__parked sonde__capture_park_look(uint32_t slot);

/* Release all threads. */
void sonde__capture_park_release(void);

/* After the release: sleep until the thread, which was WALKING, has written its stack. */
void sonde__capture_park_finish(uint32_t slot);

/* Is the thread in our handler, where it blocks the signal? */
bool sonde__capture_park_is_inside(uint64_t tid);
/* Was the thread there recently? It may still run the last instructions of the handler. */
bool sonde__capture_park_was_inside(uint64_t tid);

/* The number of threads in our handler. */
uint32_t sonde__capture_park_inside_count(void);

/* In a handler: answer a signal with this value (0: unknown). Parks the thread if the signal
 * asks for that, or if a request's signal was dropped because this one was pending. True: the
 * signal is ours, even if too late. */
bool sonde__capture_park_answer(int32_t signal, uint64_t value, const void *ucontext);

/* In a fork child: no thread is parked. */
void sonde__capture_park_forget(void);

#endif
