// SPDX-License-Identifier: Apache-2.0
/* Deadlines that a program sets for parts of its code, of each thread a stack of them: the hot
 * half.
 *
 * A scope is a turn with its own slot (probe_page.h); it stalls when it exceeds its limit. Each
 * nesting level has its own slot and deadline, so leaving a scope does not change the scope around
 * it.
 *
 * Invariant: only its thread writes a slot, except `stamp`, and `tid`, which the watch clears.
 * The name and the limit of a level change only while it is idle, and before `turns` does: a
 * reader that sees the same beat and turn number before and after has a consistent name and
 * limit. Pure: the caller gives the time. Context: handler. */
#ifndef SONDE_PROBE_SCOPE_H
#define SONDE_PROBE_SCOPE_H

#include "probe_turn.h"

/* Threads that use scopes at a time; as many as have loops. */
#define SONDE__PROBE_SCOPE_THREADS 256u
/* Deeper scopes have no deadline; `deeper` counts them. Chromium nests three. */
#define SONDE__PROBE_SCOPE_LEVELS 8u

struct sonde__probe_scoped {
    _Alignas(128) _Atomic uint64_t tid;                         /* 0: free */
    struct sonde__probe_slot levels[SONDE__PROBE_SCOPE_LEVELS]; /* outermost first; loop.object: the
                                                                   label; long_ns: the limit */
};

struct sonde__probe_scopes {
    _Atomic uint64_t threads_lost; /* threads that found no free place */
    _Atomic uint64_t deeper;
    /* A scope with a shorter limit may begin and end between two looks: its end is always stamped.
     */
    _Atomic int64_t short_ns;
    struct sonde__probe_scoped threads[SONDE__PROBE_SCOPE_THREADS];
};

/* The place of thread `tid`: its old one, else a free one, with all levels idle. Null: all are
 * taken (counted). */
struct sonde__probe_scoped *sonde__probe_claim_scopes(struct sonde__probe_scopes *scopes,
                                                      uint64_t tid);
/* All levels idle, and all threads forgotten. Context: nobody else uses them. */
void sonde__probe_reset_scopes(struct sonde__probe_scopes *scopes, bool forget_threads);

/* page: of the watch that looks at the scopes. */
static inline void sonde__probe_open_scope(const struct sonde__probe_page *page,
                                           const struct sonde__probe_scopes *scopes,
                                           struct sonde__probe_slot *slot, uint64_t label,
                                           uint64_t caller, int64_t limit_ns, uint64_t now_ns)
{
    uint64_t looked_ns = atomic_load_explicit(&page->looked_ns, memory_order_relaxed);
    int64_t late_ns = atomic_load_explicit(&page->late_ns, memory_order_relaxed);
    int64_t short_ns = atomic_load_explicit(&scopes->short_ns, memory_order_relaxed);
    __atomic_store_n(&slot->loop.object, label, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->loop.caller, caller, __ATOMIC_RELAXED);
    atomic_store_explicit(&slot->long_ns, limit_ns, memory_order_relaxed);
    if (((int64_t)(now_ns - looked_ns) > late_ns) | (limit_ns < short_ns)) {
        atomic_store_explicit(&slot->stamp, 1, memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_release);
    sonde__probe_leave(slot, now_ns);
}

/* Must the end be stamped? Then call close_stamped(), else close(). */
static inline bool sonde__probe_scope_is_stamped(const struct sonde__probe_slot *slot)
{
    return atomic_load_explicit(&slot->stamp, memory_order_relaxed) != 0;
}
static inline void sonde__probe_close_scope(struct sonde__probe_slot *slot)
{
    atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
}
void sonde__probe_close_scope_stamped(struct sonde__probe_slot *slot, uint64_t now_ns);

/* An open scope, as the watch reads it. */
struct sonde__probe_scope {
    uint64_t label, caller; /* of the thread */
    uint64_t begin_ns;
    int64_t limit_ns;
};
/* False: no scope is open at this level, or it is changing right now. */
bool sonde__probe_read_scope(const struct sonde__probe_slot *slot,
                             struct sonde__probe_scope *ret_scope);

#endif
