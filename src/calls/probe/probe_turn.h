// SPDX-License-Identifier: Apache-2.0
/* Which wait is the event loop's own, and when it comes back: the hot half of the watch.
 *
 * A loop is learned, not configured. Its wait is known by its key (kind, object), which survives
 * another call site, and by where it stands: stack address and return address, which survive
 * another object (a select loop whose nfds grows, an epoll descriptor made again). Treating every
 * poll as idle would miss a stall that polls inside; treating only one address as the loop would
 * report nested main loops. Pure: the caller gives the time. Context: handler. */
#ifndef SONDE_PROBE_TURN_H
#define SONDE_PROBE_TURN_H

#include "probe_page.h"

/* Waits with one key before it is a candidate, and before it can become the loop. */
#define SONDE__PROBE_LEARN_WAITS 3u
/* A loop of fewer turns is young: a rival that waits LEARN_WAITS times and for RIVAL_NS, while it
 * makes no turn, takes its place (start-up code waits a few times and never again), and a thread
 * that waits for something else meanwhile is not called busy. */
#define SONDE__PROBE_YOUNG_TURNS 8u
#define SONDE__PROBE_RIVAL_NS    1000000000u
/* A wait counts as outside the loop's only by more than the frames of one wait may take: libuv
 * keeps 12 KiB of events in the frame above its epoll_wait, python 48 KiB of sets above its select.
 * So a callback's own wait often stands higher than the loop's and is still inside. */
#define SONDE__PROBE_OUTER_BYTES 65536u

struct sonde__probe_wait {
    uint64_t object;
    uint64_t sp;     /* an address in the wrapper's frame: greater is further out */
    uint64_t caller; /* return address of the wrapper */
    uint64_t now_ns; /* CLOCK_MONOTONIC_COARSE */
    uint32_t kind;   /* enum sonde__probe_kind */
    bool instant;    /* timeout 0: it asks and does not wait */
    bool learn;      /* may become the loop */
};

enum sonde__probe_turn {
    SONDE__PROBE_NESTED,  /* not the loop's: do not call leave() */
    SONDE__PROBE_WAITING, /* the thread is idle until sonde__probe_leave() */
    SONDE__PROBE_INSTANT, /* a turn that will not block: call sonde__probe_leave() after it too */
};

/* The slot of thread `tid`: its old one, else a free one. Null: all are taken (counted). */
struct sonde__probe_slot *sonde__probe_claim(struct sonde__probe_page *page, uint32_t tid);

/* Before a wait: what it is, with everything that learning does. */
enum sonde__probe_turn sonde__probe_enter_any(struct sonde__probe_slot *slot,
                                              const struct sonde__probe_wait *wait);

/* Is this the wait of a known loop, at or inside its place, with nothing to be learned from it?
 * Then enter() has one store to make. Asked in every turn of every program. */
static inline bool sonde__probe_knows(const struct sonde__probe_slot *slot, uint32_t kind,
                                      uint64_t object, uint64_t sp)
{
    return slot->loop.object == object && slot->loop.kind == kind && sp <= slot->loop.sp &&
           slot->yield_waits == 0 && slot->entered == 0;
}

static inline enum sonde__probe_turn sonde__probe_enter_known(struct sonde__probe_slot *slot,
                                                              bool instant)
{
    if (instant) {
        return SONDE__PROBE_INSTANT;
    }
    atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    return SONDE__PROBE_WAITING;
}

static inline enum sonde__probe_turn sonde__probe_enter(struct sonde__probe_slot *slot,
                                                        const struct sonde__probe_wait *wait)
{
    return sonde__probe_knows(slot, wait->kind, wait->object, wait->sp)
               ? sonde__probe_enter_known(slot, wait->instant)
               : sonde__probe_enter_any(slot, wait);
}

/* After a wait that enter() did not call NESTED. now_ns: CLOCK_MONOTONIC_COARSE. */
static inline void sonde__probe_leave(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    uint64_t turns = atomic_load_explicit(&slot->turns, memory_order_relaxed);
    atomic_store_explicit(&slot->turns, turns + 1, memory_order_relaxed);
    atomic_store_explicit(&slot->beat, sonde__probe_beat(now_ns, SONDE__PROBE_BUSY),
                          memory_order_release);
}

/* True once, for the thread that has to wake the supervisor (FUTEX_WAKE on page->sleeping). Asked
 * after leave(). The supervisor looks again a period after it announced its sleep, so no fence
 * stands in this path. */
static inline bool sonde__probe_must_wake(struct sonde__probe_page *page)
{
    return atomic_load_explicit(&page->sleeping, memory_order_relaxed) != 0 &&
           atomic_exchange_explicit(&page->sleeping, 0, memory_order_acq_rel) != 0;
}

#endif
