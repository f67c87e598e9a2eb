// SPDX-License-Identifier: Apache-2.0
/* Which wait is the event loop's own, and when it comes back: the hot half of the watch.
 *
 * A loop is learned, not configured. Its wait is the outermost one that recurs. It is known by its
 * key (kind, object), which survives another call site, and by where it stands: stack address and
 * return address, which survive another object (a select loop whose nfds grows, an epoll descriptor
 * made again). Treating every poll as idle would miss a stall that polls inside; treating only one
 * address as the loop would report nested main loops.
 *
 * "Outermost" is a matter of the frame that makes the call, not of the stack pointer: libuv keeps
 * 12 KiB of events in the frame above its epoll_wait, python 48 KiB of sets above its select. So
 * waits are compared by level: where the frame of their caller begins. Who cannot say the level
 * gives 0, and then only a great distance counts.
 *
 * The loop is never surer than its evidence:
 * - A wait that a library makes for callers everywhere (a round trip to the X server) changes its
 *   place all the time. It is no loop, and what was taken for one is forgotten.
 * - The same calls lead to each wait of a loop. What a library waits for at one place, but for
 * other callers each time (libdbus while a program starts), stays young. An epoll descriptor is
 * the loop's own, so that there the call itself is enough.
 * - A thread whose outermost wait is of a kind that cannot be its loop has none.
 * - A wait outside the loop's frame is never a stall. A wait at the loop's own level that comes
 *   back with nearly every turn, by the same call, is part of the loop (`sleep` at the end of a
 *   turn).
 * - What only passes time or waits for other threads (weak kinds) needs more waits to be learned.
 * - What asks and never waits, or waits for a few short answers, stays young however often it
 *   comes: a program that starts does so (libXt), and then waits for minutes elsewhere.
 * - A loop that asks and asks has not shown that the thread waits there. A wait for descriptors at
 * its level that comes next is perhaps the loop's, and is not called busy; where that goes on, it
 * is.
 *
 * Pure: the caller gives the time. Context: handler. */
#ifndef SONDE_PROBE_TURN_H
#define SONDE_PROBE_TURN_H

#include "probe_page.h"

/* Waits in a row at one place, before the wait can become the loop. */
#define SONDE__PROBE_LEARN_WAITS 3u
/* The same for kinds that other code uses as well: start-up waits for threads, retries sleep. */
#define SONDE__PROBE_WEAK_WAITS 8u
/* A loop of fewer turns is young, or of fewer in a row by the same calls, and one that has waited
 * for less than RIPE_NS: a rival that waits as often as it must and for RIVAL_NS, while it makes no
 * turn that waits, takes its place (start-up code waits a few times and never again), and a thread
 * that waits for something else meanwhile is not called busy. A turn that may wait counts
 * RIPE_TURN_NS more than it waits: a busy server's waits are short. */
#define SONDE__PROBE_YOUNG_TURNS  8u
#define SONDE__PROBE_RIPE_NS      8000000u
#define SONDE__PROBE_RIPE_TURN_NS 125000u
/* So many waits in a row by the same calls, after the first one, and other calls are no doubt. A
 * program that starts (libXt) has fewer. */
#define SONDE__PROBE_STEADY_PATH 5u
/* So many in a row without a wait, and it is in doubt whether the thread waits there at all. A loop
 * with events to handle asks once or twice. */
#define SONDE__PROBE_ASKS 4u
/* So many turns of a loop that only asks, and they take the short path all the same. */
#define SONDE__PROBE_ASKING_TURNS 64u
#define SONDE__PROBE_RIVAL_NS     1000000000u
/* A rival of a weak kind that waits further in needs so many times RIVAL_NS. */
#define SONDE__PROBE_SLOW 5u
/* Two waits of one function, or of two small ones, differ by less in their stack addresses. */
#define SONDE__PROBE_SITE_BYTES 128u
/* Further out than the frames between a loop and its wait may take. A library that waits for events
 * (SDL) calls through some KiB of frames of its own, and the callback that comes after it is called
 * by the program directly: it stands higher than the loop's wait, and is inside a turn. */
#define SONDE__PROBE_OUTER_BYTES 16384u
/* The same where the level is not known. */
#define SONDE__PROBE_FAR_BYTES 65536u
/* Another wait of the loop's level is part of the loop when it has come back so often, each time
 * after at most GAP turns. */
#define SONDE__PROBE_SITE_WAITS 3u
#define SONDE__PROBE_SITE_GAP   6u
/* An outer wait within so many waits keeps deeper ones from being the loop. */
#define SONDE__PROBE_RECENT_WAITS 16u
/* So many waits in a row at a deeper place, and that place is the loop's: a nested main loop, or a
 * first wait that stood further out. */
#define SONDE__PROBE_SETTLED_WAITS 16u
/* A thread without a loop waits from everywhere all its life. */
#define SONDE__PROBE_WALKS_MAX 256u
/* More changes of place than this, in at least a quarter of the turns: called from everywhere. */
#define SONDE__PROBE_MOVES_MAX 4u

/* A wait for what the loop waits for, but not from its place: shorter, it was a round trip inside a
 * callback; longer, a turn. */
#define SONDE__PROBE_ROUND_TRIP_NS 20000000u

struct sonde__probe_wait {
    uint64_t object;
    uint64_t sp;     /* an address in the wrapper's frame: greater is further out */
    uint64_t caller; /* return address of the wrapper */
    uint64_t now_ns; /* CLOCK_MONOTONIC_COARSE */
    uint64_t level;  /* where the frame of the caller begins; 0: not known */
    uint64_t path;   /* the same for waits that the same calls lead to; 0: not known */
    uint32_t kind;   /* enum sonde__probe_kind */
    bool instant;    /* timeout 0: it asks and does not wait */
    bool timed;      /* ends by itself */
    bool learn;      /* may become the loop */
    bool note;       /* says where the thread is, though it can never be the loop */
    bool reply;      /* for the answer to a request: never the loop, and no doubt about it */
    bool slow;       /* other waits have the same place: always enter_any() */
    bool early;      /* every wait of the thread is noted, so it may have early turns */
};

/* Kinds that are waits of a loop in some programs and mere pauses in others. */
static inline bool sonde__probe_is_weak(uint32_t kind)
{
    return kind == SONDE__PROBE_COND || kind == SONDE__PROBE_SEM || kind == SONDE__PROBE_FUTEX ||
           kind == SONDE__PROBE_SLEEP || kind == SONDE__PROBE_CHILD;
}

enum sonde__probe_turn {
    SONDE__PROBE_NESTED,  /* not the loop's: do not call leave() */
    SONDE__PROBE_WAITING, /* the thread is idle until sonde__probe_leave() */
    SONDE__PROBE_INSTANT, /* a turn that will not block: call sonde__probe_leave() after it too */
    SONDE__PROBE_UNSURE,  /* call sonde__probe_leave_any() after it */
};

/* The slot of thread `tid`: its old one, else a free one. Null: all are taken (counted). */
struct sonde__probe_slot *sonde__probe_claim(struct sonde__probe_page *page, uint64_t tid);

/* Is there no loop yet, or one that has turned and waited too little to be sure of? */
bool sonde__probe_is_young(const struct sonde__probe_slot *slot);
/* Then the path of such a wait is to be found: some microseconds, so not for ever. */
bool sonde__probe_wants_path(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait);

/* Before a wait: what it is, with everything that learning does. */
enum sonde__probe_turn sonde__probe_enter_any(struct sonde__probe_slot *slot,
                                              const struct sonde__probe_wait *wait);

/* Is this the wait of a known loop, at its place, with nothing to be learned from it? Then enter()
 * has one store to make. Asked in every turn of every program. */
static inline bool sonde__probe_knows(const struct sonde__probe_slot *slot, uint32_t kind,
                                      uint64_t object, uint64_t sp)
{
    return ((slot->loop.object ^ object) | (slot->loop.kind ^ kind) | (sp ^ slot->known_sp) |
            slot->yield_waits | slot->entered) == 0;
}

/* Before enter_known(): keeps the turn that ends at now_ns if it was long. */
void sonde__probe_keep_long(struct sonde__probe_slot *slot, uint64_t now_ns);

/* Before leave(): has the loop been away or waiting for long, or the supervisor not looked? Asked
 * in every turn of every program. */
static inline bool sonde__probe_must_check(const struct sonde__probe_page *page,
                                           const struct sonde__probe_slot *slot, uint64_t now_ns)
{
    uint64_t looked_ns = atomic_load_explicit(&page->looked_ns, memory_order_relaxed);
    uint64_t begun_ns = atomic_load_explicit(&slot->begun_ns, memory_order_relaxed);
    int64_t long_ns = atomic_load_explicit(&slot->long_ns, memory_order_relaxed);
    int64_t late_ns = atomic_load_explicit(&page->late_ns, memory_order_relaxed);
    return ((int64_t)(now_ns - begun_ns) >= long_ns) | ((int64_t)(now_ns - looked_ns) > late_ns);
}
/* If so: keeps the turn that has just ended, and asks the next one for a stamp. */
void sonde__probe_check(const struct sonde__probe_page *page, struct sonde__probe_slot *slot,
                        uint64_t now_ns);
/* After an enter() that was a turn's end, if slot->stamp asks for it. */
void sonde__probe_stamp(struct sonde__probe_slot *slot, uint64_t now_ns);

static inline enum sonde__probe_turn sonde__probe_enter_known(struct sonde__probe_slot *slot,
                                                              bool instant)
{
    slot->asked = instant ? slot->asked + 1 : 0;
    if (instant) {
        return SONDE__PROBE_INSTANT;
    }
    atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    return SONDE__PROBE_WAITING;
}

static inline enum sonde__probe_turn sonde__probe_enter(struct sonde__probe_slot *slot,
                                                        const struct sonde__probe_wait *wait)
{
    if (!sonde__probe_knows(slot, wait->kind, wait->object, wait->sp)) {
        return sonde__probe_enter_any(slot, wait);
    }
    sonde__probe_keep_long(slot, wait->now_ns);
    return sonde__probe_enter_known(slot, wait->instant);
}

/* After a wait that enter() did not call NESTED. now_ns: CLOCK_MONOTONIC_COARSE. */
static inline void sonde__probe_leave(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    uint64_t turns = atomic_load_explicit(&slot->turns, memory_order_relaxed);
    atomic_store_explicit(&slot->begun_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->turns, turns + 1, memory_order_relaxed);
    atomic_store_explicit(&slot->beat, sonde__probe_beat(now_ns, SONDE__PROBE_BUSY),
                          memory_order_release);
}

/* After a wait that enter_any() did not call NESTED. */
void sonde__probe_leave_any(struct sonde__probe_slot *slot, uint64_t now_ns);

/* True once, for the thread that has to wake the supervisor (FUTEX_WAKE on page->sleeping). Asked
 * after leave(). The supervisor looks again a period after it announced its sleep, so no fence
 * stands in this path. */
static inline bool sonde__probe_must_wake(struct sonde__probe_page *page)
{
    return atomic_load_explicit(&page->sleeping, memory_order_relaxed) != 0 &&
           atomic_exchange_explicit(&page->sleeping, 0, memory_order_acq_rel) != 0;
}

#endif
