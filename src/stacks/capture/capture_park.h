// SPDX-License-Identifier: Apache-2.0
/* Running threads capture themselves and then wait until all have: a consistent snapshot.
 *
 * A collector opens a collection, asks threads one by one, waits for all of them, reads each
 * result, and releases them. A thread that is asked runs our handler, writes its stack where the
 * collector said, and sleeps on a futex; this frees its CPU for the next one, and eight busy
 * threads on two CPUs are parked in microseconds instead of time slices.
 *
 *     IDLE -> ASKED(epoch) -> WALKING(epoch) -> PARKED(epoch) -> IDLE
 *                  \-> IDLE (withdrawn at the deadline)
 *
 * One compare-and-swap on the slot decides who may write the stack, so a signal that is delivered
 * too late finds another epoch and does nothing. A parked thread may hold any lock of the program:
 * between the first question and the release the collector takes none and calls no libc.
 * No thread stays parked for longer than the collection's hold time, even if the collector dies.
 * One collector at a time: the caller ensures that. Context: handler. */
#ifndef SONDE_CAPTURE_PARK_H
#define SONDE_CAPTURE_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/stack.h>

/* Threads that one collection can hold: far more than run at a time on any machine. The caller
 * learns what does not fit (LIMIT). */
#define SONDE__PARK_SLOTS 1024u

/* Begin a collection. Threads that it parks leave by themselves after hold_ns. */
void sonde__capture_park_open(uint64_t hold_ns);

/* Send the signal that asks thread `tid`, which must not be the calling one, to write `stack`
 * (prepared) and to wait. Returns OK | LIMIT | ABSENT | BUSY (queue of signals full) | DENIED | OS.
 */
SONDE_NODISCARD enum sonde_status sonde__capture_park_ask(uint64_t tid, int32_t signal,
                                                          struct sonde_stack *stack,
                                                          uint32_t *ret_slot);

/* Sleep until all that were asked are parked, or until the monotonic clock shows until_ns. */
void sonde__capture_park_wait(uint64_t until_ns);

/* How many are asked and not parked yet? Has this one not begun to answer? */
uint32_t sonde__capture_park_missing(void);
bool sonde__capture_park_is_asked(uint32_t slot);

enum sonde__parked {
    SONDE__PARKED_HELD,    /* the stack is there, and the thread waits */
    SONDE__PARKED_LEFT,    /* the stack is there; the thread waited as long as it may, and left */
    SONDE__PARKED_WALKING, /* it began just now */
    SONDE__PARKED_ABSENT,  /* it did not come; the question is withdrawn, the stack is ours again */
};
/* The state of a request. ABSENT: no answer yet. */
enum sonde__parked sonde__capture_park_see(uint32_t slot);
/* The same, and a question that is not answered yet is withdrawn: after ABSENT the slot is free. */
enum sonde__parked sonde__capture_park_look(uint32_t slot);

/* Release all threads. */
void sonde__capture_park_release(void);

/* Sleep until the thread, which was WALKING, has written its stack. After the release. */
void sonde__capture_park_finish(uint32_t slot);

/* Is the thread still in our handler, where the signal is blocked for it? */
bool sonde__capture_park_is_inside(uint64_t tid);
/* Was it there recently? It may still be in the last instructions of a handler, which are not ours.
 */
bool sonde__capture_park_was_inside(uint64_t tid);

/* Threads that are in our handler now. */
uint32_t sonde__capture_park_inside_count(void);

/* In a handler: a signal has come, with this value (0: none that is known). If it asks this thread
 * to park, or if the thread is asked by one that the system dropped because this one was pending,
 * then that is done. True: the signal is one of ours, be it too late. */
bool sonde__capture_park_answer(int32_t signal, uint64_t value, const void *ucontext);

/* In a fork child: nobody is parked. */
void sonde__capture_park_forget(void);

#endif
