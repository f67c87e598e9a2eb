// SPDX-License-Identifier: Apache-2.0
/* The marks around a loop's wait: a few loads and one store each.
 *
 * A thread keeps its slot in thread-local memory, and uses it only while the slot has the thread's
 * tid and belongs to this process. So the watch may take it away (if the thread seemed to have
 * ended and its tid was reused), and a fork child never writes to its parent's slot. The TLS model
 * must be one without a call: the others may allocate at a thread's first use. */
#include <sonde/note.h>
#include <sonde/watch.h>

#include <errno.h>

#include "api_watch.h"
#include "decide.h"
#include "host_clock.h"
#include "host_run.h"
#include "os.h"
#include "probe_turn.h"

struct lease {
    struct sonde__probe_slot *slot; /* null: there was no room */
    uint64_t tid;
    uint32_t epoch; /* of the process; 0: not tried yet */
};

/* Who marks, beside SONDE__PROBE_BEATS and, for pairs of marks, 0. */
#define RUN_LOOP UINT64_MAX

static _Thread_local struct lease lease __attribute__((tls_model("initial-exec")));

struct sonde__api_marks sonde__api_marks;

/* `caller`: the return address of this thread's first mark, for the report. */
static __attribute__((noinline)) struct sonde__probe_slot *take_slot(uint32_t epoch, void *caller,
                                                                     uint64_t object)
{
    struct sonde__probe_slot *slot;
    lease.epoch = epoch;
    lease.tid = sonde__os_tid();
    slot = sonde__probe_claim(&sonde__api_marks.page, lease.tid);
    if (slot != NULL) {
        slot->loop.kind = object == RUN_LOOP ? SONDE__PROBE_RUN_LOOP : SONDE__PROBE_MARKS;
        slot->loop.object = object == RUN_LOOP ? 0 : object;
        slot->loop.caller = (uint64_t)(uintptr_t)caller;
        /* publishes both: the watch reads them from a thread that it sees busy */
        atomic_store_explicit(&slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    }
    lease.slot = slot;
    if (slot == NULL) {
        atomic_store(&sonde__api_marks.wanted, 1);
        sonde__api_marks_wake();
    }
    return slot;
}

/* Null: no watch, or no free slot. */
static inline struct sonde__probe_slot *own_slot(void *caller, uint64_t object)
{
    uint32_t epoch;
    if (!sonde__api_marks_run()) {
        return NULL;
    }
    epoch = atomic_load_explicit(&sonde__api_marks.epoch, memory_order_relaxed);
    if (__builtin_expect(lease.epoch == epoch, true) &&
        (lease.slot != NULL
             ? atomic_load_explicit(&lease.slot->tid, memory_order_relaxed) == lease.tid
             : atomic_load_explicit(&sonde__api_marks.wanted, memory_order_relaxed) != 0)) {
        return lease.slot;
    }
    return take_slot(epoch, caller, object);
}

static void begin_wait(struct sonde__probe_slot *slot)
{
    if (atomic_load_explicit(&slot->stamp, memory_order_relaxed) == 0) {
        (void)sonde__probe_enter_known(slot, false);
        return;
    }
    uint64_t now_ns = sonde__host_tick_ns();
    sonde__probe_keep_long(slot, now_ns);
    (void)sonde__probe_enter_known(slot, false);
    sonde__probe_stamp(slot, now_ns);
}

void sonde_idle_enter(void)
{
    struct sonde__probe_slot *slot = own_slot(__builtin_return_address(0), 0);
    if (slot != NULL) {
        begin_wait(slot);
    }
}

void sonde_idle_leave(void)
{
    struct sonde__probe_slot *slot = own_slot(__builtin_return_address(0), 0);
    if (slot == NULL) {
        return;
    }
    uint64_t now_ns = sonde__host_tick_ns();
    if (__builtin_expect(sonde__probe_must_check(&sonde__api_marks.page, slot, now_ns), false)) {
        sonde__probe_check(&sonde__api_marks.page, slot, now_ns);
    }
    sonde__probe_leave(slot, now_ns);
    sonde__api_marks_wake();
}

/* Leave without enter: the end of a turn is the start of the next. */
static void begin_next(struct sonde__probe_slot *slot)
{
    uint64_t now_ns = sonde__host_tick_ns();
    if (__builtin_expect(sonde__probe_must_check(&sonde__api_marks.page, slot, now_ns), false)) {
        sonde__probe_check(&sonde__api_marks.page, slot, now_ns);
    }
    bool stamp = atomic_load_explicit(&slot->stamp, memory_order_relaxed) != 0;
    sonde__probe_leave(slot, now_ns);
    if (__builtin_expect(stamp, false)) {
        sonde__probe_stamp(slot, now_ns);
    }
    sonde__api_marks_wake();
}

void sonde_beat(void)
{
    struct sonde__probe_slot *slot = own_slot(__builtin_return_address(0), SONDE__PROBE_BEATS);
    if (slot != NULL) {
        begin_next(slot);
    }
}

void sonde__api_marks_run_loop(bool waits, const char *phase)
{
    struct sonde__probe_slot *slot = own_slot(NULL, RUN_LOOP);
    if (slot == NULL) {
        return;
    }
    if (waits) {
        begin_wait(slot);
        return;
    }
    atomic_store_explicit(&slot->phase, (uint64_t)(uintptr_t)phase, memory_order_release);
    begin_next(slot);
}

void sonde_loop_phase(const char *name)
{
    struct sonde__probe_slot *slot = own_slot(__builtin_return_address(0), 0);
    if (slot != NULL) {
        atomic_store_explicit(&slot->phase, (uint64_t)(uintptr_t)name, memory_order_release);
    }
}

/* A turn's start is stamped by the ticking clock, and so is a resumption. */
void sonde_watch_pause(void)
{
    atomic_fetch_add(&sonde__api_marks.page.paused, 1);
}

void sonde_watch_resume(void)
{
    struct sonde__probe_page *page = &sonde__api_marks.page;
    uint32_t paused = atomic_load(&page->paused);
    atomic_store(&page->resumed_ns, sonde__host_tick_ns());
    while (paused > 0 && !atomic_compare_exchange_weak(&page->paused, &paused, paused - 1)) {
    }
}

/* The turn that enters the background began before that, and is watched: iOS ends an app that takes
 * too long for it. One that was suspended meanwhile is no stall afterwards. */
void sonde_watch_app_state(enum sonde_app_state state)
{
    struct sonde__probe_page *page = &sonde__api_marks.page;
    uint64_t now_ns = sonde__host_tick_ns();
    if (state == SONDE_APP_ENDS) {
        atomic_store(&page->ends, 1);
        return;
    }
    if (atomic_load(&sonde__api_marks.app_state) == SONDE_APP_EXTENSION) {
        return; /* it stays one */
    }
    uint32_t before = atomic_exchange(&sonde__api_marks.app_state, (uint32_t)state);
    if (state == SONDE_APP_BACKGROUND && before != SONDE_APP_BACKGROUND) {
        atomic_store(&page->background_ns, now_ns);
    } else if (state != SONDE_APP_BACKGROUND && before == SONDE_APP_BACKGROUND) {
        atomic_store(&page->resumed_ns, now_ns);
        atomic_store(&page->background_ns, 0);
    }
}

uint32_t sonde_watch_stalled(void)
{
    return atomic_load(&sonde__api_marks.stalled);
}

/* Threads keep their slots for the next watch; turns that began before it are ignored. In a fork
 * child the slots belong to the parent's threads; only the caller could use one. */
void sonde__api_marks_begin(uint64_t threshold_ns)
{
    struct sonde__probe_page *page = &sonde__api_marks.page;
    int32_t pid = sonde__os_pid();
    bool forked = atomic_exchange(&page->pid, pid) != pid;
    page->long_ns = (int64_t)threshold_ns;
    page->late_ns = (int64_t)threshold_ns / 4;
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        struct sonde__probe_slot *slot = &page->slots[i];
        if (forked) {
            atomic_store(&slot->tid, 0);
        }
        atomic_store(&slot->beat, SONDE__PROBE_IDLE);
        atomic_store(&slot->turns, 0);
        atomic_store(&slot->long_turns, 0);
        atomic_store(&slot->unsure_turns, 0);
        slot->begun_ns = 0;
        atomic_store(&slot->stamped_ns, 0);
        slot->long_ns = (int64_t)threshold_ns;
        atomic_store(&slot->stamp, 0);
    }
    sonde__probe_reset_scopes(&sonde__api_marks.scopes, forked);
    atomic_store(&sonde__api_marks.scopes.short_ns,
                 (int64_t)(2 * sonde__decide_idle_period(threshold_ns)));
    if (forked) {
        atomic_fetch_add(&sonde__api_marks.epoch, 1);
    }
    atomic_store(&sonde__api_marks.stalled, 0);
    atomic_store(&page->sleeping, 0);
    atomic_store(&page->slots_lost, 0);
    atomic_store(&sonde__api_marks.wanted, 0);
}

static bool has_ended(uint64_t tid)
{
    struct sonde__host_thread_look look;
    return tid != 0 && !sonde__host_look_thread(sonde__os_pid(), tid, &look);
}

void sonde__api_marks_sweep(void)
{
    struct sonde__probe_page *page = &sonde__api_marks.page;
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        uint64_t tid = atomic_load(&page->slots[i].tid);
        if (has_ended(tid)) {
            /* order the ended thread's writes before those of the next owner */
            (void)atomic_load_explicit(&page->slots[i].beat, memory_order_acquire);
            atomic_compare_exchange_strong(&page->slots[i].tid, &tid, 0);
        }
    }
    for (uint32_t i = 0; i < SONDE__PROBE_SCOPE_THREADS; i++) {
        struct sonde__probe_scoped *thread = &sonde__api_marks.scopes.threads[i];
        uint64_t tid = atomic_load(&thread->tid);
        if (has_ended(tid)) {
            (void)atomic_load_explicit(&thread->levels[0].beat, memory_order_acquire);
            atomic_compare_exchange_strong(&thread->tid, &tid, 0);
        }
    }
    atomic_store(&sonde__api_marks.wanted, 0);
}
