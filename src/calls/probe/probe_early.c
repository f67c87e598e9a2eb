// SPDX-License-Identifier: Apache-2.0
/* See probe_early.h. `early` is 1 + the index of the candidate that may be the loop. */
#include "probe_early.h"

#include <stddef.h>

#include "probe_place.h"

/* The early turn that runs now has no end, and nobody waits for its stamp. */
static void lose_turn(struct sonde__probe_slot *slot)
{
    uint32_t asked = SONDE__PROBE_STAMP_END;
    uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_relaxed);
    if ((beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_EARLY) {
        atomic_store_explicit(&slot->early_lost, beat, memory_order_relaxed);
        (void)atomic_compare_exchange_strong_explicit(&slot->stamp, &asked, SONDE__PROBE_STAMP_NONE,
                                                      memory_order_relaxed, memory_order_relaxed);
    }
}

/* Did a wait hide the rest of a turn that was long? It may have been the loop's own. */
static void end_hidden(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    bool is_long = slot->hidden_ns != 0 && (int64_t)(now_ns - slot->hidden_ns) >= slot->long_ns;
    slot->early_unsure += is_long;
    slot->hidden_ns = 0;
}

/* The thread is in no early turn. */
static void end_turn(struct sonde__probe_slot *slot)
{
    lose_turn(slot);
    atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
}

bool sonde__probe_early_enter(struct sonde__probe_slot *slot, const struct sonde__probe_wait *wait,
                              const struct sonde__probe_candidate *c)
{
    uint32_t early = (uint32_t)(c - slot->candidates) + 1;
    if (!wait->early || !wait->learn || wait->kind != SONDE__PROBE_EPOLL || c->varied) {
        return false;
    }
    if (slot->early != early || slot->early_object != wait->object ||
        slot->early_caller != wait->caller ||
        !sonde__probe_is_within(slot->early_sp, wait->sp, SONDE__PROBE_EARLY_BYTES)) {
        end_turn(slot);
        slot->hidden_ns = 0;
        slot->early_unsure = 0;
        slot->early = early;
        slot->early_object = wait->object;
        slot->early_caller = wait->caller;
        slot->early_sp = wait->sp;
        slot->early_since_ns = wait->now_ns & ~(uint64_t)SONDE__PROBE_STATE_MASK; /* as a beat */
        atomic_store_explicit(&slot->early_proved_ns, 0, memory_order_relaxed);
        return true;
    }
    sonde__probe_keep_long(slot, wait->now_ns);
    end_hidden(slot, wait->now_ns);
    if (!wait->instant) {
        atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    }
    return true;
}

void sonde__probe_early_interrupt(struct sonde__probe_slot *slot,
                                  const struct sonde__probe_wait *wait)
{
    const struct sonde__probe_candidate *c =
        slot->early != 0 ? &slot->candidates[slot->early - 1] : NULL;
    if (c == NULL || sonde__probe_is_level(c, wait->sp, wait->level) ||
        (wait->learn && !sonde__probe_is_weak(wait->kind))) {
        bool hides = (atomic_load_explicit(&slot->beat, memory_order_relaxed) &
                      SONDE__PROBE_STATE_MASK) == SONDE__PROBE_EARLY;
        slot->hidden_ns = hides ? wait->now_ns : slot->hidden_ns;
        end_turn(slot);
    }
}

void sonde__probe_early_leave(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    atomic_store_explicit(&slot->beat, sonde__probe_beat(now_ns, SONDE__PROBE_EARLY),
                          memory_order_release);
}

void sonde__probe_early_decide(struct sonde__probe_slot *slot,
                               const struct sonde__probe_candidate *loop)
{
    bool proved = slot->early != 0 && loop == &slot->candidates[slot->early - 1];
    if (slot->early == 0) {
        return;
    }
    slot->early = 0;
    if (proved) {
        atomic_fetch_add_explicit(&slot->unsure_turns, slot->early_unsure, memory_order_relaxed);
    } else {
        lose_turn(slot);
    }
    atomic_store_explicit(&slot->early_proved_ns, proved ? slot->early_since_ns : UINT64_MAX,
                          memory_order_release);
}

void sonde__probe_early_forget(struct sonde__probe_slot *slot, uint32_t index)
{
    if (slot->early == index + 1) {
        end_turn(slot);
        slot->early = 0;
    }
}

void sonde__probe_early_reset(struct sonde__probe_slot *slot)
{
    slot->early = slot->early_unsure = 0;
    slot->early_object = slot->early_caller = slot->early_sp = slot->early_since_ns = 0;
    atomic_store_explicit(&slot->early_lost, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->early_proved_ns, 0, memory_order_relaxed);
}
