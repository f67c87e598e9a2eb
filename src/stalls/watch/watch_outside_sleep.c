// SPDX-License-Identifier: Apache-2.0
/* The watch's sleep while no thread runs: the scheduler's records end it. */
#include "base_math.h"
#include "host_clock.h"
#include "watch_outside_thread.h"
#include "watch_session.h"

/* The watch sleeps when no thread has run for this time. */
#define SLEEP_AFTER_NS 100000000ull

static bool has_not_run(const struct watch_thread *t)
{
    struct sonde__os_schedstat stat;
    return t->blocked && sonde__os_read_schedstat(t->stat_fd, &stat, NULL) == SONDE_OK &&
           sonde__os_schedstat_is_same(&stat, &t->stat);
}

static bool may_sleep(const struct sonde__watch_outside *o, uint64_t now_ns)
{
    bool may = !o->counts.never_sleeps && o->count > 0 && o->counts.unwatched == 0 &&
               now_ns - o->ran_ns >= SLEEP_AFTER_NS;
    for (uint32_t i = 0; may && i < o->count; i++) {
        may = o->threads[i].blocked;
    }
    return may;
}

/* False: the system has no such events for us. */
static bool arm(struct sonde__watch_session *s, struct watch_thread *t)
{
    if (!t->wakes) {
        enum sonde_status status = sonde__host_perf_open_wakes(s->pid, t->tid, &t->wake, NULL);
        t->wakes = status == SONDE_OK;
        if (!t->wakes) {
            return status == SONDE_ABSENT; /* the next look drops the thread */
        }
        if (!sonde__host_waiter_heed(s->waiter, t->wake.fd)) {
            return false;
        }
    }
    sonde__host_perf_restart(&t->wake);
    return true;
}

static void rest(struct sonde__watch_outside *o)
{
    for (uint32_t i = 0; i < o->count; i++) {
        if (o->threads[i].wakes) {
            sonde__host_perf_pause(&o->threads[i].wake, true);
        }
    }
}

bool sonde__watch_outside_sleep(struct sonde__watch_session *s, uint64_t now_ns)
{
    struct sonde__watch_outside *o = s->outside;
    if (!may_sleep(o, now_ns)) {
        return false;
    }
    bool sleeps = true;
    for (uint32_t i = 0; sleeps && i < o->count; i++) {
        sleeps = arm(s, &o->threads[i]);
        o->counts.never_sleeps = !sleeps;
    }
    /* a thread that was started since the last list would wake nobody */
    sleeps = sleeps && sonde__watch_outside_lists_all(s);
    for (uint32_t i = 0; sleeps && i < o->count; i++) {
        sleeps = o->threads[i].wakes && has_not_run(&o->threads[i]); /* before it was armed */
    }
    if (!sleeps) {
        rest(o);
    }
    return sleeps;
}

/* A thread without a record has not run until now. */
void sonde__watch_outside_wake(struct sonde__watch_session *s)
{
    uint64_t now_ns = sonde__host_monotonic_ns();
    for (uint32_t i = 0; i < s->outside->count; i++) {
        struct watch_thread *t = &s->outside->threads[i];
        struct sonde__host_switches switches;
        if (t->wakes) {
            sonde__host_perf_switches(&t->wake, UINT64_MAX, &switches, NULL);
            t->seen_ns =
                sonde__base_max(t->seen_ns, switches.count > 0 ? switches.first_ns : now_ns);
        }
    }
    rest(s->outside);
}
