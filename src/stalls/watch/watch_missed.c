// SPDX-License-Identifier: Apache-2.0
#include "watch_missed.h"

#include "host_clock.h"
#include "watch_most.h"
#include "watch_stalled.h"

#define STOPS_NS 60000000000ull

bool sonde__watch_stops(const struct sonde__watch_loop *loop, uint64_t now_ns)
{
    return loop->held_ns != 0 && now_ns - loop->held_ns < STOPS_NS;
}

/* The program may write here at any time: copy, then check. False: it was overwritten meanwhile, or
 * is no turn. */
static bool copy_long(const struct sonde__probe_slot *slot, uint64_t number,
                      struct sonde__probe_long *ret_turn)
{
    const volatile struct sonde__probe_long *from = &slot->longs[number % SONDE__PROBE_LONGS];
    *ret_turn = (struct sonde__probe_long){.begin_ns = from->begin_ns,
                                           .end_ns = from->end_ns,
                                           .turns = from->turns,
                                           .changes = from->changes,
                                           .object = from->object,
                                           .long_ns = from->long_ns};
    atomic_thread_fence(memory_order_acquire);
    uint64_t count = atomic_load_explicit(&slot->long_turns, memory_order_relaxed);
    return count - number < SONDE__PROBE_LONGS && ret_turn->begin_ns < ret_turn->end_ns &&
           ret_turn->end_ns <= sonde__host_monotonic_ns();
}

static void judge(struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                  const struct sonde__probe_long *turn, struct sonde__watch_spent *left,
                  uint64_t now_ns)
{
    const struct sonde__watch_missed missed = {
        .begin_ns = turn->begin_ns,
        .end_ns = turn->end_ns,
        .due_ns = s->due_ns,
        .now_ns = now_ns > turn->end_ns ? now_ns : turn->end_ns,
        .own_ns = s->own_ns,
        .stops = sonde__watch_stops(loop, now_ns),
    };
    if (sonde__watch_is_paused(s, turn->begin_ns)) {
        return;
    }
    uint64_t threshold_ns =
        loop->kind == SONDE__REPORT_STALL_SCOPE ? (uint64_t)turn->long_ns : s->options.threshold_ns;
    uint64_t lasted_ns = sonde__watch_missed_time(&missed, threshold_ns);
    if (turn->changes != loop->slot->loop_changes) {
        return; /* another wait proved to be the loop, so this was no turn */
    }
    if (lasted_ns >= threshold_ns) {
        const struct sonde__watch_spent spent = sonde__watch_account_take(left, lasted_ns);
        sonde__watch_report_missed(s, loop, turn, lasted_ns, &spent);
        sonde__watch_print_most(s, loop->tid, lasted_ns, turn->end_ns - turn->begin_ns);
    } else {
        sonde__watch_count_unsure(s, turn->end_ns - turn->begin_ns);
    }
}

void sonde__watch_find_missed(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                              uint64_t former_ns, const struct sonde__watch_account *before,
                              uint64_t now_ns)
{
    const struct sonde__probe_slot *slot = loop->slot;
    uint64_t count = atomic_load_explicit(&slot->long_turns, memory_order_acquire);
    uint64_t unsure = atomic_load_explicit(&slot->unsure_turns, memory_order_relaxed);
    struct sonde__probe_long turn;
    if (unsure > loop->unsure_seen) {
        s->unsure_count += unsure - loop->unsure_seen;
    }
    loop->unsure_seen = unsure;
    if (count == loop->longs_seen) {
        return;
    }
    if (count < loop->longs_seen) {
        loop->longs_seen = 0; /* another thread with the same tid */
    }
    /* the program may be writing the one before the oldest */
    if (count - loop->longs_seen >= SONDE__PROBE_LONGS) {
        s->unsure_count += count - loop->longs_seen - (SONDE__PROBE_LONGS - 1);
        loop->longs_seen = count - (SONDE__PROBE_LONGS - 1);
    }
    bool is_busy = loop->decision.phase != SONDE__WATCH_IDLE;
    struct sonde__watch_spent left =
        sonde__watch_account_since(&loop->account, before, is_busy ? loop->decision.since_ns : 0);
    for (; loop->longs_seen < count; loop->longs_seen++) {
        if (!copy_long(slot, loop->longs_seen, &turn)) {
            s->unsure_count++;
        } else if (turn.begin_ns != former_ns && turn.begin_ns != loop->decision.since_ns) {
            judge(s, loop, &turn, &left, now_ns);
        }
    }
}
