// SPDX-License-Identifier: Apache-2.0
/* A round: events, clocks, every loop, then a pause until something is due. While all threads are
 * idle nothing is due, and the watch sleeps until a thread that becomes busy wakes it. */
#include "watch_rounds.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base_math.h"
#include "host_clock.h"
#include "host_prompt.h"
#include "host_run.h"
#include "os.h"
#include "target_script.h"
#include "watch_early.h"
#include "watch_family.h"
#include "watch_follow.h"
#include "watch_kept.h"
#include "watch_launch.h"
#include "watch_live.h"
#include "watch_loop.h"
#include "watch_most.h"
#include "watch_outside.h"
#include "watch_rest.h"
#include "watch_sampler.h"
#include "watch_scopes.h"
#include "watch_spool.h"
#include "watch_summary.h"
#include "watch_watchdog.h"
#include "watch_workers.h"

#define MS 1000000ull
/* The time and CPU time of the program after which the start of the probe is given up. Where
 * processors are scarce, programs start after many seconds. */
#define START_MAX_NS     (5000 * MS)
#define START_MAX_CPU_NS (1000 * MS)
#define START_LAST_NS    (60000 * MS)
/* After so long a wait for a processor, processors are taken to be short for some time. */
#define CROWD_DELAY_NS (2 * MS)
/* A round that begins this late is on time: its own work, and the timer's slack. */
#define ON_TIME_NS MS
/* To read the counters takes half of the time of a round that finds nothing to do, so rounds on
 * time are accounted for together. */
#define ROUNDS_TOGETHER 8u
#define CROWDED_NS      (3000 * MS)
/* Longer work of a round needs an explanation, too. */
#define WORK_MAX_NS (8 * MS)
/* From SIGABRT to SIGKILL: a core of some GB takes its time. */
#define KILL_AFTER_NS (30000 * MS)
/* So long SIGABRT waits for the text of the stacks: names take their time, stderr may block. */
#define WRITTEN_S 30

void sonde__watch_print_doubt(struct sonde__watch_session *s)
{
    const char *doubt = s->waiter != NULL ? sonde__host_waiter_doubt(s->waiter) : "";
    if (doubt[0] != '\0' && !s->doubt_printed) {
        s->doubt_printed = true;
        sonde__watch_print(s->writer, "%s", doubt);
    }
}

/* Show the current stacks of all threads. */
static void show_stacks(struct sonde__watch_session *s, const char *why)
{
    struct sonde__sampler_stall all;
    sonde__sampler_stall_init(&all);
    sonde__sampler_refresh(s->sampler);
    sonde__target_want_tasks(sonde__sampler_target(s->sampler), true);
    sonde__sampler_stall_add_threads(&all, s->sampler, 0);
    sonde__target_want_tasks(sonde__sampler_target(s->sampler), false);
    sonde__watch_writer_stacks(s->writer, &all, sonde__sampler_freeze(s->sampler), why);
}

/* --- the clock of --timeout --- */

static void watch_timeout(struct sonde__watch_session *s, uint64_t now_ns)
{
    static const char *const what[] = {"", "; ending it by SIGABRT",
                                       "; ending it by SIGABRT, with a core"};
    if (s->kill_at_ns != 0 && now_ns >= s->kill_at_ns) {
        sonde__watch_print(s->writer, "the program did not end: killed");
        s->kill_at_ns = 0;
        sonde__host_waiter_kill(s->waiter);
        sonde__watch_print_doubt(s);
    }
    if (s->timed_out || s->options.timeout_ns == 0 || s->waiter == NULL ||
        now_ns - s->begin_ns < s->options.timeout_ns) {
        return;
    }
    s->timed_out = true;
    sonde__watch_print(s->writer, "the program still runs after %llu ms%s",
                       (unsigned long long)(s->options.timeout_ns / MS),
                       what[s->options.timeout_action]);
    if (sonde__watch_open_sampler(s, now_ns)) {
        show_stacks(s, "timeout");
    }
    sonde__watch_show_family(s, "timeout");
    if (s->options.timeout_action != SONDE__WATCH_TIMEOUT_STACKS) {
        /* the command returns when the program ends: what it waited for is written before */
        sonde__watch_writer_settle(s->writer, WRITTEN_S);
        sonde__host_waiter_abort(s->waiter, s->options.timeout_action == SONDE__WATCH_TIMEOUT_CORE);
        sonde__watch_print_doubt(s);
        s->kill_at_ns = sonde__host_monotonic_ns() + KILL_AFTER_NS;
    }
}

/* Show stacks once a turn, shortly before a service manager would end the program. */
static void watch_watchdog(struct sonde__watch_session *s)
{
    for (uint32_t i = 0; i < s->used; i++) {
        struct sonde__watch_loop *loop = &s->loops[i];
        const struct sonde__decision *d = &loop->decision;
        if (d->phase < SONDE__DECIDE_SUSPECT || loop->early.is_turn ||
            loop->warned_ns == d->since_ns ||
            !sonde__watch_watchdog_is_due(s->watchdog_ns, d->counted_ns)) {
            continue;
        }
        loop->warned_ns = d->since_ns;
        sonde__watch_print(
            s->writer,
            "thread %llu has not been back in its loop for %llu ms; the watchdog of the "
            "service allows %llu ms",
            (unsigned long long)loop->tid, (unsigned long long)(d->counted_ns / MS),
            (unsigned long long)(s->watchdog_ns / MS));
        if (s->sampler != NULL) {
            show_stacks(s, "watchdog");
        }
        return; /* all threads are shown */
    }
}

/* --- the clock of a plugin --- */

static bool may_read_plugin(const struct sonde__watch_session *s)
{
    const struct sonde__watch_plugin *plugin = s->options.plugin;
    return plugin != NULL && plugin->look != NULL && s->plugin_memory != NULL && s->writer != NULL;
}

/* The time until the plugin is read next; UINT64_MAX: never. */
static uint64_t until_look(const struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t period_ns = may_read_plugin(s) ? s->options.plugin->period_ns : 0;
    uint64_t at = (s->looked_ns == 0 ? s->begin_ns : s->looked_ns) + period_ns;
    return period_ns == 0 ? UINT64_MAX : at > now_ns ? at - now_ns : 0;
}

static void watch_plugin(struct sonde__watch_session *s, uint64_t now_ns)
{
    if (until_look(s, now_ns) == 0) {
        s->looked_ns = now_ns;
        if (sonde__watch_writer_is_idle(s->writer)) { /* else the last look is not written yet */
            sonde__watch_writer_look(s->writer, s->plugin_memory, false);
        }
    }
}

static uint64_t until_timeout(const struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t end_ns = s->options.for_ns != 0 ? s->begin_ns + s->options.for_ns : 0;
    uint64_t at = end_ns != 0          ? end_ns
                  : s->kill_at_ns != 0 ? s->kill_at_ns
                  : !s->timed_out && s->options.timeout_ns != 0
                      ? s->begin_ns + s->options.timeout_ns
                      : 0;
    return at == 0 ? UINT64_MAX : at > now_ns ? at - now_ns : 0;
}

/* --- the round --- */

/* Or a wait that may prove to be one. */
static bool any_loop_known(const struct sonde__watch_session *s)
{
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        if (sonde__watch_early_wait(&s->page->slots[i])->kind != SONDE__PROBE_NONE) {
            return true;
        }
    }
    return false;
}

/* Has the program had enough time to start? */
static bool must_have_started(const struct sonde__watch_session *s, uint64_t now_ns)
{
    struct sonde__host_thread_look look;
    uint64_t passed_ns = now_ns - s->begin_ns;
    return passed_ns > START_LAST_NS ||
           (passed_ns > START_MAX_NS && sonde__host_look_thread(s->pid, (uint64_t)s->pid, &look) &&
            look.cpu_ns > START_MAX_CPU_NS);
}

/* False until the probe has started, and if the program cannot load one. */
static bool probe_runs(struct sonde__watch_session *s, uint64_t now_ns)
{
    if (s->carry != SONDE__WATCH_CARRIES || s->options.probe == NULL) {
        return false;
    }
    if (atomic_load(&s->page->pid) != 0) {
        return true;
    }
    if (must_have_started(s, now_ns)) {
        sonde__watch_print(s->writer,
                           "the probe did not start in the program: stalls are not seen");
        s->carry = SONDE__WATCH_NOT_A_PROGRAM;
    }
    return false;
}

static void forget_stalls(struct sonde__watch_session *s)
{
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        sonde__watch_live_take_back(s, &s->loops[i]);
        sonde__watch_early_drop(&s->loops[i]);
        sonde__sampler_stall_done(&s->loops[i].stall);
        sonde__decide_init(&s->loops[i].decision, s->loops[i].threshold_ns);
        sonde__sampler_trace_rest(&s->trace, &s->loops[i]);
    }
}

/* Before a program that is followed begins, the process is sonde's own for a moment: that name is
 * not the program's. */
static void read_replacement(struct sonde__watch_session *s)
{
    char own[sizeof s->replacement];
    if (!sonde__host_executable(s->pid, s->replacement, sizeof s->replacement) ||
        (sonde__host_executable((int32_t)getpid(), own, sizeof own) &&
         strcmp(own, s->replacement) == 0)) {
        s->replacement[0] = '\0';
    }
}

/* Has the process executed another program? Then the page belongs to a program that is gone, and
 * its last state may be "busy". The probe removed itself from the environment, so the new program
 * has no probe, or one of its own. */
static bool has_replaced_itself(struct sonde__watch_session *s)
{
    if (s->program_mark != 0 && s->outside == NULL && s->stirred_ns > s->marked_ns) {
        s->marked_ns = s->stirred_ns; /* the page is in use: the next check may find it */
        return false;
    }
    uint64_t mark = sonde__host_program_mark(s->pid, &s->program_file);
    if (s->waiter == NULL) {
        sonde__host_file_drop(&s->program_file);
    }
    if (s->program_mark == 0) {
        s->program_mark = mark;
    }
    if (mark == 0 || mark == s->program_mark) {
        return false;
    }
    sonde__watch_tell_of_lost(s);
    forget_stalls(s);
    sonde__watch_launch_drop(s);
    s->carry = SONDE__WATCH_NOT_A_PROGRAM;
    s->replaced = true;
    read_replacement(s);
    return true;
}

/* How long a thread of the watch waited for a CPU since the last call. tid 0: this one. */
static uint64_t delay_of(struct sonde__sampler_clock *clock, uint64_t tid)
{
    struct sonde__os_schedstat before = clock->stat;
    if (!clock->is_open && tid == 0) {
        tid = sonde__os_tid();
    }
    return sonde__sampler_clock_read(clock, 0, tid) && clock->stat.runqueue_ns > before.runqueue_ns
               ? clock->stat.runqueue_ns - before.runqueue_ns
               : 0;
}

/* Account for what the watch did since the last time: it explains why the watch is late, and is
 * charged to its budget. */
static void account_for_itself(struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t worked_ns =
        sonde__base_minus(s->rested_ns, s->before_ns) + sonde__base_minus(now_ns, s->woken_ns);
    bool on_time = s->due_ns != 0 && now_ns <= s->due_ns + ON_TIME_NS && worked_ns <= WORK_MAX_NS;
    s->trace.is_crowded = now_ns < s->crowded_ns;
    if (on_time && ++s->unaccounted < ROUNDS_TOGETHER) {
        s->own_ns = 0;
        return;
    }
    s->unaccounted = 0;
    uint64_t delay_ns = delay_of(&s->own, 0);
    uint64_t cpu_ns = s->own.is_open ? s->own.stat.cpu_ns : sonde__host_cpu_ns();
    uint64_t spent_ns = sonde__base_minus(cpu_ns, s->cpu_ns);
    if (s->waiter != NULL && !on_time) { /* it only runs to end a sleep */
        delay_ns += delay_of(&s->own_waiter, sonde__host_waiter_tid(s->waiter));
    }
    s->own_ns = spent_ns + delay_ns + s->waited_ns + sonde__sampler_waited(s->sampler);
    s->waited_ns = 0;
    if (!on_time && delay_ns >= CROWD_DELAY_NS) {
        s->crowded_ns = now_ns + CROWDED_NS;
        s->trace.is_crowded = true;
    }
    s->means = sonde__decide_budget_spend(&s->budget, now_ns, spent_ns);
    s->spread = sonde__decide_budget_spread(&s->budget);
    s->cpu_ns = cpu_ns;
}

/* Count the current stalls for the program, which may read the number. */
static void count_stalled(struct sonde__watch_session *s)
{
    uint32_t stalled = s->stalled != NULL ? sonde__watch_scopes_stalled(s) : 0;
    for (uint32_t i = 0; s->stalled != NULL && i < s->used; i++) {
        stalled += s->loops[i].decision.phase == SONDE__DECIDE_STALL;
    }
    if (s->stalled != NULL) {
        atomic_store(s->stalled, stalled);
    }
}

/* The time for the next loop. To sample the last one may have taken long: then turns have ended
 * meanwhile, and what the watch did explains why nobody saw that. */
static uint64_t after_loop(struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t then_ns = sonde__host_monotonic_ns(), own_ns = s->own_ns;
    if (then_ns - now_ns <= WORK_MAX_NS) {
        return now_ns;
    }
    account_for_itself(s, then_ns);
    s->own_ns += own_ns;
    s->inspected_ns = then_ns;
    return then_ns;
}

static uint64_t inspect_all(struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t wait = UINT64_MAX;
    bool busy = false;
    while (s->used < SONDE__PROBE_SLOTS && atomic_load(&s->page->slots[s->used].tid) != 0) {
        s->used++;
    }
    for (uint32_t i = 0; i < s->used; i++) {
        uint64_t next = sonde__watch_loop_inspect(s, &s->loops[i], now_ns, &busy);
        wait = next < wait ? next : wait;
        now_ns = after_loop(s, now_ns);
    }
    uint64_t scopes = sonde__watch_scopes_inspect(s, now_ns, &busy);
    wait = scopes < wait ? scopes : wait;
    count_stalled(s);
    uint64_t launch = sonde__watch_launch_inspect(s, now_ns, &busy);
    wait = launch < wait ? launch : wait;
    if (busy) {
        s->idle_since_ns = 0;
    } else if (s->idle_since_ns == 0) {
        s->idle_since_ns = now_ns;
    }
    return wait;
}

/* Samples by signals have side effects, so their number is reported. */
static void print_signals(struct sonde__watch_session *s)
{
    const struct sonde__target_signals n = sonde__sampler_signals(s->sampler);
    if (n.sent + n.refused > 0) {
        sonde__watch_print(s->writer,
                           "running threads were asked by %llu signals (SIGURG): %llu not answered "
                           "in time, %u too late, %llu ended a call early; %llu not sent",
                           (unsigned long long)n.sent, (unsigned long long)n.unanswered,
                           (unsigned)atomic_load(&s->page->sample.late),
                           (unsigned long long)n.early, (unsigned long long)n.refused);
    }
}

/* Note that the watch got no CPU: a turn that began and ended in that time is known by its own
 * stamps only. */
static void note_pause(struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - s->round_ns;
    uint64_t late_ns =
        s->planned_ns != UINT64_MAX && passed_ns > s->planned_ns ? passed_ns - s->planned_ns : 0;
    if (s->round_ns != 0 && late_ns > s->options.threshold_ns) {
        s->late_count++;
        s->late_ns = late_ns > s->late_ns ? late_ns : s->late_ns;
    }
    s->before_ns = s->inspected_ns;
    s->inspected_ns = now_ns;
    s->due_ns = s->planned_ns != UINT64_MAX ? s->rested_ns + s->planned_ns : 0;
    s->round_ns = now_ns;
    s->planned_ns = UINT64_MAX;
}

static void print_late(struct sonde__watch_session *s)
{
    if (s->late_count > 0 && any_loop_known(s)) {
        sonde__watch_print(s->writer,
                           "the watch itself did not run %u times, for up to %llu ms: no samples "
                           "cover that time",
                           (unsigned)s->late_count, (unsigned long long)(s->late_ns / MS));
    }
    if (s->attended_turns > 0) {
        sonde__watch_print(s->writer,
                           "threads were long away from a descriptor that another thread attends "
                           "to, or would wait for, %llu times: no stalls",
                           (unsigned long long)s->attended_turns);
    }
    if (s->users_ns >= s->options.threshold_ns) {
        sonde__watch_print(s->writer,
                           "loops waited for input of a terminal, away from their own wait, for "
                           "%llu ms: that is no stall",
                           (unsigned long long)(s->users_ns / MS));
    }
    if (s->unsure_count > 0) {
        char most[64] = "";
        if (s->unsure_ns > 0) {
            snprintf(most, sizeof most, " of up to %llu ms",
                     (unsigned long long)(s->unsure_ns / MS));
        }
        sonde__watch_print(
            s->writer,
            "%llu turns may have been stalls%s, and are not reported: nobody saw all of them, "
            "and the loop may have waited, or the machine have stood still",
            (unsigned long long)s->unsure_count, most);
    }
}

static void finish(struct sonde__watch_session *s)
{
    uint64_t now_ns = sonde__host_monotonic_ns();
    uint64_t turns = 0;
    note_pause(s, now_ns);
    account_for_itself(s, now_ns); /* the last look of each loop is explained, too */
    sonde__watch_launch_finish(s);
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        turns += atomic_load(&s->page->slots[i].turns);
        sonde__watch_loop_finish(s, &s->loops[i]);
    }
    sonde__watch_scopes_finish(s);
    forget_stalls(s);
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        sonde__sampler_clock_close(&s->loops[i].clock);
    }
    sonde__sampler_clock_close(&s->own);
    sonde__sampler_clock_close(&s->own_waiter);
    sonde__host_load_close(&s->load_files);
    sonde__host_file_drop(&s->program_file);
    char missed[512];
    if (s->follow != NULL && s->page->follows != SONDE__PROBE_FOLLOWS_NONE &&
        sonde__watch_describe_missed(s->follow, missed, sizeof missed)) {
        sonde__watch_print(s->writer, "%s", missed);
    }
    if (s->sampler != NULL) {
        print_signals(s);
    }
    print_late(s);
    sonde__watch_keep(s, now_ns); /* names are looked up now, which may take long */
    if (s->plugin_memory != NULL) {
        sonde__watch_writer_plugin(s->writer, s->plugin_memory);
    }
    sonde__watch_print_summary(s);
    sonde__watch_print_workers(s);
    sonde__watch_writer_finish(s->writer, turns, now_ns - s->begin_ns, &s->turns);
    s->writer = NULL;
    sonde__watch_spool_end(s);
    sonde__watch_outside_destroy(s->outside);
    s->outside = NULL;
    atomic_store(&s->page->finished, 1);
    (void)sonde__os_wake((const uint32_t *)&s->page->finished, false, true);
}

/* A program without a probe has executed another one, which can be watched just as well. */
static void begin_anew(struct sonde__watch_session *s)
{
    s->replaced = false;
    s->carry = SONDE__WATCH_CARRIES;
    s->program_mark = 0;
    sonde__watch_outside_forget(s);
    sonde__sampler_close(s->sampler);
    s->sampler = NULL;
    sonde__watch_print(s->writer, "the process has executed another program, which is watched now");
}

/* Look from outside if there is no probe. Returns the time after the looks. */
static uint64_t look_outside(struct sonde__watch_session *s, uint64_t now_ns)
{
    if (s->outside == NULL) {
        return now_ns;
    }
    sonde__watch_outside_look(s, now_ns);
    return sonde__host_monotonic_ns();
}

static bool ends_now(const struct sonde__watch_session *s, uint64_t now_ns)
{
    return atomic_load(&s->page->exited_ns) != 0 ||
           (s->options.for_ns != 0 && now_ns - s->begin_ns >= s->options.for_ns);
}

static void print_line(void *ctx, const char *line)
{
    sonde__watch_print(ctx, "%s", line);
}

static void handle(struct sonde__watch_session *s, uint32_t events, uint64_t now_ns)
{
    if ((events & SONDE__HOST_WOKEN) != 0) {
        s->idle_since_ns = 0;
    }
    if ((events & SONDE__HOST_ASKED) != 0 && sonde__watch_open_sampler(s, now_ns)) {
        show_stacks(s, "asked for");
    }
    if ((events & SONDE__HOST_ASKED) != 0 && may_read_plugin(s)) {
        sonde__watch_writer_look(s->writer, s->plugin_memory, true);
    }
    if ((events & SONDE__HOST_MARKED) != 0 && s->plugin_memory != NULL) {
        s->options.plugin->mark(s->options.plugin->ctx, s->plugin_memory,
                                (struct sonde__report_lines){print_line, s->writer});
    }
}

static void watch(struct sonde__watch_session *s)
{
    uint32_t events = 0;
    while ((events & (SONDE__HOST_ENDED | SONDE__HOST_TERMINATE)) == 0) {
        uint64_t now_ns = sonde__host_monotonic_ns();
        uint64_t wait_ns = UINT64_MAX;
        bool runs = probe_runs(s, now_ns);
        note_pause(s, now_ns);
        atomic_store_explicit(&s->page->looked_ns, now_ns, memory_order_relaxed);
        if (ends_now(s, now_ns)) {
            break;
        }
        watch_timeout(s, now_ns);
        watch_plugin(s, now_ns);
        if (sonde__watch_until_kept(s, now_ns) == 0) {
            sonde__watch_keep(s, now_ns);
        }
        sonde__watch_attend_workers(s, now_ns);
        s->checks = now_ns - s->checked_ns >= s->options.threshold_ns / 4;
        s->checked_ns = s->checks ? now_ns : s->checked_ns;
        if (runs && s->checks && has_replaced_itself(s) && s->outside != NULL) {
            begin_anew(s);
        } else if (runs && s->replaced) {
            runs = false;
            if (s->options.root != 0) {
                break; /* the next program has its own supervisor; the first one stays, because all
                          text goes through it */
            }
        }
        if (runs) {
            account_for_itself(s, look_outside(s, now_ns));
            now_ns = s->inspected_ns = sonde__host_monotonic_ns(); /* the next time explains more */
            wait_ns = inspect_all(s, now_ns);
            watch_watchdog(s);
            if (s->sampler == NULL && any_loop_known(s)) {
                (void)sonde__watch_open_sampler(s, now_ns);
            }
        }
        uint64_t limit_ns = sonde__base_min(until_timeout(s, now_ns), until_look(s, now_ns));
        limit_ns = sonde__base_min(limit_ns, sonde__watch_until_kept(s, now_ns));
        events = sonde__watch_rest(s, now_ns, wait_ns, limit_ns, runs);
        handle(s, events, now_ns);
    }
    s->killed = (events & SONDE__HOST_ENDED) != 0 && s->waiter != NULL &&
                sonde__host_waiter_signal(s->waiter) != 0;
}

void sonde__watch_session_run(struct sonde__watch_session *s)
{
    if (s->waiter != NULL) { /* the thread of an embedded watch stays as it is */
        sonde__host_be_prompt();
    }
    s->begin_ns = sonde__host_monotonic_ns();
    s->inspected_ns = s->rested_ns = s->woken_ns = s->begin_ns;
    sonde__decide_budget_init(&s->budget, s->begin_ns);
    sonde__decide_turns_init(&s->turns, s->options.threshold_ns, s->options.fps);
    s->cpu_ns = s->begin_cpu_ns = sonde__host_cpu_ns();
    for (uint32_t i = 0; i < SONDE__PROBE_SLOTS; i++) {
        s->loops[i].slot = &s->page->slots[i];
        s->loops[i].threshold_ns = s->options.threshold_ns;
    }
    forget_stalls(s);
    sonde__watch_launch_begin(s);
    watch(s);
    finish(s);
    sonde__sampler_trace_close(&s->trace);
    sonde__sampler_close(s->sampler);
    s->sampler = NULL;
}
