// SPDX-License-Identifier: Apache-2.0
/* Turns before the loop is known: its first ones.
 *
 * A loop is known after some waits. Until then a wait on an epoll descriptor may prove to be its
 * own: few programs make such a descriptor, and wait on it once. So the time after such a wait is
 * an early turn, which the supervisor watches, too. It is reported only when the same wait (thread,
 * descriptor, calling instruction, and about the same place in the stack) has proved to be the
 * loop, and was made without a break in between. Which calls lead to it does not matter: an
 * interpreter changes them while it specializes its code.
 *
 * Invariant: an early turn ends at a wait of its own kind only. A wait elsewhere that may be the
 * loop's own ends it without a stamp: better to miss a stall than to report an idle program. What
 * only passes time, or waits for another thread, deeper in the stack does not end it. Waits on
 * other objects have no early turns: start-up code makes a few of them and never again.
 *
 * Pure. Context: handler. */
#ifndef SONDE_PROBE_EARLY_H
#define SONDE_PROBE_EARLY_H

#include "probe_turn.h"

/* Two waits of one call differ by less in their stack addresses, by whatever calls it is led to. */
#define SONDE__PROBE_EARLY_BYTES 1024u

/* No loop is known, and this wait was noted in candidate `c`. True: an early turn ends with it, and
 * the next one begins after it. */
bool sonde__probe_early_enter(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait,
                              const struct sonde__probe_candidate *c);
/* No loop is known, and this wait has no early turns. The thread is idle, or in its early turn. */
void sonde__probe_early_interrupt(struct sonde__probe_slot *slot,
                                  const struct sonde__probe_wait *wait);
/* After a wait that _enter() took. */
void sonde__probe_early_leave(struct sonde__probe_slot *slot, uint64_t now_ns);
/* `loop` becomes the loop; kind NONE: there is none any more. Call it after slot->loop is set. */
void sonde__probe_early_decide(struct sonde__probe_slot *slot,
                               const struct sonde__probe_candidate *loop);
/* The candidate with this index is replaced by another one. */
void sonde__probe_early_forget(struct sonde__probe_slot *slot, uint32_t index);
/* A slot for another thread. */
void sonde__probe_early_reset(struct sonde__probe_slot *slot);

#endif
