// SPDX-License-Identifier: Apache-2.0
#include "watch_outside.h"

#include <stdlib.h>
#include <string.h>

#include "arch_syscall.h"
#include "base_math.h"
#include "host_clock.h"
#include "host_count.h"
#include "host_perf.h"
#include "host_process.h"
#include "host_run.h"
#include "host_wait.h"
#include "mem_heap.h"
#include "os.h"
#include "sampler.h"
#include "watch_outside_thread.h"
#include "watch_sampler.h"
#include "watch_session.h"

#define MS 1000000ull
/* Looks may use 1/125 of a CPU. */
#define COST_PART 125u
/* Upper limit of what one round adds to the mean cost: samples of a stall have a budget of their
 * own. */
#define COST_MAX_NS (MS / 2)
/* How often new threads are looked for. */
#define LIST_NS (500 * MS)
/* After a thread has run, looks are more frequent for this time. */
#define LATELY_NS (2000 * MS)
/* A counter of calls is closed when it has not been needed for this time. */
#define COUNT_NS (5000 * MS)
/* How often a thread is read if it runs meanwhile. */
enum { ATTEMPTS = 3 };

enum sonde_status sonde__watch_outside_create(struct sonde__watch_outside **ret)
{
    struct sonde__watch_outside *outside = calloc(1, sizeof *outside);
    if (outside == NULL) {
        return SONDE_MEMORY;
    }
    sonde__watch_outside_calls_init(&outside->calls);
    *ret = outside;
    return SONDE_OK;
}

static void stop_counting(struct watch_thread *t)
{
    if (t->counts) {
        sonde__host_count_close(&t->count);
    }
    t->counts = false;
    t->calls = UINT64_MAX;
}

static void drop_thread(struct sonde__watch_outside *o, uint32_t index)
{
    struct watch_thread *t = &o->threads[index];
    stop_counting(t);
    if (t->wakes) {
        sonde__host_perf_close(&t->wake);
    }
    sonde__os_close(t->wait_fd);
    sonde__os_close(t->stat_fd);
    if (t->slot != NULL) {
        atomic_store(&t->slot->beat, SONDE__PROBE_IDLE);
        atomic_store(&t->slot->tid, 0);
    }
    *t = o->threads[--o->count];
}

void sonde__watch_outside_destroy(struct sonde__watch_outside *outside)
{
    if (outside == NULL) {
        return;
    }
    while (outside->count > 0) {
        drop_thread(outside, outside->count - 1);
    }
    free(outside);
}

void sonde__watch_outside_forget(struct sonde__watch_session *s)
{
    struct sonde__watch_outside *o = s->outside;
    while (o->count > 0) {
        drop_thread(o, o->count - 1);
    }
    o->listed_ns = 0;
    o->is_judged = o->counts.is_go = false;
}

/* --- the list --- */

static bool add_thread(struct sonde__watch_outside *o, int32_t pid, uint64_t tid)
{
    struct watch_thread *t = &o->threads[o->count];
    if (o->count == SONDE__PROBE_SLOTS) {
        return false;
    }
    *t = (struct watch_thread){
        .tid = tid, .voluntary = UINT64_MAX, .transfers = UINT64_MAX, .calls = UINT64_MAX};
    if (sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SYSCALL, &t->wait_fd, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SCHEDSTAT, &t->stat_fd, NULL) !=
        SONDE_OK) {
        sonde__os_close(t->wait_fd);
        return false;
    }
    o->count++;
    return true;
}

static bool is_listed(const struct sonde__watch_outside *o, uint64_t tid)
{
    for (uint32_t i = 0; i < o->count; i++) {
        if (o->threads[i].tid == tid) {
            return true;
        }
    }
    return false;
}

static void list_threads(struct sonde__watch_session *s, uint64_t now_ns)
{
    struct sonde__watch_outside *o = s->outside;
    uint64_t *tids;
    size_t count;
    if (o->listed_ns != 0 && now_ns - o->listed_ns < LIST_NS) {
        return;
    }
    o->listed_ns = now_ns;
    if (sonde__host_tids_read(s->pid, &tids, &count, NULL) != SONDE_OK) {
        return;
    }
    o->counts.threads = (uint32_t)count;
    o->counts.unwatched = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_listed(o, tids[i]) && !add_thread(o, s->pid, tids[i])) {
            o->counts.unwatched++;
        }
    }
    sonde__mem_free(tids);
}

bool sonde__watch_outside_lists_all(struct sonde__watch_session *s)
{
    struct sonde__watch_outside *o = s->outside;
    uint64_t *tids;
    size_t count;
    if (sonde__host_tids_read(s->pid, &tids, &count, NULL) != SONDE_OK) {
        return false;
    }
    bool all = true;
    for (size_t i = 0; all && i < count; i++) {
        all = is_listed(o, tids[i]);
    }
    sonde__mem_free(tids);
    o->listed_ns = all ? o->listed_ns : 0;
    return all;
}

/* --- one look --- */

struct look {
    struct sonde__os_schedstat stat;
    struct sonde__os_wait wait;
    uint64_t now_ns;
    bool blocked;
    uint64_t voluntary;        /* UINT64_MAX: not read */
    uint64_t transfers, calls; /* likewise */
};

/* False: the thread has ended. A thread that runs while it is read is read again; after the last
 * attempt it counts as running. */
static bool read_thread(const struct sonde__watch_session *s, const struct watch_thread *t,
                        bool voluntary, struct look *ret_look)
{
    struct sonde__host_thread_look status;
    struct sonde__os_schedstat after;
    struct look look;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        look = (struct look){.voluntary = UINT64_MAX,
                             .transfers = UINT64_MAX,
                             .calls = UINT64_MAX,
                             .now_ns = sonde__host_monotonic_ns()};
        if (sonde__os_read_schedstat(t->stat_fd, &look.stat, NULL) != SONDE_OK ||
            sonde__os_read_wait(t->wait_fd, &look.wait, NULL) != SONDE_OK) {
            return false;
        }
        sonde__host_wait_resumed(s->pid, t->tid, &look.wait);
        look.blocked = sonde__os_wait_is_blocked(&look.wait);
        bool is_back = look.blocked && sonde__watch_outside_is_same(&look.wait, &t->idle_wait);
        if (t->counts) {
            (void)sonde__host_count_read(&t->count, &look.calls);
        } else if (voluntary && !is_back) {
            (void)sonde__host_transfers_read(s->pid, t->tid, &look.transfers);
        }
        if (voluntary && !is_back && sonde__host_look_thread(s->pid, t->tid, &status)) {
            look.voluntary = status.voluntary;
        }
        if (sonde__os_read_schedstat(t->stat_fd, &after, NULL) != SONDE_OK) {
            return false;
        }
        if (after.slices == look.stat.slices) {
            break;
        }
        look.blocked = false;
    }
    *ret_look = look;
    return true;
}

/* When the thread left or entered the loop's wait between two looks. The time that it ran and
 * waited for a CPU is known; the rest is halved. */
static uint64_t moment_between(const struct watch_thread *t, const struct look *look,
                               bool was_running, bool is_running)
{
    if (t->seen_ns == 0) {
        return look->now_ns;
    }
    uint64_t gap_ns = look->now_ns - t->seen_ns;
    uint64_t ran_ns =
        sonde__base_min(gap_ns, sonde__base_minus(look->stat.cpu_ns, t->stat.cpu_ns) +
                                    sonde__base_minus(look->stat.runqueue_ns, t->stat.runqueue_ns));
    if (is_running) {
        return look->now_ns - ran_ns;
    }
    return was_running ? t->seen_ns + ran_ns : t->seen_ns + (gap_ns - ran_ns) / 2;
}

static void end_turn(struct watch_thread *t, uint64_t now_ns)
{
    if (atomic_load_explicit(&t->slot->stamp, memory_order_relaxed) != 0) {
        atomic_store_explicit(&t->slot->ended_ns, now_ns, memory_order_release);
        atomic_store_explicit(&t->slot->stamp, 0, memory_order_release);
    }
}

/* The thread may have been back in its loop's wait at at_ns. */
static void note_turn(struct watch_thread *t, uint64_t at_ns)
{
    t->longest_ns = sonde__base_max(t->longest_ns, sonde__base_minus(at_ns, t->turn_ns));
    t->turn_ns = at_ns;
}

/* The thread is in its loop's wait. Count the time away if it reached the threshold, but no
 * possible turn in it did. */
static void close_doubt(struct sonde__watch_session *s, struct watch_thread *t, uint64_t now_ns)
{
    uint64_t threshold_ns = s->options.threshold_ns;
    note_turn(t, now_ns);
    if (t->away_ns != 0 && now_ns - t->away_ns >= threshold_ns && t->longest_ns < threshold_ns) {
        s->outside->counts.doubtful += t->guessed;
        s->outside->counts.congested += !t->guessed;
    }
    t->guessed = false;
    t->away_ns = 0;
}

/* Does the thread wait for other threads where it also waits for events, and no deeper in the
 * stack? Then it waits for events by turns with others (Erlang's schedulers), and has no loop of
 * its own. */
static bool is_of_pool(const struct sonde__watch_session *s, const struct watch_thread *t,
                       const struct sonde__probe_wait *wait)
{
    const struct sonde__probe_slot *slot = t->slot;
    return slot != NULL && t->tid != (uint64_t)s->pid && wait->kind == SONDE__PROBE_FUTEX &&
           slot->loop.kind != SONDE__PROBE_NONE &&
           (wait->level == 0 || slot->loop.level == 0 || wait->level >= slot->loop.level);
}

static void take_loop_from(struct watch_thread *t)
{
    t->held = true;
    t->idle = false;
    t->slot->loop.kind = SONDE__PROBE_NONE;
    atomic_store_explicit(&t->slot->beat, SONDE__PROBE_IDLE, memory_order_release);
}

/* A worker's loop with few turns may be no loop of its own. */
static void doubt_worker(const struct sonde__watch_session *s, struct watch_thread *t)
{
    if (t->tid != (uint64_t)s->pid &&
        atomic_load_explicit(&t->slot->turns, memory_order_relaxed) < SONDE__PROBE_YOUNG_TURNS) {
        atomic_store_explicit(&t->slot->beat, SONDE__PROBE_IDLE, memory_order_release);
    }
}

static void leave(const struct sonde__watch_session *s, struct watch_thread *t, uint64_t at_ns)
{
    if (t->idle) {
        t->idle = false;
        t->away_ns = t->turn_ns = at_ns;
        t->longest_ns = 0;
        sonde__probe_leave_any(t->slot, at_ns);
        doubt_worker(s, t);
    }
}

/* The thread is in a new wait. */
static void enter(struct sonde__watch_session *s, struct watch_thread *t, const struct look *look,
                  uint64_t at_ns)
{
    struct sonde__target *target = sonde__sampler_target(s->sampler);
    struct sonde__probe_wait wait;
    if (!t->held && sonde__watch_outside_is_go(target, &look->wait)) {
        t->held = t->of_go = true;
    }
    bool counts =
        !t->held && sonde__watch_outside_describe(&s->outside->calls, &t->places, target, t->tid,
                                                  t->tid == (uint64_t)s->pid, t->slot != NULL,
                                                  &look->wait, at_ns, &wait);
    if (!t->held && is_of_pool(s, t, &wait)) {
        take_loop_from(t);
    }
    if (t->held || !counts || (t->slot == NULL && !wait.learn)) {
        return;
    }
    if (t->slot == NULL) {
        t->slot = sonde__probe_claim(s->page, (uint32_t)t->tid);
    }
    if (t->slot == NULL) {
        return;
    }
    enum sonde__probe_turn turn = sonde__probe_enter_any(t->slot, &wait);
    t->idle = turn != SONDE__PROBE_NESTED;
    t->idle_wait = t->idle ? look->wait : t->idle_wait;
    if (t->idle && turn != SONDE__PROBE_UNSURE) {
        end_turn(t, at_ns);
        close_doubt(s, t, at_ns);
    }
}

static bool is_away(const struct watch_thread *t)
{
    return t->slot != NULL && !t->idle && t->slot->loop.kind != SONDE__PROBE_NONE;
}

static bool is_known(uint64_t before, uint64_t now)
{
    return before != UINT64_MAX && now != UINT64_MAX;
}

/* The thread was away from its loop at the last look and still is. A counter of the wait's calls
 * decides, if there is one. Otherwise it may have turned if it gave up its CPU more often than in
 * the wait that is seen now, or if it read or wrote, as most loops do in each turn. */
static bool may_have_turned(const struct watch_thread *t, const struct look *look)
{
    uint64_t seen = look->blocked ? 1 : 0;
    if (is_known(t->calls, look->calls)) {
        return look->calls > t->calls;
    }
    return (is_known(t->voluntary, look->voluntary) && look->voluntary > t->voluntary + seen) ||
           (is_known(t->transfers, look->transfers) && look->transfers != t->transfers);
}

/* Are its calls not counted yet, but can be as far as known? */
static bool can_count(const struct sonde__watch_session *s, const struct watch_thread *t)
{
    int64_t number = sonde__os_wait_call(&t->idle_wait).number;
    return !t->counts && !s->outside->no_counts && number >= 0 &&
           sonde__arch_syscall_name(SONDE__ARCH_HOST, number) != NULL &&
           !sonde__probe_is_weak(t->slot->loop.kind);
}

/* The thread was away at two looks in a row: count its calls from now on, instead of guessing. */
static void start_counting(struct sonde__watch_session *s, struct watch_thread *t)
{
    const struct sonde__os_call call = sonde__os_wait_call(&t->idle_wait);
    uint32_t kind = t->slot->loop.kind;
    bool keyed = kind == SONDE__PROBE_EPOLL || kind == SONDE__PROBE_OTHER; /* by a descriptor */
    if (!can_count(s, t)) {
        return;
    }
    const char *name = sonde__arch_syscall_name(SONDE__ARCH_HOST, call.number);
    t->counts = sonde__host_count_open(s->pid, t->tid, name, keyed ? &call.args[0] : NULL,
                                       &t->count) == SONDE_OK;
    s->outside->no_counts = !t->counts;
    t->calls = t->counts ? 0 : UINT64_MAX;
    t->needed_ns = t->seen_ns;
}

static void take_look(struct sonde__watch_session *s, struct watch_thread *t,
                      const struct look *look)
{
    bool was_away = is_away(t), was_running = !t->blocked;
    if (t->idle) {
        leave(s, t, moment_between(t, look, false, !look->blocked));
    } else if (was_away && !can_count(s, t) && may_have_turned(t, look)) {
        /* before the count begins, the time of one look may belong to the previous turn */
        end_turn(t, t->seen_ns);
        note_turn(t, look->now_ns);
        t->guessed = t->guessed || !is_known(t->calls, look->calls);
        sonde__probe_leave(t->slot, look->now_ns);
    }
    if (look->blocked) {
        enter(s, t, look, moment_between(t, look, was_running, false));
    }
    t->stat = look->stat;
    t->wait = look->wait;
    t->blocked = look->blocked;
    t->seen_ns = look->now_ns;
    t->voluntary = look->voluntary;
    t->transfers = look->transfers;
    t->calls = look->calls;
    if (was_away && is_away(t)) {
        start_counting(s, t);
        t->needed_ns = look->now_ns;
    }
}

/* False: the thread is gone. */
static bool look_at(struct sonde__watch_session *s, struct watch_thread *t)
{
    struct sonde__os_schedstat stat;
    struct look look;
    if (sonde__os_read_schedstat(t->stat_fd, &stat, NULL) != SONDE_OK) {
        return false;
    }
    if (t->blocked && sonde__os_schedstat_is_same(&stat, &t->stat)) {
        t->seen_ns = sonde__host_monotonic_ns();
        if (t->counts && t->idle && t->seen_ns - t->needed_ns > COUNT_NS) {
            stop_counting(t);
        }
        return true;
    }
    s->outside->ran_ns = sonde__host_monotonic_ns();
    if (!read_thread(s, t, t->slot != NULL && t->slot->loop.kind != SONDE__PROBE_NONE, &look)) {
        return false;
    }
    take_look(s, t, &look);
    return true;
}

/* Goroutines are no threads. The C threads that a Go program may have are still watched. */
static void judge_program(struct sonde__watch_session *s)
{
    struct sonde__watch_outside *o = s->outside;
    if (o->is_judged) {
        return;
    }
    o->is_judged = true;
    o->counts.is_go = sonde__watch_outside_is_go_program(sonde__sampler_target(s->sampler));
    if (o->counts.is_go) {
        sonde__watch_print(s->writer,
                           "process %d is a Go program, and not watched: goroutines move between "
                           "threads, so no thread has a loop (sonde stacks shows what they do)",
                           (int)s->pid);
    }
}

static void note_cost(struct sonde__watch_outside *o)
{
    uint64_t cpu_ns = sonde__host_cpu_ns();
    if (o->cpu_ns != 0) {
        uint64_t cost_ns = sonde__base_min(cpu_ns - o->cpu_ns, COST_MAX_NS);
        o->cost_ns = o->cost_ns == 0 ? cost_ns : (o->cost_ns * 31 + cost_ns) / 32;
    }
    o->cpu_ns = cpu_ns;
}

void sonde__watch_outside_look(struct sonde__watch_session *s, uint64_t now_ns)
{
    struct sonde__watch_outside *o = s->outside;
    list_threads(s, now_ns);
    if (!sonde__watch_open_sampler(s, now_ns)) {
        return;
    }
    judge_program(s);
    o->counts.looks++;
    note_cost(o);
    for (uint32_t i = 0; i < o->count;) {
        if (look_at(s, &o->threads[i])) {
            i++;
        } else {
            drop_thread(o, i);
        }
    }
    o->counts.of_go = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        o->counts.of_go += o->threads[i].of_go;
    }
}

void sonde__watch_outside_look_again(struct sonde__watch_session *s,
                                     const struct sonde__watch_loop *loop)
{
    struct sonde__watch_outside *o = s->outside;
    for (uint32_t i = 0; i < o->count; i++) {
        if (o->threads[i].slot == loop->slot) {
            (void)look_at(s, &o->threads[i]);
            return;
        }
    }
}

uint64_t sonde__watch_outside_period(const struct sonde__watch_session *s, uint64_t now_ns)
{
    const struct sonde__watch_outside *o = s->outside;
    uint64_t often = sonde__base_max(s->options.threshold_ns / 25, 5 * MS);
    uint64_t lately = sonde__base_min(often, 10 * MS);
    uint64_t wanted =
        now_ns - o->ran_ns < LATELY_NS ? lately : sonde__base_min(2 * lately, 20 * MS);
    return sonde__base_min(sonde__base_max(wanted, o->cost_ns * COST_PART),
                           s->options.threshold_ns / 4);
}

struct sonde__watch_outside_counts sonde__watch_outside_counts(const struct sonde__watch_outside *o)
{
    return o->counts;
}
