// SPDX-License-Identifier: Apache-2.0
#include "watch_missed.h"

#include "base_math.h"
#include "host_clock.h"
#include "watch_most.h"
#include "watch_stalled.h"

#define STOPS_NS 60000000000ull

bool sonde__watch_stops(const struct sonde__watch_loop *loop, uint64_t now_ns)
{
    return loop->held_ns != 0 && now_ns - loop->held_ns < STOPS_NS;
}

/* A turn that begins wakes a watch that sleeps, but it may begin just before the sleep does. In its
 * work the watch waits for locks and disks, so only a long halt shows there. */
uint64_t sonde__watch_halted_in(const struct sonde__watch_session *s, uint64_t since_ns,
                                uint64_t until_ns, uint64_t ran_ns)
{
    uint64_t threshold_ns = s->options.threshold_ns;
    uint64_t due_ns = s->due_ns != 0 ? s->due_ns : since_ns + s->turns.period_ns;
    uint64_t from_ns = sonde__base_max(s->rested_ns, s->due_ns != 0 ? since_ns : due_ns);
    uint64_t to_ns = sonde__base_min(until_ns, s->woken_ns);
    uint64_t halted_ns =
        sonde__decide_halted(from_ns, due_ns, to_ns, s->own_ns, threshold_ns, s->was_stopped);
    uint64_t worked_ns = sonde__base_minus(sonde__base_min(until_ns, s->rested_ns),
                                           sonde__base_max(s->before_ns, since_ns)) +
                         sonde__base_minus(until_ns, sonde__base_max(s->woken_ns, since_ns));
    worked_ns = sonde__base_minus(worked_ns, ran_ns + s->own_ns);
    return halted_ns + (worked_ns > sonde__decide_long_ns(threshold_ns) ? worked_ns : 0);
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
                                           .long_ns = from->long_ns,
                                           .early = from->early};
    atomic_thread_fence(memory_order_acquire);
    uint64_t count = atomic_load_explicit(&slot->long_turns, memory_order_relaxed);
    return count - number < SONDE__PROBE_LONGS && ret_turn->begin_ns < ret_turn->end_ns &&
           ret_turn->end_ns <= sonde__host_monotonic_ns();
}

static void judge(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                  const struct sonde__probe_long *turn, struct sonde__decide_spent *left,
                  uint64_t now_ns)
{
    const struct sonde__decide_missed missed = {
        .begin_ns = turn->begin_ns,
        .end_ns = turn->end_ns,
        .due_ns = s->due_ns,
        .now_ns = now_ns,
        .halted_ns = sonde__watch_halted_in(s, turn->begin_ns, turn->end_ns,
                                            left->cpu_ns + left->runqueue_ns),
        .stops = sonde__watch_stops(loop, now_ns),
    };
    if (sonde__watch_is_paused(s, turn->begin_ns)) {
        return;
    }
    uint64_t threshold_ns =
        loop->kind == SONDE__REPORT_STALL_SCOPE ? (uint64_t)turn->long_ns : s->options.threshold_ns;
    uint64_t lasted_ns = sonde__decide_missed_time(&missed, threshold_ns);
    if (turn->changes != loop->slot->loop_changes) {
        return; /* another wait proved to be the loop, so this was no turn */
    }
    if (lasted_ns >= threshold_ns) {
        const struct sonde__decide_spent spent = sonde__decide_account_take(left, lasted_ns);
        sonde__watch_report_missed(s, loop, turn, lasted_ns, &spent);
        if (!turn->early) { /* else it is kept (watch_early.h) */
            sonde__watch_print_most(s, loop->tid, lasted_ns, turn->end_ns - turn->begin_ns);
        }
    } else if (!turn->early) {
        sonde__watch_count_unsure(s, turn->end_ns - turn->begin_ns);
    }
}

void sonde__watch_find_missed(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                              uint64_t former_ns, const struct sonde__decide_account *before,
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
    bool is_busy = loop->decision.phase != SONDE__DECIDE_IDLE;
    struct sonde__decide_spent left =
        sonde__decide_account_since(&loop->account, before, is_busy ? loop->decision.since_ns : 0);
    for (; loop->longs_seen < count; loop->longs_seen++) {
        bool is_whole = copy_long(slot, loop->longs_seen, &turn);
        if (is_whole && turn.end_ns > now_ns) {
            return; /* while this loop was sampled, which the next round can explain */
        }
        if (!is_whole) {
            s->unsure_count++;
        } else if (turn.begin_ns != former_ns && turn.begin_ns != loop->decision.since_ns) {
            judge(s, loop, &turn, &left, now_ns);
        }
    }
}
