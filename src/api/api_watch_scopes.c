// SPDX-License-Identifier: Apache-2.0
/* Scopes cost a few loads and stores, like marks (api_watch_marks.c). A thread keeps its place and
 * depth in thread-local memory; the rest is in probe_scope.h. */
#include <sonde/scope.h>

#include "api_watch.h"
#include "host_clock.h"
#include "os.h"

struct lease {
    struct sonde__probe_scoped *thread; /* null: there was no room */
    uint64_t tid;
    uint32_t epoch; /* as for marks; 0: not tried yet */
    uint32_t depth; /* open scopes of this thread */
};

static _Thread_local struct lease lease __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) struct sonde__probe_scoped *take_place(uint32_t epoch)
{
    uint64_t tid = sonde__os_tid();
    if (lease.epoch != epoch || lease.tid != tid) {
        lease.depth = 0;
    }
    lease.epoch = epoch;
    lease.tid = tid;
    lease.thread = sonde__probe_claim_scopes(&sonde__api_marks.scopes, tid);
    if (lease.thread == NULL) {
        atomic_store(&sonde__api_marks.wanted, 1);
    }
    return lease.thread;
}

/* Null: no watch, or no place for this thread. */
static inline struct sonde__probe_scoped *own_place(void)
{
    uint32_t epoch;
    if (!sonde__api_marks_run()) {
        return NULL;
    }
    epoch = atomic_load_explicit(&sonde__api_marks.epoch, memory_order_relaxed);
    if (__builtin_expect(lease.epoch == epoch, true) &&
        (lease.thread != NULL
             ? atomic_load_explicit(&lease.thread->tid, memory_order_relaxed) == lease.tid
             : atomic_load_explicit(&sonde__api_marks.wanted, memory_order_relaxed) != 0)) {
        return lease.thread;
    }
    return take_place(epoch);
}

uint32_t sonde_scope_enter(const char *label, uint64_t limit_ns)
{
    struct sonde__probe_scoped *thread = own_place();
    if (thread == NULL) {
        return 0;
    }
    uint32_t level = lease.depth++;
    if (__builtin_expect(level >= SONDE__PROBE_SCOPE_LEVELS, false)) {
        atomic_fetch_add_explicit(&sonde__api_marks.scopes.deeper, 1, memory_order_relaxed);
        return level + 1;
    }
    int64_t limit = limit_ns < SONDE_SCOPE_LIMIT_MIN_NS ? SONDE_SCOPE_LIMIT_MIN_NS
                    : limit_ns > INT64_MAX              ? INT64_MAX
                                                        : (int64_t)limit_ns;
    sonde__probe_open_scope(&sonde__api_marks.page, &sonde__api_marks.scopes,
                            &thread->levels[level], (uint64_t)(uintptr_t)label,
                            (uint64_t)(uintptr_t)__builtin_return_address(0), limit,
                            sonde__host_tick_ns());
    sonde__api_marks_wake();
    return level + 1;
}

static inline void close_level(struct sonde__probe_scoped *thread, uint32_t level)
{
    struct sonde__probe_slot *slot = &thread->levels[level];
    if (__builtin_expect(sonde__probe_scope_is_stamped(slot), false)) {
        sonde__probe_close_scope_stamped(slot, sonde__host_tick_ns());
    } else {
        sonde__probe_close_scope(slot);
    }
}

void sonde_scope_leave(uint32_t scope)
{
    /* the watch may have ended, or taken the place away */
    struct sonde__probe_scoped *thread = scope != 0 ? own_place() : NULL;
    while (scope != 0 && lease.depth >= scope) {
        lease.depth--;
        if (thread != NULL && lease.depth < SONDE__PROBE_SCOPE_LEVELS) {
            close_level(thread, lease.depth);
        }
    }
}

void sonde_scope_ignore(void)
{
    struct sonde__probe_scoped *thread = own_place();
    for (uint32_t level = 0;
         thread != NULL && level < lease.depth && level < SONDE__PROBE_SCOPE_LEVELS; level++) {
        close_level(thread, level);
    }
}
