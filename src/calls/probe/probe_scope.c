// SPDX-License-Identifier: Apache-2.0
#include "probe_scope.h"

#include <stddef.h>

static void reset_levels(struct sonde__probe_scoped *thread, uint64_t tid)
{
    for (unsigned i = 0; i < SONDE__PROBE_SCOPE_LEVELS; i++) {
        struct sonde__probe_slot *slot = &thread->levels[i];
        if (slot->loop.kind != SONDE__PROBE_MARKS) { /* else the watch may read it now */
            slot->loop.kind = SONDE__PROBE_MARKS;
        }
        atomic_store(&slot->stamp, 0);
        atomic_store(&slot->begun_ns, 0);
        atomic_store(&slot->turns, 0);
        atomic_store(&slot->long_turns, 0);
        atomic_store(&slot->ended_ns, 0);
        atomic_store(&slot->beat, SONDE__PROBE_IDLE);
        atomic_store(&slot->tid, tid);
    }
}

struct sonde__probe_scoped *sonde__probe_claim_scopes(struct sonde__probe_scopes *scopes,
                                                      uint64_t tid)
{
    struct sonde__probe_scoped *taken = NULL;
    for (unsigned i = 0; i < SONDE__PROBE_SCOPE_THREADS && taken == NULL; i++) {
        struct sonde__probe_scoped *thread = &scopes->threads[i];
        taken = atomic_load_explicit(&thread->tid, memory_order_relaxed) == tid ? thread : NULL;
    }
    for (unsigned i = 0; i < SONDE__PROBE_SCOPE_THREADS && taken == NULL; i++) {
        struct sonde__probe_scoped *thread = &scopes->threads[i];
        uint64_t expected = 0;
        if (atomic_load_explicit(&thread->tid, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&thread->tid, &expected, tid)) {
            taken = thread;
        }
    }
    if (taken != NULL) {
        reset_levels(taken, tid);
    } else {
        atomic_fetch_add_explicit(&scopes->threads_lost, 1, memory_order_relaxed);
    }
    return taken;
}

void sonde__probe_reset_scopes(struct sonde__probe_scopes *scopes, bool forget_threads)
{
    for (unsigned i = 0; i < SONDE__PROBE_SCOPE_THREADS; i++) {
        struct sonde__probe_scoped *thread = &scopes->threads[i];
        uint64_t tid = atomic_load(&thread->tid);
        if (tid != 0) {
            reset_levels(thread, forget_threads ? 0 : tid);
        }
        if (forget_threads) {
            atomic_store(&thread->tid, 0);
        }
    }
    atomic_store(&scopes->threads_lost, 0);
    atomic_store(&scopes->deeper, 0);
}

void sonde__probe_close_scope_stamped(struct sonde__probe_slot *slot, uint64_t now_ns)
{
    sonde__probe_keep_long(slot, now_ns);
    sonde__probe_close_scope(slot);
    atomic_store_explicit(&slot->ended_ns, now_ns, memory_order_release);
    atomic_store_explicit(&slot->stamp, 0, memory_order_release);
}

bool sonde__probe_read_scope(const struct sonde__probe_slot *slot,
                             struct sonde__probe_scope *ret_scope)
{
    uint64_t turns = atomic_load_explicit(&slot->turns, memory_order_acquire);
    uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_acquire);
    const struct sonde__probe_scope scope = {
        .label = __atomic_load_n(&slot->loop.object, __ATOMIC_RELAXED),
        .caller = __atomic_load_n(&slot->loop.caller, __ATOMIC_RELAXED),
        .begin_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK,
        .limit_ns = atomic_load_explicit(&slot->long_ns, memory_order_relaxed),
    };
    atomic_thread_fence(memory_order_acquire);
    *ret_scope = scope;
    return (beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_BUSY &&
           atomic_load_explicit(&slot->beat, memory_order_relaxed) == beat &&
           atomic_load_explicit(&slot->turns, memory_order_relaxed) == turns;
}
