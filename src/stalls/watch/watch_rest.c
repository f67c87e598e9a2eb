// SPDX-License-Identifier: Apache-2.0
/* Invariant: a sleep without an end begins only when no thread is busy, and the first one that
 * becomes busy ends it. */
#include "watch_rest.h"

#include "base_math.h"
#include "host_clock.h"
#include "watch_early.h"
#include "watch_follow.h"
#include "watch_live.h"
#include "watch_outside.h"
#include "watch_sampler.h"
#include "watch_scopes.h"
#include "watch_workers.h"

#define MS 1000000ull
/* How long all threads must be idle before the long sleep. Without this, a program with a timer of
 * half a second would pay for a wake-up call each time. */
#define SLEEP_AFTER_NS (2000 * MS)
/* The pause between checks whether the probe has started. */
#define START_TICK_NS (20 * MS)

/* Does the thread have a seccomp filter? The answer is kept, because a filter is never removed. */
static bool is_confined(struct sonde__watch_session *s, uint64_t tid)
{
    struct sonde__host_thread_look look;
    if (atomic_load(&s->page->confined) == 0 && sonde__host_look_thread(s->pid, tid, &look) &&
        look.confined) {
        atomic_store(&s->page->confined, 1);
    }
    return atomic_load(&s->page->confined) != 0;
}

/* May the program's threads make the system call that wakes us? A seccomp filter could kill
 * them. */
static bool may_wake(struct sonde__watch_session *s)
{
    for (uint32_t i = 0; i < s->used; i++) {
        uint64_t tid = s->loops[i].tid;
        if (tid != 0 && is_confined(s, tid)) {
            return false;
        }
    }
    return !is_confined(s, (uint64_t)s->pid);
}

/* The program waits at its exit for what is not written yet. Returns true if nothing is left to
 * write. */
static bool settle(struct sonde__watch_session *s)
{
    bool is_open = !sonde__watch_writer_is_idle(s->writer);
    sonde__watch_live_settle(s, !is_open);
    for (uint32_t i = 0; i < s->used && !is_open; i++) {
        is_open = s->loops[i].decision.phase == SONDE__DECIDE_STALL;
    }
    is_open = is_open || sonde__watch_scopes_are_unsettled(s);
    atomic_store(&s->page->unfinished,
                 is_open || s->options.plugin != NULL || sonde__watch_awaits_report(&s->options));
    return !is_open;
}

/* Has no turn begun or ended for long, beside turns that last? Then the next one may wake us. */
static bool is_quiet(struct sonde__watch_session *s, uint64_t now_ns, uint64_t wait_ns)
{
    return s->outside == NULL && s->idle_since_ns == 0 &&
           (s->is_announced || wait_ns > s->turns.period_ns) &&
           now_ns - s->stirred_ns > SLEEP_AFTER_NS && !sonde__watch_expects_workers(s, now_ns) &&
           may_wake(s);
}

/* Note whether the watch was stopped meanwhile: a wait that ends on time or late is one, and a
 * stop, or a frozen container, makes more of it. So do pages that must be read. The number of waits
 * costs a system call, so it is read again only if a stop would matter. */
static uint32_t wait_for(struct sonde__watch_session *s, uint64_t wait_ns, bool sleeping)
{
    s->rested_ns = sonde__host_monotonic_ns();
    const struct sonde__host_waits before = sonde__host_waits();
    uint32_t events = s->wait(s, wait_ns, sleeping);
    s->woken_ns = sonde__host_monotonic_ns();
    uint64_t limit_ns = s->planned_ns != UINT64_MAX ? s->planned_ns : 0;
    uint64_t late_ns = sonde__base_minus(s->woken_ns - s->rested_ns, limit_ns);
    s->was_stopped = false;
    if (late_ns >= s->options.threshold_ns / SONDE__DECIDE_HALT_PART) {
        const struct sonde__host_waits after = sonde__host_waits();
        s->was_stopped = after.waits > before.waits + 1 && after.disk_faults == before.disk_faults;
    }
    return events;
}

/* A turn that begins ends this wait. The first one is short, as in fall_asleep(). */
static uint32_t wait_announced(struct sonde__watch_session *s, uint64_t wait_ns)
{
    s->planned_ns = s->is_announced ? wait_ns : sonde__base_min(wait_ns, s->turns.period_ns);
    uint32_t events = wait_for(s, s->planned_ns, true);
    s->is_announced = (events & SONDE__HOST_WOKEN) == 0;
    return events;
}

/* A thread may have read the word just before it was set to 1. The look one period later sees that
 * thread; only then may the sleep be unlimited. */
static uint32_t fall_asleep(struct sonde__watch_session *s, uint64_t limit_ns)
{
    uint32_t events = wait_for(s, sonde__base_min(s->turns.period_ns, limit_ns), true);
    if (events != 0) {
        return events;
    }
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        uint64_t beat = atomic_load(&s->page->slots[i].beat);
        if ((beat & SONDE__PROBE_STATE_MASK) != 0 &&
            !sonde__watch_early_rests(&s->loops[i], beat, sonde__host_monotonic_ns())) {
            return 0;
        }
    }
    if (sonde__watch_scopes_are_open(s)) {
        return 0;
    }
    sonde__sampler_trace_close(&s->trace);
    if (s->sampler != NULL) {
        sonde__sampler_rest(s->sampler);
    }
    return wait_for(s, limit_ns, true);
}

static uint32_t wait_outside(struct sonde__watch_session *s, uint64_t now_ns, uint64_t wait_ns,
                             uint64_t limit_ns, bool is_idle)
{
    if (is_idle && sonde__watch_outside_sleep(s, now_ns)) {
        uint32_t events = wait_for(s, limit_ns, false);
        sonde__watch_outside_wake(s);
        return events;
    }
    wait_ns = sonde__base_min(sonde__watch_outside_period(s, now_ns), wait_ns);
    s->planned_ns = sonde__base_min(wait_ns, limit_ns);
    return wait_for(s, s->planned_ns, false);
}

uint32_t sonde__watch_rest(struct sonde__watch_session *s, uint64_t now_ns, uint64_t wait_ns,
                           uint64_t limit_ns, bool runs)
{
    bool starting = !runs && s->carry == SONDE__WATCH_CARRIES && s->options.probe != NULL;
    bool idle = settle(s) && runs && s->idle_since_ns != 0;
    bool asleep = idle && s->outside == NULL && now_ns - s->idle_since_ns > SLEEP_AFTER_NS &&
                  may_wake(s) && !sonde__watch_expects_workers(s, now_ns);
    if (runs && !asleep && is_quiet(s, now_ns, wait_ns)) {
        return wait_announced(s, sonde__base_min(wait_ns, limit_ns));
    }
    s->is_announced = false;
    if (asleep) {
        return fall_asleep(s, limit_ns);
    }
    if (starting) {
        wait_ns = START_TICK_NS;
    } else if (runs) { /* no other turn wakes us */
        bool alone = s->used == 1 && s->outside == NULL && !sonde__watch_scopes_are_open(s);
        wait_ns = sonde__decide_turns_pause(&s->turns, s->means, wait_ns, alone);
    }
    if (s->outside != NULL) {
        return wait_outside(s, now_ns, wait_ns, limit_ns, idle);
    }
    s->planned_ns = sonde__base_min(wait_ns, limit_ns);
    return wait_for(s, s->planned_ns, false);
}
