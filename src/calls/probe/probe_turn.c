// SPDX-License-Identifier: Apache-2.0
/* Learning the loop: see probe_turn.h. This runs only while a loop is being learned or inside a
 * turn. */
#include "probe_turn.h"

#include <stddef.h>

#include "probe_early.h"
#include "probe_place.h"

static void reset_slot(struct sonde__probe_slot *slot)
{
    const struct sonde__probe_candidate none = {0};
    slot->entered = 0;
    atomic_store_explicit(&slot->phase, 0, memory_order_relaxed);
    slot->loop = none;
    slot->loop_changes = 0;
    slot->doubt_beat = 0;
    slot->known_sp = 0;
    slot->asked = 0;
    slot->waited_ns = 0;
    slot->hidden_ns = 0;
    slot->measured = 0;
    slot->site_turns = 0;
    slot->waits = slot->lock_waits = 0;
    slot->walks = 0;
    slot->yield_waits = 0;
    slot->rival = 0;
    slot->rival_ns = 0;
    atomic_store_explicit(&slot->abandon, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->stamp, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->ended_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->stamped_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->long_turns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->unsure_turns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->begun_ns, 0, memory_order_relaxed);
    slot->candidates_lost = 0;
    sonde__probe_early_reset(slot);
    for (unsigned i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        slot->candidates[i] = none;
    }
    atomic_store_explicit(&slot->turns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->nested, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->beat, 0, memory_order_release);
}

static struct sonde__probe_slot *take_slot(const struct sonde__probe_page *page,
                                           struct sonde__probe_slot *slot)
{
    slot->long_ns = page->long_ns > 0 ? page->long_ns : INT64_MAX;
    reset_slot(slot);
    return slot;
}

struct sonde__probe_slot *sonde__probe_claim(struct sonde__probe_page *page, uint64_t tid)
{
    /* A slot with this number belongs to a dead thread whose number was reused. */
    for (unsigned i = 0; i < SONDE__PROBE_SLOTS; i++) {
        struct sonde__probe_slot *slot = &page->slots[i];
        if (atomic_load_explicit(&slot->tid, memory_order_relaxed) == tid) {
            return take_slot(page, slot);
        }
    }
    for (unsigned i = 0; i < SONDE__PROBE_SLOTS; i++) {
        struct sonde__probe_slot *slot = &page->slots[i];
        uint64_t expected = 0;
        if (atomic_load_explicit(&slot->tid, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&slot->tid, &expected, tid,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            return take_slot(page, slot);
        }
    }
    atomic_fetch_add_explicit(&page->slots_lost, 1, memory_order_relaxed);
    return NULL;
}

/* Does one only ask, by another call than the other waits in? The number of descriptors and the
 * first of them are not the loop's own as an epoll descriptor is: a program asks everywhere whether
 * there is a key. */
static bool is_asked_elsewhere(const struct sonde__probe_candidate *c,
                               const struct sonde__probe_wait *wait)
{
    return wait->instant == c->waited && wait->caller != c->caller &&
           (wait->kind == SONDE__PROBE_SELECT || wait->kind == SONDE__PROBE_POLL);
}

/* Is this another wait of `c`? With its object: at the same call (also deeper: a nested main loop),
 * at the same place, or outside; with another object: at the same call, not deeper. A call that
 * sleeps has no object but its caller, and anybody may use that: only the place counts. */
static bool is_of(const struct sonde__probe_candidate *c, const struct sonde__probe_wait *wait)
{
    bool same_caller = c->caller == wait->caller;
    bool near = sonde__probe_is_near(c->sp, wait->sp);
    if (c->kind == SONDE__PROBE_NONE) {
        return false;
    }
    if (c->kind == SONDE__PROBE_SLEEP || wait->kind == SONDE__PROBE_SLEEP) {
        return c->kind == wait->kind && c->object == wait->object && near;
    }
    if (c->kind == wait->kind && c->object == wait->object) {
        return same_caller || (!c->varied && (near || wait->sp > c->sp));
    }
    return same_caller && wait->sp >= c->sp;
}

static void take_place(struct sonde__probe_candidate *c, const struct sonde__probe_wait *wait)
{
    c->streak = c->caller == wait->caller ? c->streak : 0;
    c->sp = wait->sp;
    c->caller = wait->caller;
    c->level = wait->level;
}

/* Does it matter which calls lead to the wait? */
static bool has_paths(const struct sonde__probe_wait *wait)
{
    return wait->kind != SONDE__PROBE_EPOLL;
}

/* A loop may have two calls for its wait: Tcl has. So has an interpreter that specializes its
 * code (CPython 3.11 after eight rounds): a wait that recurred often by one path may have a
 * second one. An epoll descriptor is the loop's own: who waits on it by the same call is the same
 * loop, whatever leads there. */
static void note_path(struct sonde__probe_candidate *c, uint64_t path)
{
    bool known = path == 0 || path == c->paths[0] || path == c->paths[1];
    bool second = c->paths[1] == 0 && c->alike >= SONDE__PROBE_STEADY_PATH;
    c->alike = known || second ? c->alike + 1 : 0;
    if (!known) {
        c->paths[1] = c->paths[0];
        c->paths[0] = path;
    }
}

/* An epoll descriptor is the loop's own, and may be waited on from a few places, which come again:
 * asyncio.run() waits for its task in one, and in another one closes what is left. So three places,
 * the outermost and the last others, are no movement; more are: callers everywhere. */
static bool comes_back(struct sonde__probe_candidate *c, const struct sonde__probe_wait *wait)
{
    if (wait->kind != SONDE__PROBE_EPOLL) {
        return false;
    }
    bool known = sonde__probe_is_near(c->sp, wait->sp) ||
                 sonde__probe_is_near(c->paths[0], wait->sp) ||
                 sonde__probe_is_near(c->paths[1], wait->sp);
    if (!known) {
        c->paths[1] = c->paths[0];
        c->paths[0] = wait->sp;
    }
    return known;
}

/* One more wait of `c`, perhaps further out. */
static void note_place(struct sonde__probe_candidate *c, const struct sonde__probe_wait *wait)
{
    c->first_ns = c->waits == 0 ? wait->now_ns : c->first_ns;
    c->object = wait->object;
    c->kind = wait->kind;
    c->waited = c->waited || !wait->instant;
    if (c->last_sp != 0 && !sonde__probe_is_near(c->last_sp, wait->sp)) {
        c->moves += !comes_back(c, wait);
        c->steady = 0;
    }
    c->last_sp = wait->sp;
    c->steady++;
    c->waits++;
    if (!wait->instant || c->alike < SONDE__PROBE_LEARN_WAITS) {
        note_path(c, has_paths(wait)
                         ? wait->path
                         : 0); /* a loop that only polls is recognized, but stays young */
    }
    if (wait->sp > c->sp || (c->steady >= SONDE__PROBE_SETTLED_WAITS && wait->sp != c->sp)) {
        take_place(c, wait);
    }
}

/* The candidate of this wait; a new wait gets a new one. */
static struct sonde__probe_candidate *find_candidate(struct sonde__probe_slot *slot,
                                                     const struct sonde__probe_wait *wait)
{
    const struct sonde__probe_candidate none = {0};
    struct sonde__probe_candidate *least = &slot->candidates[0];
    for (unsigned i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        struct sonde__probe_candidate *c = &slot->candidates[i];
        if (is_of(c, wait) && !is_asked_elsewhere(c, wait)) {
            return c;
        }
        if (c->waits < least->waits) {
            least = c;
        }
    }
    if (least->kind != SONDE__PROBE_NONE) {
        slot->candidates_lost++;
    }
    sonde__probe_early_forget(slot, (uint32_t)(least - slot->candidates));
    *least = none;
    return least;
}

static uint64_t turns_of(const struct sonde__probe_slot *slot)
{
    return atomic_load_explicit(&slot->turns, memory_order_relaxed);
}

static void replace_loop(struct sonde__probe_slot *slot, const struct sonde__probe_candidate *loop)
{
    if (slot->loop.kind != SONDE__PROBE_NONE) {
        slot->loop_changes++;
    }
    slot->loop = *loop;
    slot->loop.moves = 0;
    slot->loop.varied = false;
    sonde__probe_early_decide(slot, loop);
    slot->known_sp = 0;
    slot->asked = 0;
    slot->waited_ns = 0;
    slot->hidden_ns = 0;
    slot->yield_waits = 0;
    slot->site_turns = 0;
    atomic_store_explicit(&slot->begun_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->turns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->abandon, 0, memory_order_relaxed);
    for (unsigned i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        slot->candidates[i].streak = 0;
        slot->candidates[i].turns = 0;
    }
}

/* The thread has no loop any more. It counts as idle until another is recognized. */
static void forget_loop(struct sonde__probe_slot *slot)
{
    const struct sonde__probe_candidate none = {0};
    replace_loop(slot, &none);
    atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
}

static bool is_young(const struct sonde__probe_slot *slot)
{
    return turns_of(slot) < SONDE__PROBE_YOUNG_TURNS || slot->waited_ns < SONDE__PROBE_RIPE_NS ||
           slot->loop.alike < SONDE__PROBE_YOUNG_TURNS;
}

bool sonde__probe_is_young(const struct sonde__probe_slot *slot)
{
    return slot->loop.kind == SONDE__PROBE_NONE || is_young(slot);
}

bool sonde__probe_wants_path(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait)
{
    bool wants = wait->learn && !wait->instant && !sonde__probe_is_weak(wait->kind) &&
                 has_paths(wait) && slot->walks < SONDE__PROBE_WALKS_MAX &&
                 sonde__probe_is_young(slot);
    slot->walks += wants;
    return wants;
}

static uint32_t waits_needed(const struct sonde__probe_candidate *c)
{
    return c->varied                       ? 4 * SONDE__PROBE_SETTLED_WAITS
           : sonde__probe_is_weak(c->kind) ? SONDE__PROBE_WEAK_WAITS
                                           : SONDE__PROBE_LEARN_WAITS;
}

/* The rival has waited often and long enough, without a turn of the known loop, to be the loop.
 * Pauses inside a callback look the same for a while. A wait for the loop's own object from
 * another call is either a short round trip inside a callback, or the real loop, and the earlier
 * waits were round trips. The same holds for a wait that is not deeper. */
static bool outlasts(const struct sonde__probe_slot *slot, const struct sonde__probe_candidate *c,
                     uint64_t now_ns)
{
    bool level = sonde__probe_is_level(&slot->loop, c->sp, c->level);
    bool slow = sonde__probe_is_weak(c->kind) && !level;
    bool same = c->kind == slot->loop.kind && c->object == slot->loop.object;
    uint64_t needed_ns = same ? SONDE__PROBE_RIVAL_NS / 10
                              : (slow ? SONDE__PROBE_SLOW : 1) * (uint64_t)SONDE__PROBE_RIVAL_NS;
    return slot->yield_waits >= waits_needed(c) &&
           (((same || level || is_young(slot)) && now_ns - slot->rival_ns >= needed_ns) ||
            atomic_load_explicit(&slot->abandon, memory_order_relaxed) != 0);
}

/* Does the thread wait repeatedly in an outer frame? Then `c` is called from that outer loop. A
 * mere pause there proves nothing: the code between two pauses may have a loop. */
static bool is_outranked(const struct sonde__probe_slot *slot,
                         const struct sonde__probe_candidate *c)
{
    for (unsigned i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        const struct sonde__probe_candidate *o = &slot->candidates[i];
        bool exact;
        if (o != c && o->steady >= SONDE__PROBE_LEARN_WAITS && !o->varied &&
            o->kind != SONDE__PROBE_SLEEP && slot->waits - o->seen <= SONDE__PROBE_RECENT_WAITS &&
            sonde__probe_height_over(c, o->sp, o->level, &exact) >
                (int64_t)(exact ? SONDE__PROBE_SITE_BYTES : SONDE__PROBE_FAR_BYTES)) {
            return true;
        }
    }
    return false;
}

static void note_rival(struct sonde__probe_slot *slot, uint32_t index, uint64_t now_ns)
{
    if (slot->rival != index || slot->yield_waits == 0) {
        slot->rival = index;
        slot->rival_ns = now_ns;
        slot->yield_waits = 0;
    }
    slot->yield_waits++;
}

/* Waits of `c` by one call in a row, each a few turns of the loop after the last. Waits by other
 * calls only have the same number of a descriptor, which is given again. */
static void note_streak(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait,
                        struct sonde__probe_candidate *c)
{
    if (wait->caller != c->caller) {
        return;
    }
    uint64_t turns = turns_of(slot) - slot->site_turns;
    uint64_t gap = turns - c->turns;
    c->turns = turns;
    if (gap > SONDE__PROBE_SITE_GAP) {
        c->streak = 1;
    } else if (gap > 0) {
        c->streak++;
    }
}

/* A wait that is not the known loop's. True: now it is. */
static bool learn(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait,
                  struct sonde__probe_candidate *c)
{
    uint32_t needed = waits_needed(c);
    bool outside = sonde__probe_is_outside(&slot->loop, c->sp, c->level);
    bool alike = sonde__probe_is_weak(c->kind) || c->alike + 1 >= SONDE__PROBE_LEARN_WAITS;
    if (!wait->learn || !alike || c->steady < needed) {
        /* its outermost wait is not a loop, so no deeper one is */
        if (wait->note && !wait->learn && wait->kind != SONDE__PROBE_CHILD &&
            wait->kind != SONDE__PROBE_SLEEP && slot->loop.kind != SONDE__PROBE_NONE &&
            c->steady >= SONDE__PROBE_LEARN_WAITS &&
            (outside || (c->streak >= SONDE__PROBE_SITE_WAITS &&
                         sonde__probe_is_level(&slot->loop, c->sp, c->level)))) {
            forget_loop(slot);
        }
        return false;
    }
    if (slot->loop.kind == SONDE__PROBE_NONE
            ? !is_outranked(slot, c)
            : (outside &&
               (c->kind != SONDE__PROBE_SLEEP || sonde__probe_is_weak(slot->loop.kind))) ||
                  outlasts(slot, c, wait->now_ns)) {
        replace_loop(slot, c);
        return true;
    }
    return false;
}

/* Is this wait part of the known loop after all? Then it begins a turn. */
static bool is_site(const struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait,
                    const struct sonde__probe_candidate *c)
{
    return slot->loop.kind != SONDE__PROBE_NONE && !wait->instant && !is_young(slot) &&
           (wait->timed || sonde__probe_is_weak(slot->loop.kind)) && wait->caller == c->caller &&
           c->streak >= SONDE__PROBE_SITE_WAITS &&
           sonde__probe_is_level(&slot->loop, wait->sp, wait->level);
}

/* Not a turn. If the thread may be outside a turn, it does not count as busy until the loop's
 * next turn: better to miss a stall than to report an idle program. Then the turn's rest is hidden,
 * and counted if it was long. */
static void note_nested(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait)
{
    uint64_t n = atomic_load_explicit(&slot->nested, memory_order_relaxed);
    bool weak = sonde__probe_is_weak(wait->kind);
    bool level = sonde__probe_is_level(&slot->loop, wait->sp, wait->level);
    atomic_store_explicit(&slot->nested, n + 1, memory_order_relaxed);
    if (wait->instant || (!wait->learn && !wait->note)) {
        return;
    }
    if (slot->loop.kind == SONDE__PROBE_NONE) {
        sonde__probe_early_interrupt(slot, wait);
        return;
    }
    if (sonde__probe_is_outside(&slot->loop, wait->sp, wait->level) ||
        (is_young(slot) && (level || (wait->learn && !weak)))) {
        uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_relaxed);
        bool hides = (beat & SONDE__PROBE_STATE_MASK) != SONDE__PROBE_IDLE;
        slot->hidden_ns = hides ? wait->now_ns : slot->hidden_ns;
        atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    }
}

/* The loop turns again. It may have waited all that time: count, but do not report. */
static void end_hidden(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    bool of_this_turn =
        slot->hidden_ns != 0 &&
        slot->hidden_ns >= atomic_load_explicit(&slot->begun_ns, memory_order_relaxed);
    if (of_this_turn && (int64_t)(now_ns - slot->hidden_ns) >= slot->long_ns) {
        atomic_fetch_add_explicit(&slot->unsure_turns, 1, memory_order_relaxed);
    }
    slot->hidden_ns = 0;
}

/* Is this wait one of the known loop's? Waits that may say nothing about the thread (round trips
 * of libxcb) count only at the loop's own call. */
static bool is_loops(const struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait)
{
    return (wait->learn || wait->note || wait->caller == slot->loop.caller) &&
           is_of(&slot->loop, wait);
}

/* Does this turn show that the rival is not the loop? What a loop asks does not, if it asks and
 * asks while the rival waits. To a mere pause every turn counts, but not if the loop has never
 * waited and the pause is not inside it: a game asks for events and sleeps until the next frame. */
static bool refutes_rival(const struct sonde__probe_slot *slot,
                          const struct sonde__probe_wait *wait, bool young)
{
    const struct sonde__probe_candidate *rival = &slot->candidates[slot->rival];
    bool pause =
        sonde__probe_is_weak(rival->kind) &&
        (slot->loop.waited || !sonde__probe_is_level(&slot->loop, rival->sp, rival->level));
    return (!young && slot->asked < SONDE__PROBE_ASKS) || !wait->instant || pause;
}

/* A wait of the known loop. False: it is called from too many places to be a loop. */
static bool note_turn(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait)
{
    struct sonde__probe_candidate *loop = &slot->loop;
    bool young = is_young(slot);
    if (is_asked_elsewhere(loop, wait)) {
        return true; /* it turns, but this place says nothing about the loop's */
    }
    note_place(loop, wait);
    slot->asked = wait->instant ? slot->asked + 1 : 0;
    if (refutes_rival(slot, wait, young)) {
        slot->yield_waits = 0;
        atomic_store_explicit(&slot->abandon, 0, memory_order_relaxed); /* it is not over */
    }
    if (wait->slow) {
        slot->known_sp = 0;
    } else if (!young || turns_of(slot) >= SONDE__PROBE_ASKING_TURNS) {
        slot->known_sp = loop->sp;
    }
    bool moves = loop->moves > SONDE__PROBE_MOVES_MAX && (uint64_t)loop->moves * 4 > turns_of(slot);
    if (moves || (young && loop->alike == 0)) {
        struct sonde__probe_candidate *c = find_candidate(slot, wait);
        *c = *loop;
        c->varied = moves;
        forget_loop(slot);
        return false;
    }
    return true;
}

/* Another wait than the loop's. True: a turn begins with it. *ret_early: an early one does. */
static bool note_other(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait,
                       bool *ret_early)
{
    if (!wait->learn && !wait->note) {
        return false;
    }
    struct sonde__probe_candidate *c = find_candidate(slot, wait);
    note_place(c, wait);
    c->seen = ++slot->waits;
    if (!wait->instant) {
        note_rival(slot, (uint32_t)(c - slot->candidates), wait->now_ns);
        note_streak(slot, wait, c);
    }
    *ret_early = slot->loop.kind == SONDE__PROBE_NONE && sonde__probe_early_enter(slot, wait, c);
    if (learn(slot, wait, c)) {
        *ret_early = false;
        return true;
    }
    if (is_site(slot, wait, c)) {
        slot->site_turns++;
        return true;
    }
    return false;
}

/* Perhaps the loop's own wait: for the same object from another place, or at the loop's level
 * while the loop itself only polls. True: the time does not count. */
static bool note_doubt(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait)
{
    uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_relaxed);
    bool same = slot->loop.kind == wait->kind && slot->loop.object == wait->object &&
                wait->kind != SONDE__PROBE_SLEEP;
    bool instead = slot->asked >= SONDE__PROBE_ASKS && wait->learn &&
                   !sonde__probe_is_weak(wait->kind) &&
                   sonde__probe_is_level(&slot->loop, wait->sp, wait->level);
    if (wait->instant || wait->reply || (!same && !instead) ||
        (beat & SONDE__PROBE_STATE_MASK) != SONDE__PROBE_BUSY) {
        return false;
    }
    slot->doubt_beat = beat;
    slot->doubt_ns = wait->now_ns;
    atomic_store_explicit(&slot->beat, sonde__probe_beat(beat, SONDE__PROBE_DOUBT),
                          memory_order_release);
    return true;
}

void sonde__probe_leave_any(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    uint64_t beat = slot->doubt_beat;
    slot->doubt_beat = 0;
    if (slot->measured != 0) {
        slot->waited_ns += now_ns - slot->turn_ns + SONDE__PROBE_RIPE_TURN_NS;
        slot->measured = 0;
    }
    if (beat != 0 && now_ns - slot->doubt_ns < SONDE__PROBE_ROUND_TRIP_NS) {
        atomic_store_explicit(&slot->beat, beat, memory_order_release);
    } else if (slot->loop.kind == SONDE__PROBE_NONE && slot->early != 0) {
        sonde__probe_early_leave(slot, now_ns);
    } else {
        sonde__probe_leave(slot, now_ns);
    }
}

enum sonde__probe_turn sonde__probe_enter_any(struct sonde__probe_slot *slot,
                                              const struct sonde__probe_wait *wait)
{
    bool turn, doubt = false, early = false;
    if (slot->entered != 0) {
        return SONDE__PROBE_NESTED;
    }
    slot->entered = 1;
    atomic_signal_fence(memory_order_acq_rel);
    bool known = slot->loop.kind != SONDE__PROBE_NONE;
    uint64_t changes = slot->loop_changes;
    turn = is_loops(slot, wait) ? note_turn(slot, wait) : note_other(slot, wait, &early);
    if (turn && known && slot->loop_changes == changes) {
        sonde__probe_keep_long(slot, wait->now_ns);
        end_hidden(slot, wait->now_ns);
    }
    slot->doubt_beat = 0;
    slot->measured = turn && !wait->instant;
    slot->turn_ns = wait->now_ns;
    if (!turn && !early) {
        note_nested(slot, wait);
        doubt = note_doubt(slot, wait);
    } else if (!wait->instant && !early) {
        atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    }
    atomic_signal_fence(memory_order_acq_rel);
    slot->entered = 0;
    return doubt             ? SONDE__PROBE_UNSURE
           : !turn && !early ? SONDE__PROBE_NESTED
           : wait->instant   ? SONDE__PROBE_INSTANT
                             : SONDE__PROBE_WAITING;
}
