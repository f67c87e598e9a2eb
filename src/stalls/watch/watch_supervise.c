// SPDX-License-Identifier: Apache-2.0
/* See watch_supervise.h. Order of a round: events, clocks, every slot, then the pause until the
 * next thing is due. While all threads are idle there is no next thing: it sleeps until a thread of
 * the program becomes busy and wakes it. */
#include "watch_supervise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_clock.h"
#include "host_run.h"
#include "os.h"
#include "watch_follow.h"

#define MS 1000000ull
/* How long all threads must be idle before the long sleep: a program with a timer of half a second
 * would otherwise pay a wake-up call each time. */
#define SLEEP_AFTER_NS (2000 * MS)
/* The pause before the first sign of the probe, and when the program cannot be opened. */
#define START_TICK_NS   (20 * MS)
#define START_MAX_NS    (5000 * MS)
#define CAMERA_RETRY_NS (1000 * MS)
/* After SIGABRT, before SIGKILL. A core of some GB takes its time. */
#define KILL_AFTER_NS (30000 * MS)
/* A loop is given up for another when it made no turn for so long, in so many other waits. */
#define ABANDON_NS    (30000 * MS)
#define ABANDON_WAITS 32u

static bool open_sampler(struct sonde__watch_session *s, uint64_t now_ns)
{
    struct sonde_error error = {0};
    if (s->sampler != NULL) {
        return true;
    }
    if (now_ns < s->sampler_retry_ns) {
        return false;
    }
    static const uint32_t ways[] = {
        [SONDE__WATCH_SAMPLER_PERF] = SONDE__TARGET_BY_PERF,
        [SONDE__WATCH_SAMPLER_PTRACE] = SONDE__TARGET_BY_PTRACE,
        [SONDE__WATCH_SAMPLER_SIGNAL] = SONDE__TARGET_BY_SIGNAL,
        [SONDE__WATCH_SAMPLER_NONE] = 0,
    };
    const struct sonde__target_options options = {
        .mode = SONDE__TARGET_PASSIVE,
        .restricted = s->options.sampler != SONDE__WATCH_SAMPLER_AUTO,
        .ways = ways[s->options.sampler],
        .sample = &s->page->sample,
    };
    if (sonde__watch_sampler_open(s->pid, &options, s->options.symbols, &s->sampler, &error) ==
        SONDE_OK) {
        return true;
    }
    s->sampler = NULL;
    s->sampler_retry_ns = now_ns + CAMERA_RETRY_NS;
    if (!s->sampler_said) {
        s->sampler_said = true;
        sonde__watch_say(s->output, "stacks cannot be read: %s", error.what);
    }
    return false;
}

/* Notes when this turn ends even when nobody looks at that moment. */
static void begin_sampling(struct sonde__watch_session *s, uint32_t i, uint64_t now_ns)
{
    struct sonde__probe_slot *slot = &s->page->slots[i];
    struct sonde__watch_stall *stall = &s->stalls[i];
    sonde__watch_stall_done(stall);
    stall->begin_cpu_ns = sonde__host_cpu_ns();
    (void)sonde__host_look_thread(s->pid, (int32_t)s->tids[i], &stall->begin);
    s->turns[i] = atomic_load(&slot->turns);
    s->nested[i] = atomic_load(&slot->nested);
    s->loop_changes[i] = slot->loop_changes;
    atomic_store(&slot->ended_ns, 0);
    atomic_store(&slot->stamp, 1);
    if (open_sampler(s, now_ns)) {
        sonde__watch_sampler_refresh(s->sampler);
    }
}

/* The turn that is being sampled is still the same: a sample of the loop's own wait is never kept.
 */
static bool still_busy(const struct sonde__watch_session *s, uint32_t i)
{
    return atomic_load(&s->page->slots[i].beat) ==
           sonde__probe_beat(s->decisions[i].since_ns, SONDE__PROBE_BUSY);
}

static void take_sample(struct sonde__watch_session *s, uint32_t i)
{
    struct sonde__thread_sample shot;
    if (s->sampler == NULL || !sonde__watch_shoot(s->sampler, (int32_t)s->tids[i], &shot)) {
        return;
    }
    if (!still_busy(s, i)) {
        sonde__thread_sample_done(&shot);
        return;
    }
    sonde__watch_stall_add(&s->stalls[i], &shot, s->decisions[i].counted_ns);
}

static void begin_stall(struct sonde__watch_session *s, uint32_t i)
{
    atomic_store(&s->page->unfinished, 1);
    if (s->options.verbose) {
        sonde__watch_say(s->output, "thread %u has not been back in its loop for %llu ms",
                         (unsigned)s->tids[i],
                         (unsigned long long)(s->decisions[i].counted_ns / MS));
    }
    if (s->sampler != NULL) {
        sonde__watch_stall_add_threads(&s->stalls[i], s->sampler, (int32_t)s->tids[i]);
    }
}

/* A stall without any stack says why; one that lacks samples of its thread while it ran, once for
 * each reason. */
static void say_unread(struct sonde__watch_session *s, const struct sonde__watch_stall *stall)
{
    const char *note = NULL;
    bool seen = false;
    for (uint32_t n = 0; n < stall->count; n++) {
        const struct sonde__thread_sample *shot = &stall->samples[n].shot;
        seen = seen || shot->count > 0;
        note = shot->count == 0 && shot->note[0] != '\0' ? shot->note : note;
    }
    if (note != NULL && !seen) {
        sonde__watch_say(s->output, "stacks cannot be read: %s", note);
    } else if (note != NULL && strcmp(note, s->unread) != 0) {
        snprintf(s->unread, sizeof s->unread, "%s", note);
        sonde__watch_say(s->output, "a part of the samples is missing: %s", note);
    }
}

static void report_stall(struct sonde__watch_session *s, uint32_t i, uint64_t duration_ns,
                         bool open)
{
    struct sonde__watch_stall *stall = &s->stalls[i];
    const struct sonde__watch_decision *d = &s->decisions[i];
    struct sonde__host_thread_look look;
    if (s->page->slots[i].loop_changes != s->loop_changes[i]) {
        sonde__watch_say(s->output,
                         "thread %u: another wait proved to be its loop; what looked like a stall "
                         "of %llu ms was none",
                         (unsigned)s->tids[i], (unsigned long long)(duration_ns / MS));
        sonde__watch_stall_done(stall);
        return;
    }
    if (sonde__host_look_thread(s->pid, (int32_t)s->tids[i], &look)) {
        stall->cpu_ns = look.cpu_ns - stall->begin.cpu_ns;
        stall->runqueue_ns = look.runqueue_ns - stall->begin.runqueue_ns;
    }
    stall->overhead_ns = sonde__host_cpu_ns() - stall->begin_cpu_ns;
    sonde__watch_stall_extend(stall, duration_ns);
    say_unread(s, stall);
    const struct sonde__watch_ended ended = {
        .stall = stall,
        .slot = &s->page->slots[i],
        .tid = (int32_t)s->tids[i],
        .main = (int32_t)s->tids[i] == s->pid,
        .open = open,
        .begin_ns = d->since_ns > s->begin_ns ? d->since_ns - s->begin_ns : 0,
        .duration_ns = duration_ns,
        .turns = s->turns[i] > 0 ? s->turns[i] - 1 : 0,
    };
    sonde__watch_output_stall(s->output, s->sampler, &ended);
    sonde__watch_stall_done(stall);
    atomic_store(&s->page->unfinished, s->options.report_fd >= 0);
}

static void act(struct sonde__watch_session *s, uint32_t i, enum sonde__watch_action action,
                uint64_t now_ns)
{
    struct sonde__watch_decision *d = &s->decisions[i];
    switch (action) {
    case SONDE__WATCH_NOTHING:
        break;
    case SONDE__WATCH_SAMPLE:
        if (d->samples == 1) {
            begin_sampling(s, i, now_ns);
        }
        take_sample(s, i);
        break;
    case SONDE__WATCH_BEGIN:
        if (d->samples == 1) {
            begin_sampling(s, i, now_ns);
        }
        take_sample(s, i);
        begin_stall(s, i);
        break;
    case SONDE__WATCH_DROP:
        sonde__watch_stall_done(&s->stalls[i]);
        break;
    case SONDE__WATCH_END:
        report_stall(s, i, d->duration_ns, false);
        break;
    }
    if (d->phase == SONDE__WATCH_STALL && d->counted_ns > ABANDON_NS &&
        atomic_load(&s->page->slots[i].nested) - s->nested[i] >= ABANDON_WAITS) {
        atomic_store(&s->page->slots[i].abandon, 1);
    }
}

/* A filter never goes away again. */
static bool is_confined(struct sonde__watch_session *s, int32_t tid)
{
    struct sonde__host_thread_look look;
    if (atomic_load(&s->page->confined) == 0 && sonde__host_look_thread(s->pid, tid, &look) &&
        look.confined) {
        atomic_store(&s->page->confined, 1);
    }
    return atomic_load(&s->page->confined) != 0;
}

/* A loop whose descriptor is closed will never turn again, and its thread, whatever it does, keeps
 * nobody waiting: children's output that was read to its end, an event loop that was closed. So a
 * stall that follows right after such a loop's descriptor was closed is missed, rather than a
 * program that only waits for the time to pass reported. */
static bool loop_is_over(const struct sonde__watch_session *s, uint32_t i,
                         const struct sonde__watch_look *look)
{
    const struct sonde__probe_candidate *loop = &s->page->slots[i].loop;
    bool epoll = loop->kind == SONDE__PROBE_EPOLL;
    if (look->now_ns < look->since_ns + s->options.threshold_ns / 2 ||
        (!epoll && loop->kind != SONDE__PROBE_POLL) || loop->object > INT32_MAX) {
        return false;
    }
    enum sonde__host_descriptor now =
        sonde__host_look_descriptor(s->pid, (int32_t)s->tids[i], (int32_t)loop->object);
    return now == SONDE__HOST_CLOSED || now == SONDE__HOST_FILE ||
           (epoll && now == SONDE__HOST_OTHER);
}

/* One thread. Returns the time until it is due again; *ret_busy: it is away from its loop. */
static uint64_t inspect_thread(struct sonde__watch_session *s, uint32_t i, uint64_t now_ns,
                               bool *ret_busy)
{
    struct sonde__probe_slot *slot = &s->page->slots[i];
    struct sonde__watch_decision *d = &s->decisions[i];
    uint32_t tid = atomic_load_explicit(&slot->tid, memory_order_acquire);
    uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_acquire);
    struct sonde__host_thread_look thread = {0};
    if (tid != s->tids[i]) {
        sonde__watch_stall_done(&s->stalls[i]);
        sonde__watch_decide_init(d, s->options.threshold_ns);
        s->tids[i] = tid;
    }
    if (tid == 0) {
        return UINT64_MAX;
    }
    struct sonde__watch_look look = {
        .now_ns = now_ns,
        .busy = (beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_BUSY,
        .since_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK,
        .ended_ns = atomic_load_explicit(&slot->ended_ns, memory_order_relaxed),
    };
    if (look.busy) {
        if (!sonde__host_look_thread(s->pid, (int32_t)tid, &thread)) {
            look.busy = false; /* the thread has ended */
            atomic_compare_exchange_strong(&slot->tid, &tid, 0);
        }
        if (thread.confined) {
            atomic_store(&s->page->confined, 1);
        }
        look.held = thread.state == 'T' || thread.state == 't' || thread.tracer != 0;
        look.own_ns = thread.state != 'R' ? s->own_ns : 0;
    }
    if (look.busy && loop_is_over(s, i, &look)) {
        look.busy = false;
    }
    act(s, i, sonde__watch_decide(d, &look), now_ns);
    *ret_busy = *ret_busy || look.busy;
    return sonde__watch_next_tick(d, sonde__host_monotonic_ns());
}

/* --- the clock of --timeout --- */

/* What the system refuses of the way to the program, once. */
static void say_doubt(struct sonde__watch_session *s)
{
    const char *doubt = s->waiter != NULL ? sonde__host_waiter_doubt(s->waiter) : "";
    if (doubt[0] != '\0' && !s->doubt_said) {
        s->doubt_said = true;
        sonde__watch_say(s->output, "%s", doubt);
    }
}

static void watch_timeout(struct sonde__watch_session *s, uint64_t now_ns)
{
    static const char *const what[] = {"", "; ending it by SIGABRT",
                                       "; ending it by SIGABRT, with a core"};
    if (s->kill_at_ns != 0 && now_ns >= s->kill_at_ns) {
        sonde__watch_say(s->output, "the program did not end: killed");
        s->kill_at_ns = 0;
        sonde__host_waiter_kill(s->waiter);
        say_doubt(s);
    }
    if (s->timed_out || s->options.timeout_ns == 0 || s->waiter == NULL ||
        now_ns - s->begin_ns < s->options.timeout_ns) {
        return;
    }
    s->timed_out = true;
    sonde__watch_say(s->output, "the program still runs after %llu ms%s",
                     (unsigned long long)(s->options.timeout_ns / MS),
                     what[s->options.timeout_action]);
    if (open_sampler(s, now_ns)) {
        sonde__watch_sampler_refresh(s->sampler);
        sonde__watch_output_stacks(s->output, s->sampler, "timeout");
    }
    if (s->options.timeout_action != SONDE__WATCH_TIMEOUT_STACKS) {
        sonde__host_waiter_abort(s->waiter, s->options.timeout_action == SONDE__WATCH_TIMEOUT_CORE);
        say_doubt(s);
        s->kill_at_ns = now_ns + KILL_AFTER_NS;
    }
}

/* --- the clock of a plugin --- */

static const struct sonde__watch_plugin *plugin_to_read(const struct sonde__watch_session *s)
{
    const struct sonde__watch_plugin *plugin = s->options.plugin;
    return plugin != NULL && plugin->look != NULL && s->guest_memory != NULL && s->output != NULL
               ? plugin
               : NULL;
}

static void watch_plugin(struct sonde__watch_session *s, uint64_t now_ns)
{
    const struct sonde__watch_plugin *plugin = plugin_to_read(s);
    if (plugin == NULL || plugin->period_ns == 0) {
        return;
    }
    s->looked_ns = s->looked_ns == 0 ? s->begin_ns : s->looked_ns;
    if (now_ns - s->looked_ns >= plugin->period_ns) {
        s->looked_ns = now_ns;
        sonde__watch_output_look(s->output, s->guest_memory, false);
    }
}

static uint64_t until_look(const struct sonde__watch_session *s, uint64_t now_ns)
{
    const struct sonde__watch_plugin *plugin = plugin_to_read(s);
    if (plugin == NULL || plugin->period_ns == 0) {
        return UINT64_MAX;
    }
    uint64_t at = s->looked_ns + plugin->period_ns;
    return at > now_ns ? at - now_ns : 0;
}

static uint64_t until_timeout(const struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t at = s->kill_at_ns != 0 ? s->kill_at_ns
                  : !s->timed_out && s->options.timeout_ns != 0
                      ? s->begin_ns + s->options.timeout_ns
                      : 0;
    return at == 0 ? UINT64_MAX : at > now_ns ? at - now_ns : 0;
}

/* --- the round --- */

static bool any_loop_known(const struct sonde__watch_session *s)
{
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        if (s->page->slots[i].loop.kind != SONDE__PROBE_NONE) {
            return true;
        }
    }
    return false;
}

/* Until the probe has started, and while no program could carry one. */
static bool probe_runs(struct sonde__watch_session *s, uint64_t now_ns)
{
    if (s->carry != SONDE__WATCH_CARRIES || s->options.probe == NULL) {
        return false;
    }
    if (atomic_load(&s->page->pid) != 0) {
        return true;
    }
    if (now_ns - s->begin_ns > START_MAX_NS) {
        sonde__watch_say(s->output, "the probe did not start in the program: stalls are not seen");
        s->carry = SONDE__WATCH_NOT_A_PROGRAM;
    }
    return false;
}

/* After exec the page is of a program that is no more, and its last word may have been "busy". The
 * probe took itself out of the environment, so the new program has none, or one of its own. */
static bool has_replaced_itself(struct sonde__watch_session *s)
{
    uint64_t mark = sonde__host_program_mark(s->pid);
    if (s->program_mark == 0) {
        s->program_mark = mark;
    }
    if (mark == 0 || mark == s->program_mark) {
        return false;
    }
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        sonde__watch_stall_done(&s->stalls[i]);
        sonde__watch_decide_init(&s->decisions[i], s->options.threshold_ns);
    }
    s->carry = SONDE__WATCH_NOT_A_PROGRAM;
    if (s->options.verbose && !s->options.follow) {
        sonde__watch_say(s->output, "the program executed another one, which is not watched");
    }
    return true;
}

static uint64_t inspect_all(struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t wait = UINT64_MAX;
    bool busy = false;
    uint64_t cpu_ns = sonde__host_cpu_ns();
    s->own_ns = cpu_ns - s->cpu_ns;
    s->cpu_ns = cpu_ns;
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        uint64_t next = inspect_thread(s, i, now_ns, &busy);
        wait = next < wait ? next : wait;
    }
    if (busy) {
        s->idle_since_ns = 0;
    } else if (s->idle_since_ns == 0) {
        s->idle_since_ns = now_ns;
    }
    return wait;
}

/* A sample by a signal is not free of side effects, so how many there were is said. */
static void say_signals(struct sonde__watch_session *s)
{
    const struct sonde__target_signals n = sonde__watch_sampler_signals(s->sampler);
    if (n.sent + n.refused > 0) {
        sonde__watch_say(s->output,
                         "running threads were asked by %llu signals (SIGURG): %llu not answered "
                         "in time, %u too late, %llu ended a call early; %llu not sent",
                         (unsigned long long)n.sent, (unsigned long long)n.unanswered,
                         (unsigned)atomic_load(&s->page->sample.late), (unsigned long long)n.early,
                         (unsigned long long)n.refused);
    }
}

/* Every stall that is open ends here, with the program or before its exit: the last look at it may
 * have been before the thread came back to its loop. */
static void finish_stall(struct sonde__watch_session *s, uint32_t i)
{
    struct sonde__watch_decision *d = &s->decisions[i];
    uint64_t ended_ns = atomic_load(&s->page->slots[i].ended_ns);
    const struct sonde__watch_look over = {.now_ns = ended_ns, .ended_ns = ended_ns};
    if (d->phase != SONDE__WATCH_STALL) {
        return;
    }
    if (ended_ns != 0 && sonde__watch_decide(d, &over) == SONDE__WATCH_END) {
        report_stall(s, i, d->duration_ns, false);
    } else {
        report_stall(s, i, d->counted_ns, true);
    }
}

static void finish(struct sonde__watch_session *s)
{
    uint64_t now_ns = sonde__host_monotonic_ns();
    uint64_t turns = 0;
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        turns += atomic_load(&s->page->slots[i].turns);
        finish_stall(s, i);
        sonde__watch_stall_done(&s->stalls[i]);
        sonde__watch_decide_init(&s->decisions[i], s->options.threshold_ns);
    }
    char missed[512];
    if (s->follow != NULL && sonde__watch_describe_missed(s->follow, missed, sizeof missed)) {
        sonde__watch_say(s->output, "%s", missed);
    }
    if (s->sampler != NULL) {
        say_signals(s);
    }
    if (s->guest_memory != NULL) {
        sonde__watch_output_plugin(s->output, s->guest_memory);
    }
    sonde__watch_output_finish(s->output, turns, now_ns - s->begin_ns);
    s->output = NULL;
    atomic_store(&s->page->finished, 1);
    (void)sonde__os_futex_wake((const uint32_t *)&s->page->finished, 1, true);
}

/* Could a thread that wakes us be ended for it? */
static bool may_wake(struct sonde__watch_session *s)
{
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        if (s->tids[i] != 0 && is_confined(s, (int32_t)s->tids[i])) {
            return false;
        }
    }
    return !is_confined(s, s->pid);
}

static uint32_t wait_for_more(struct sonde__watch_session *s, uint64_t now_ns, uint64_t wait_ns,
                              bool runs)
{
    uint64_t limit = until_timeout(s, now_ns), look = until_look(s, now_ns);
    limit = look < limit ? look : limit;
    uint64_t period = s->options.threshold_ns / 4;
    bool starting = !runs && s->carry == SONDE__WATCH_CARRIES && s->options.probe != NULL;
    bool asleep =
        runs && s->idle_since_ns != 0 && now_ns - s->idle_since_ns > SLEEP_AFTER_NS && may_wake(s);
    if (starting) {
        wait_ns = START_TICK_NS;
    } else if (runs && wait_ns == UINT64_MAX && !asleep) {
        wait_ns = period;
    }
    if (asleep) {
        /* A thread that read the word just before it was set to 1 is seen by a look one period
         * later; only then may the sleep have no end. */
        uint32_t events = s->wait(s, period < limit ? period : limit, true);
        if (events != 0) {
            return events;
        }
        for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
            if ((atomic_load(&s->page->slots[i].beat) & SONDE__PROBE_STATE_MASK) != 0) {
                return 0;
            }
        }
        return s->wait(s, limit, true);
    }
    return s->wait(s, wait_ns < limit ? wait_ns : limit, false);
}

static void handle(struct sonde__watch_session *s, uint32_t events, uint64_t now_ns)
{
    if ((events & SONDE__HOST_WOKEN) != 0) {
        s->idle_since_ns = 0;
    }
    if ((events & SONDE__HOST_ASKED) != 0 && s->output != NULL && open_sampler(s, now_ns)) {
        sonde__watch_sampler_refresh(s->sampler);
        sonde__watch_output_stacks(s->output, s->sampler, "asked for");
    }
    if ((events & SONDE__HOST_ASKED) != 0 && plugin_to_read(s) != NULL) {
        sonde__watch_output_look(s->output, s->guest_memory, true);
    }
}

static void watch(struct sonde__watch_session *s)
{
    uint32_t events = 0;
    while ((events & (SONDE__HOST_ENDED | SONDE__HOST_TERMINATE)) == 0) {
        uint64_t now_ns = sonde__host_monotonic_ns();
        uint64_t wait_ns = UINT64_MAX;
        bool runs = probe_runs(s, now_ns);
        if (atomic_load(&s->page->exiting) != 0) {
            break;
        }
        watch_timeout(s, now_ns);
        watch_plugin(s, now_ns);
        (void)is_confined(s, s->pid);
        if (runs && has_replaced_itself(s)) {
            runs = false;
            if (s->options.root != 0) {
                break; /* the next program has a supervisor of its own; the first one stays, for the
                          text of all goes through it */
            }
        }
        if (runs) {
            wait_ns = inspect_all(s, now_ns);
            if (s->sampler == NULL && any_loop_known(s)) {
                (void)open_sampler(s, now_ns);
            }
        }
        events = wait_for_more(s, now_ns, wait_ns, runs);
        handle(s, events, now_ns);
    }
}

void sonde__watch_session_run(struct sonde__watch_session *s)
{
    s->begin_ns = sonde__host_monotonic_ns();
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        sonde__watch_decide_init(&s->decisions[i], s->options.threshold_ns);
    }
    watch(s);
    finish(s);
    sonde__watch_sampler_close(s->sampler);
    s->sampler = NULL;
}

static uint32_t wait_outside(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    return sonde__host_wait(s->waiter, timeout_ns, sleeping);
}

/* The program ended while nobody supervised it. */
static uint32_t wait_for_nothing(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    (void)s, (void)timeout_ns, (void)sleeping;
    return SONDE__HOST_ENDED;
}

/* Of a plugin, all that counts is in the memory that is shared. Of the report nothing but its
 * header was written, or what the plugin said in the middle, whose last record may be cut. */
static int stand_by(struct sonde__watch_session *s)
{
    bool has_ended = false;
    int signal = s->guest_memory != NULL
                     ? sonde__host_stand_by(s->pid, &s->page->supervisor, &has_ended)
                     : 0;
    if (has_ended) {
        s->wait = wait_for_nothing;
    }
    if (signal != 0 && s->options.report_fd >= 0) {
        sonde__host_truncate(s->options.report_fd);
    }
    return signal;
}

void sonde__watch_supervise(void *ctx, int32_t pid)
{
    struct sonde__watch_session *s = ctx;
    struct sonde_error error = {0};
    s->pid = pid;
    s->wait = wait_outside;
    int signal = stand_by(s);
    atomic_store(&s->page->supervisor, (int32_t)getpid());
    if (s->wait == wait_outside && sonde__host_waiter_create(pid, (uint32_t *)&s->page->sleeping,
                                                             &s->waiter, &error) != SONDE_OK) {
        if (signal == 0) {
            _exit(1);
        }
        s->waiter = NULL;
        s->wait = wait_for_nothing; /* it has ended since; what it shared is here */
    }
    if (sonde__watch_output_create(&s->options, pid, &s->output) != SONDE_OK) {
        _exit(1);
    }
    if (signal != 0) {
        sonde__watch_say(s->output, "the supervisor was ended by signal %d; another one goes on",
                         signal);
    }
    say_doubt(s);
    const char *what = s->guest_memory == NULL                                ? "stalls"
                       : s->options.plugin->kind == SONDE__REPORT_HEAP_BLOCKS ? "blocks"
                                                                              : "calls";
    if (s->carry != SONDE__WATCH_CARRIES) {
        sonde__watch_say(s->output, "%s are not seen in this program: %s", what,
                         sonde__watch_carry_text(s->carry));
    } else if (s->options.probe == NULL) {
        sonde__watch_say(s->output, "stalls are not seen: libsonde-preload.so was not found");
    }
    if (s->options.verbose) {
        sonde__watch_say(s->output, "supervisor %d watches process %d (kill -QUIT %d: all stacks)",
                         (int)s->page->supervisor, (int)pid, (int)s->page->supervisor);
    }
    sonde__host_supervisor_ready();
    sonde__watch_session_run(s);
    _exit(0);
}
