// SPDX-License-Identifier: Apache-2.0
/* Learning the loop: see probe_turn.h. This runs only while a loop is being learned or inside a
 * turn. */
#include "probe_turn.h"

#include <stddef.h>

static void reset_slot(struct sonde__probe_slot *slot)
{
    const struct sonde__probe_candidate none = {0};
    slot->entered = 0;
    slot->loop = none;
    slot->loop_changes = 0;
    slot->yield_waits = 0;
    slot->rival = 0;
    slot->rival_ns = 0;
    atomic_store_explicit(&slot->abandon, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->stamp, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->ended_ns, 0, memory_order_relaxed);
    slot->candidates_lost = 0;
    for (unsigned i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        slot->candidates[i] = none;
    }
    atomic_store_explicit(&slot->turns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->nested, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->beat, 0, memory_order_release);
}

struct sonde__probe_slot *sonde__probe_claim(struct sonde__probe_page *page, uint32_t tid)
{
    /* A slot with this number belongs to a dead thread whose number was reused. */
    for (unsigned i = 0; i < SONDE__PROBE_SLOTS; i++) {
        struct sonde__probe_slot *slot = &page->slots[i];
        if (atomic_load_explicit(&slot->tid, memory_order_relaxed) == tid) {
            reset_slot(slot);
            return slot;
        }
    }
    for (unsigned i = 0; i < SONDE__PROBE_SLOTS; i++) {
        struct sonde__probe_slot *slot = &page->slots[i];
        uint32_t expected = 0;
        if (atomic_load_explicit(&slot->tid, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&slot->tid, &expected, tid,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            reset_slot(slot);
            return slot;
        }
    }
    atomic_fetch_add_explicit(&page->slots_lost, 1, memory_order_relaxed);
    return NULL;
}

static bool same_key(const struct sonde__probe_candidate *c, const struct sonde__probe_wait *wait)
{
    return c->kind == wait->kind && c->object == wait->object;
}

/* At the place of the wait that `c` is, or further out on the way through the same call. */
static bool same_place(const struct sonde__probe_candidate *c, const struct sonde__probe_wait *wait)
{
    return c->caller == wait->caller && wait->sp >= c->sp;
}

static void note_place(struct sonde__probe_candidate *c, const struct sonde__probe_wait *wait)
{
    c->object = wait->object;
    c->kind = wait->kind;
    if (wait->sp > c->sp) {
        c->sp = wait->sp;
        c->caller = wait->caller;
    }
}

/* The candidate that this wait is, made when it is new. */
static struct sonde__probe_candidate *find_candidate(struct sonde__probe_slot *slot,
                                                     const struct sonde__probe_wait *wait)
{
    const struct sonde__probe_candidate none = {0};
    struct sonde__probe_candidate *least = &slot->candidates[0];
    for (unsigned i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        struct sonde__probe_candidate *c = &slot->candidates[i];
        if (c->kind != SONDE__PROBE_NONE && (same_key(c, wait) || same_place(c, wait))) {
            return c;
        }
        if (c->waits < least->waits) {
            least = c;
        }
    }
    if (least->kind != SONDE__PROBE_NONE) {
        slot->candidates_lost++;
    }
    *least = none;
    return least;
}

static void adopt(struct sonde__probe_slot *slot, const struct sonde__probe_candidate *candidate)
{
    if (slot->loop.kind != SONDE__PROBE_NONE) {
        slot->loop_changes++;
    }
    slot->loop = *candidate;
    slot->yield_waits = 0;
    atomic_store_explicit(&slot->turns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->abandon, 0, memory_order_relaxed);
}

static bool is_young(const struct sonde__probe_slot *slot)
{
    return atomic_load_explicit(&slot->turns, memory_order_relaxed) < SONDE__PROBE_YOUNG_TURNS;
}

/* The rival has waited often and long enough, without a turn of the known loop, to be the loop. */
static bool outlasts(const struct sonde__probe_slot *slot, uint64_t now_ns)
{
    return slot->yield_waits >= SONDE__PROBE_LEARN_WAITS &&
           ((is_young(slot) && now_ns - slot->rival_ns >= SONDE__PROBE_RIVAL_NS) ||
            atomic_load_explicit(&slot->abandon, memory_order_relaxed) != 0);
}

static bool is_outside(const struct sonde__probe_slot *slot, uint64_t sp)
{
    return sp > slot->loop.sp && sp - slot->loop.sp > SONDE__PROBE_OUTER_BYTES;
}

/* A wait that is not the known loop's. True: now it is. */
static bool learn(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait)
{
    struct sonde__probe_candidate *c = find_candidate(slot, wait);
    uint32_t index = (uint32_t)(c - slot->candidates);
    note_place(c, wait);
    c->waits++;
    if (!wait->instant) {
        if (slot->rival != index || slot->yield_waits == 0) {
            slot->rival = index;
            slot->rival_ns = wait->now_ns;
            slot->yield_waits = 0;
        }
        slot->yield_waits++;
    }
    if (c->waits >= SONDE__PROBE_LEARN_WAITS &&
        (slot->loop.kind == SONDE__PROBE_NONE || is_outside(slot, c->sp) ||
         outlasts(slot, wait->now_ns))) {
        adopt(slot, c);
        return true;
    }
    return false;
}

/* Probably inside a turn. While the loop is in doubt, the thread is not called busy before the
 * loop's next turn: better to miss a stall than to report an idle program. */
static void note_nested(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait)
{
    uint64_t n = atomic_load_explicit(&slot->nested, memory_order_relaxed);
    atomic_store_explicit(&slot->nested, n + 1, memory_order_relaxed);
    if (!wait->instant && wait->learn && (is_young(slot) || is_outside(slot, wait->sp))) {
        atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    }
}

enum sonde__probe_turn sonde__probe_enter_any(struct sonde__probe_slot *slot,
                                              const struct sonde__probe_wait *wait)
{
    struct sonde__probe_candidate *loop = &slot->loop;
    if (slot->entered != 0) {
        return SONDE__PROBE_NESTED;
    }
    slot->entered = 1;
    atomic_signal_fence(memory_order_acq_rel);
    bool turn = loop->kind != SONDE__PROBE_NONE && (same_key(loop, wait) || same_place(loop, wait));
    if (turn) {
        note_place(loop, wait);
        slot->yield_waits = 0;
    } else {
        turn = wait->learn && learn(slot, wait);
    }
    if (!turn) {
        note_nested(slot, wait);
    } else if (!wait->instant) {
        atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    }
    atomic_signal_fence(memory_order_acq_rel);
    slot->entered = 0;
    return !turn           ? SONDE__PROBE_NESTED
           : wait->instant ? SONDE__PROBE_INSTANT
                           : SONDE__PROBE_WAITING;
}
