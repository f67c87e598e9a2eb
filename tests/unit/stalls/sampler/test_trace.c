// SPDX-License-Identifier: Apache-2.0
/* The scheduler's records and the ticks of a child that runs on. */
#include "sampler_trace.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_run.h"
#include "os.h"
#include "test.h"

static volatile unsigned sink;

#define PLAIN __attribute__((noinline, no_sanitize_address, no_sanitize_thread))

/* The two functions must not be one, nor jump to each other. */
PLAIN static void work(unsigned number)
{
    for (unsigned i = 0; i < 1000; i++) {
        sink += number;
    }
    sink++;
}

PLAIN static void outer(unsigned number)
{
    work(number);
    sink += number;
}

static pid_t start_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0;; i++) {
            outer(i);
        }
    }
    return child;
}

static uint64_t cpu_ms_of(pid_t child)
{
    struct sonde__host_thread_look look = {0};
    CHECK(sonde__host_look_thread(child, (uint64_t)child, &look));
    return look.cpu_ns / 1000000;
}

static void await_cpu(pid_t child, uint64_t more_ms)
{
    uint64_t from_ms = cpu_ms_of(child);
    while (cpu_ms_of(child) < from_ms + more_ms) {
        usleep(1000);
    }
}

static void stop_child(pid_t child)
{
    int status;
    kill(child, SIGSTOP);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
}

/* The switches since the trace began, with the child off its processor. */
static uint32_t moves_of(pid_t child, bool runs)
{
    struct sonde__sampler_trace trace = {0};
    struct sonde__host_switches moves;
    sonde__sampler_trace_begin(&trace, &trace, child, (uint64_t)child, runs);
    kill(child, SIGCONT);
    await_cpu(child, 10);
    bool known = sonde__sampler_trace_read(&trace, &trace, sonde__os_now_ns(), NULL, &moves) ||
                 moves.count > 0;
    sonde__sampler_trace_close(&trace);
    return known ? moves.count : UINT32_MAX;
}

TEST(a_thread_that_only_lacked_a_processor_has_not_moved)
{
    pid_t child = start_child();
    struct sonde__host_perf perf;
    await_cpu(child, 2);
    stop_child(child);
    bool allowed =
        sonde__host_perf_open_switches(child, (uint64_t)child, 0, &perf, NULL) == SONDE_OK;
    if (allowed) {
        sonde__host_perf_close(&perf);
        uint32_t waited = moves_of(child, false);
        stop_child(child);
        uint32_t ran = moves_of(child, true);
        CHECK_EQ(waited, 1);
        CHECK_EQ(ran, 0);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (!allowed) {
        SKIP("perf events are refused here");
    }
}

/* All loops of a program share the trace: a thread that only waits must not keep it from one that
 * is sampled. */
TEST(a_waiting_thread_gives_the_trace_to_a_sampled_one)
{
    struct sonde__sampler_trace trace = {0};
    const char loops[2] = {0};
    const char *idle = &loops[0], *busy = &loops[1];
    pid_t first = start_child(), second = start_child();
    sonde__sampler_trace_await(&trace, idle, first, (uint64_t)first);
    bool allowed = trace.tid != 0;
    if (allowed) {
        CHECK(trace.who == idle);
        sonde__sampler_trace_begin(&trace, busy, second, (uint64_t)second, true);
        CHECK(trace.who == busy);
        CHECK_EQ(trace.tid, (uint64_t)second);
        sonde__sampler_trace_await(&trace, idle, first, (uint64_t)first);
        CHECK(trace.who == busy);
        sonde__sampler_trace_begin(&trace, idle, first, (uint64_t)first, true);
        CHECK(trace.who == busy); /* two are sampled: the first one keeps it */
        trace.stalled = busy;
        sonde__sampler_trace_rest(&trace, busy);
        sonde__sampler_trace_await(&trace, idle, first, (uint64_t)first);
        CHECK(trace.who == NULL); /* it is kept for the one that stalls */
        sonde__sampler_trace_await(&trace, busy, second, (uint64_t)second);
        CHECK(trace.who == busy);
    }
    sonde__sampler_trace_close(&trace);
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
    if (!allowed) {
        SKIP("perf events are refused here");
    }
}

static void pin(pid_t pid, size_t cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    CHECK_OK(sched_setaffinity(pid, sizeof set, &set));
}

/* Two children share one processor, so each lacks one half of the time. */
TEST(a_thread_that_lost_its_processor_is_off)
{
    struct sonde__sampler_trace trace = {0};
    struct sonde__host_switches moves;
    cpu_set_t set;
    size_t cpu = 0;
    CHECK_OK(sched_getaffinity(0, sizeof set, &set));
    while (!CPU_ISSET(cpu, &set)) {
        cpu++;
    }
    pid_t child = start_child(), other = start_child();
    pin(child, cpu);
    pin(other, cpu);
    sonde__sampler_trace_begin(&trace, &trace, child, (uint64_t)child, true);
    bool allowed = trace.tid != 0, was_off = false, was_on = false;
    for (unsigned i = 0; i < 10000 && allowed && !(was_on && was_off); i++) {
        usleep(500);
        bool is_off = sonde__sampler_trace_is_off(&trace, &trace);
        was_off = was_off || is_off;
        was_on = was_on || !is_off;
        (void)sonde__sampler_trace_read(&trace, &trace, sonde__os_now_ns(), NULL, &moves);
    }
    stop_child(child); /* it does not lack a processor */
    bool is_off = sonde__sampler_trace_is_off(&trace, &trace);
    sonde__sampler_trace_close(&trace);
    kill(child, SIGKILL);
    kill(other, SIGKILL);
    waitpid(child, NULL, 0);
    waitpid(other, NULL, 0);
    if (!allowed) {
        SKIP("perf events are refused here");
    }
    CHECK(was_off && was_on && !is_off);
}

struct seen {
    uint64_t last_ns;
    unsigned ticks, inside, called;
};

static bool is_in(uint64_t pc, void (*function)(unsigned))
{
    return pc - (uintptr_t)function < 256;
}

static int see_tick(void *ctx, const struct sonde__host_tick *tick)
{
    struct seen *seen = ctx;
    bool called = is_in(tick->pc, outer);
    CHECK(tick->time_ns >= seen->last_ns);
    CHECK(tick->count > 0 && tick->count <= SONDE__HOST_TICK_WORDS);
    for (uint32_t i = 0; i < tick->count; i++) {
        called = called || is_in(tick->words[i], outer);
    }
    seen->last_ns = tick->time_ns;
    seen->ticks++;
    seen->inside += is_in(tick->pc, work) || is_in(tick->pc, outer);
    seen->called += called;
    return 0;
}

TEST(ticks_show_functions_and_their_callers)
{
    pid_t child = start_child();
    struct sonde__host_perf perf;
    struct sonde__host_switches moves;
    struct seen seen = {0};
    bool allowed =
        sonde__host_perf_open_switches(child, (uint64_t)child, 1000000, &perf, NULL) == SONDE_OK;
    if (allowed) {
        sonde__host_perf_restart(&perf);
        await_cpu(child, 60);
        uint64_t until_ns = sonde__os_now_ns();
        const struct sonde__host_listener listener = {.on_tick = see_tick, .ctx = &seen};
        sonde__host_perf_switches(&perf, until_ns, &moves, &listener);
        sonde__host_perf_close(&perf);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (!allowed) {
        SKIP("perf events are refused here");
    }
    CHECK(seen.ticks >= 30);
    CHECK(seen.inside * 10 >= seen.ticks * 9);
    CHECK(seen.called * 10 >= seen.ticks * 9);
}
