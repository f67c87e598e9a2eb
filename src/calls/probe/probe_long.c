// SPDX-License-Identifier: Apache-2.0
/* What a watch that is late needs: turns over the threshold, and stamps of their ends. Context:
 * handler. */
#include <stddef.h>

#include "probe_turn.h"

void sonde__probe_keep_long(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_relaxed);
    uint64_t begin_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    uint64_t n = atomic_load_explicit(&slot->long_turns, memory_order_relaxed);
    uint64_t state = beat & SONDE__PROBE_STATE_MASK;
    if ((state != SONDE__PROBE_BUSY && state != SONDE__PROBE_EARLY) ||
        (int64_t)(now_ns - begin_ns) < slot->long_ns ||
        (n > 0 && slot->longs[(n - 1) % SONDE__PROBE_LONGS].begin_ns == begin_ns)) {
        return; /* no turn, a short one, or one that a wait which only asked has ended */
    }
    slot->longs[n % SONDE__PROBE_LONGS] = (struct sonde__probe_long){
        .begin_ns = begin_ns,
        .end_ns = now_ns,
        .turns = atomic_load_explicit(&slot->turns, memory_order_relaxed),
        .changes = slot->loop_changes,
        .object = slot->loop.object,
        .long_ns = slot->long_ns,
        .early = state == SONDE__PROBE_EARLY,
    };
    atomic_store_explicit(&slot->long_turns, n + 1, memory_order_release);
}

void sonde__probe_check(const struct sonde__probe_page *page, struct sonde__probe_slot *slot,
                        uint64_t now_ns)
{
    uint64_t begun_ns = atomic_load_explicit(&slot->begun_ns, memory_order_relaxed);
    uint64_t looked_ns = atomic_load_explicit(&page->looked_ns, memory_order_relaxed);
    bool asked = (atomic_load_explicit(&slot->beat, memory_order_relaxed) &
                  SONDE__PROBE_STATE_MASK) == SONDE__PROBE_BUSY;
    if (asked) {
        sonde__probe_keep_long(slot, now_ns); /* the wait took no time */
    } else if (begun_ns != 0 && (int64_t)(now_ns - begun_ns) >= slot->long_ns &&
               looked_ns < begun_ns &&
               atomic_load_explicit(&slot->stamped_ns, memory_order_relaxed) < begun_ns) {
        atomic_fetch_add_explicit(&slot->unsure_turns, 1, memory_order_relaxed);
    }
    if ((int64_t)(now_ns - looked_ns) > page->late_ns && page->late_ns > 0) {
        uint32_t none = SONDE__PROBE_STAMP_NONE; /* the supervisor's request comes first */
        (void)atomic_compare_exchange_strong_explicit(&slot->stamp, &none, SONDE__PROBE_STAMP_LONG,
                                                      memory_order_relaxed, memory_order_relaxed);
    }
}

void sonde__probe_stamp(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    atomic_store_explicit(&slot->stamped_ns, now_ns, memory_order_relaxed);
    /* after the beat: readers load them in the other order */
    if (atomic_load_explicit(&slot->stamp, memory_order_relaxed) == SONDE__PROBE_STAMP_END) {
        atomic_store_explicit(&slot->ended_ns, now_ns, memory_order_release);
    }
    atomic_store_explicit(&slot->stamp, SONDE__PROBE_STAMP_NONE, memory_order_release);
}
