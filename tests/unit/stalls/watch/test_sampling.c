// SPDX-License-Identifier: Apache-2.0
/* What a look finds out of a thread that the kernel has sampled since the last one: a child that
 * burns until it is told to wait. Times are the program's own; nothing depends on how long they
 * are. */
#include "watch_sampling.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_clock.h"
#include "host_run.h"
#include "probe_turn.h"
#include "sampler.h"
#include "test.h"
#include "watch_loop.h"
#include "watch_sampler.h"

#define MS 1000000ull

#define PYTHON "/usr/bin/python3"

enum { STEP_NS = 10000000, LOOKS = 8, START_MS = 200 };

struct burner {
    pid_t pid;
    volatile int *waits;     /* shared: 1: it may wait now */
    volatile unsigned *sink; /* likewise */
    int pipe[2];
    bool is_script; /* it burns in Python */
    struct sonde__watch_session *session;
    struct sonde__watch_loop *loop;
};

/* Two samples are hardly ever equal, which would be one: each level is called from one of four
 * places. */
__attribute__((noinline)) static unsigned burn(unsigned path, unsigned levels)
{
    unsigned sum = path;
    for (unsigned i = 0; levels == 0 && i < 200000; i++) {
        sum = sum * 3 + (sum >> 5);
    }
    if (levels == 0) {
        return sum;
    }
    switch (path % 4) {
    case 0:
        return burn(path / 4, levels - 1) + 1;
    case 1:
        return burn(path / 4, levels - 1) * 3;
    case 2:
        return burn(path / 4, levels - 1) ^ 5;
    default:
        return burn(path / 4, levels - 1) - 7;
    }
}

static void burn_or_wait(const struct burner *b)
{
    char c;
    unsigned path = 1;
    if (b->is_script) {
        execl(PYTHON, PYTHON, "-c", "n = 0\nwhile True: n += 1", (char *)NULL);
        _exit(1);
    }
    while (*b->waits == 0) {
        path = path * 1103515245u + 12345u;
        *b->sink = burn(path >> 8, 10);
    }
    (void)!read(b->pipe[0], &c, 1);
    _exit(0);
}

static void look(struct burner *b)
{
    CHECK(sonde__host_look_thread(b->pid, (uint64_t)b->pid, &b->loop->look));
}

static void start_burner(struct burner *b)
{
#if defined(SONDE_EMULATED)
    SKIP("an emulator: threads cannot be read from outside");
#endif
    struct sonde__watch_session *s = calloc(1, sizeof *s);
    struct sonde__watch_loop *loop = &s->loops[0];
    b->waits = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    b->sink = (volatile unsigned *)(b->waits + 1);
    CHECK_EQ(pipe(b->pipe), 0);
    b->pid = fork();
    if (b->pid == 0) {
        burn_or_wait(b);
    }
    b->session = s;
    b->loop = loop;
    s->page = aligned_alloc(128, sizeof *s->page);
    memset(s->page, 0, sizeof *s->page);
    s->pid = b->pid;
    s->sampler_printed = true; /* there is no writer */
    s->options.threshold_ns = loop->threshold_ns = 100 * MS;
    s->options.sampler = SONDE__WATCH_SAMPLER_PERF;
    s->waiter = (struct sonde__host_waiter *)(void *)s; /* a supervisor: it keeps files open */
    loop->slot = &s->page->slots[0];
    loop->tid = (uint32_t)b->pid;
    atomic_store(&loop->slot->tid, loop->tid);
    sonde__decide_init(&loop->decision, loop->threshold_ns);
    loop->decision.since_ns = sonde__host_monotonic_ns() & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    loop->decision.phase = SONDE__DECIDE_SUSPECT;
    loop->decision.sample_ns = loop->decision.apart_ns = STEP_NS;
    atomic_store(&loop->slot->beat, sonde__probe_beat(loop->decision.since_ns, SONDE__PROBE_BUSY));
}

static void end_burner(struct burner *b)
{
    struct sonde__watch_session *s = b->session;
    sonde__sampler_stall_done(&b->loop->stall);
    sonde__sampler_clock_close(&b->loop->clock);
    sonde__host_load_close(&s->load_files);
    sonde__sampler_trace_close(&s->trace);
    if (s->sampler != NULL) {
        sonde__sampler_close(s->sampler);
    }
    free(s->page);
    free(s);
    kill(b->pid, SIGKILL);
    waitpid(b->pid, NULL, 0);
    close(b->pipe[0]);
    close(b->pipe[1]);
    munmap((void *)(uintptr_t)b->waits, 4096);
}

static uint64_t cpu_ns(const struct burner *b)
{
    struct sonde__host_thread_look now = {0};
    CHECK(sonde__host_look_thread(b->pid, (uint64_t)b->pid, &now));
    return now.cpu_ns;
}

/* Let it run for more than the longest time after which the kernel samples it. */
static void let_burn(struct burner *b)
{
    uint64_t until_ns = cpu_ns(b) + (uint64_t)2 * STEP_NS;
    while (cpu_ns(b) < until_ns) {
        usleep(1000);
    }
}

/* A look that takes what there is. Returns when it began. */
static uint64_t take(struct burner *b)
{
    struct sonde__decision *d = &b->loop->decision;
    look(b);
    uint64_t now_ns = sonde__host_monotonic_ns();
    d->counted_ns = now_ns - d->since_ns;
    d->tick_ns = now_ns;
    if (b->loop->stall.count == 0) {
        b->loop->first = b->loop->look;
        b->loop->first_ns = now_ns;
        sonde__watch_begin_sampling(b->session, b->loop, now_ns);
    }
    sonde__watch_take_sample(b->session, b->loop, now_ns);
    return now_ns;
}

static uint8_t way_of(const struct burner *b, uint32_t i)
{
    return b->loop->stall.samples[i].sample.capture.by;
}

static uint64_t time_of(const struct burner *b, uint32_t i)
{
    return b->loop->stall.samples[i].sample.capture.time_ns;
}

/* False: it cannot be read, or perf events are refused here. */
static bool take_first(struct burner *b)
{
    (void)take(b);
    CHECK(b->session->sampler != NULL || b->loop->stall.count == 0);
    bool works = b->loop->stall.count == 1 && way_of(b, 0) == SONDE__CAPTURED_PERF &&
                 b->session->trace.who == b->loop;
    CHECK(works || b->loop->stall.count == 0 || way_of(b, 0) != SONDE__CAPTURED_PERF ||
          b->session->trace.refused);
    return works;
}

/* The kernel took the sample before the look, which takes none then. Where processors are short, a
 * look may be too late for that, or too early; so one of some is enough. */
TEST(a_thread_that_runs_on_is_sampled_before_the_look)
{
    struct burner b = {0};
    unsigned before = 0;
    start_burner(&b);
    if (!take_first(&b)) {
        end_burner(&b);
        SKIP("the child cannot be read, or perf events are refused");
    }
    for (unsigned i = 0; i < LOOKS; i++) {
        uint32_t count = b.loop->stall.count;
        let_burn(&b);
        uint64_t look_ns = take(&b);
        if (b.loop->stall.count > count && way_of(&b, count) == SONDE__CAPTURED_PERF) {
            CHECK(time_of(&b, count) > time_of(&b, count - 1));
            before += time_of(&b, count) < look_ns;
        }
    }
    CHECK(before > 0);
    end_burner(&b);
}

/* It ran for some time, and waits since. Returns whether what it ran is the kernel's sample, and
 * where it waits is a sample of its own. */
static bool is_met_and_waits(struct burner *b)
{
    let_burn(b);
    *b->waits = 1;
    do {
        usleep(1000);
        look(b);
    } while (b->loop->look.state != 'S');
    usleep(STEP_NS / 500); /* the wait is worth a sample */
    uint32_t count = b->loop->stall.count;
    uint64_t look_ns = take(b);
    return b->loop->stall.count == count + 2 && way_of(b, count) == SONDE__CAPTURED_PERF &&
           time_of(b, count) < look_ns && way_of(b, count + 1) == SONDE__CAPTURED_PASSIVE &&
           time_of(b, count + 1) >= look_ns;
}

TEST(the_wait_of_a_thread_that_was_met_is_sampled)
{
    bool found = false;
    for (unsigned i = 0; i < LOOKS && !found; i++) {
        struct burner b = {0};
        start_burner(&b);
        if (!take_first(&b)) {
            end_burner(&b);
            SKIP("the child cannot be read, or perf events are refused");
        }
        found = is_met_and_waits(&b);
        end_burner(&b);
    }
    CHECK(found);
}

/* --- scripts --- */

static void start_python(struct burner *b)
{
    if (access(PYTHON, X_OK) != 0) {
        SKIP("no " PYTHON);
    }
    b->is_script = true;
    start_burner(b);
    while (cpu_ns(b) < START_MS * MS) { /* the interpreter starts */
        usleep(1000);
    }
}

/* The kernel takes its sample before the look, when the functions of the script cannot be read. */
TEST(a_sample_with_its_script_takes_the_place_of_one_without)
{
    struct burner b = {0};
    unsigned read = 0;
    start_python(&b);
    if (!take_first(&b) || !sonde__target_has_script(sonde__sampler_target(b.session->sampler))) {
        end_burner(&b);
        SKIP("the child cannot be read, or perf events are refused");
    }
    const struct sonde__sampler_stall *stall = &b.loop->stall;
    for (unsigned i = 0; i < LOOKS; i++) {
        uint32_t count = stall->count;
        sonde__sampler_expect(b.session->sampler, b.loop->tid, MS, 1);
        let_burn(&b);
        (void)take(&b);
        const struct sonde__sample *last = &stall->samples[stall->count - 1].sample;
        bool is_read = last->script.script.state == SONDE__SCRIPT_READ;
        CHECK(!is_read || stall->count <= count + 1);
        read += is_read;
    }
    CHECK(read > 0);
    end_burner(&b);
}

/* --- looks by the scheduler's records --- */

static void start_to_inspect(struct burner *b, bool awaited)
{
    start_burner(b);
    if (awaited) {
        sonde__sampler_trace_await(&b->session->trace, b->loop, b->pid, b->loop->tid);
    }
    if (!take_first(b)) {
        end_burner(b);
        SKIP("the child cannot be read, or perf events are refused");
    }
    b->session->options.threshold_ns = b->loop->threshold_ns = 3600000 * MS; /* no stall yet */
    b->loop->decision.threshold_ns = b->loop->threshold_ns;
}

/* A look on time. Returns whether it read the whole status of the thread. */
static bool inspect(struct burner *b)
{
    struct sonde__watch_session *s = b->session;
    bool busy = false;
    uint64_t now_ns = sonde__host_monotonic_ns();
    s->before_ns = s->rested_ns = s->woken_ns = s->due_ns = now_ns;
    (void)sonde__watch_loop_inspect(s, b->loop, now_ns, &busy);
    CHECK(busy);
    return b->loop->status_ns == now_ns;
}

/* While it runs, and when it waits. False: there were too many records. */
static bool is_known_by_trace(struct burner *b)
{
    const struct sonde__host_thread_look *latest = &b->loop->latest;
    CHECK(inspect(b)); /* the first one opens the counters */
    let_burn(b);
    if (inspect(b)) {
        return false;
    }
    CHECK_EQ(latest->state, 'R');
    *b->waits = 1;
    struct sonde__host_thread_look now = {0};
    while (now.state != 'S') {
        usleep(1000);
        CHECK(sonde__host_look_thread(b->pid, (uint64_t)b->pid, &now));
    }
    if (inspect(b)) {
        return false;
    }
    CHECK_EQ(latest->state, 'S');
    CHECK_EQ(latest->voluntary, now.voluntary);
    CHECK_EQ(latest->cpu_ns, now.cpu_ns);
    return true;
}

TEST(a_sampled_thread_is_looked_at_by_its_trace)
{
    bool found = false;
    for (unsigned i = 0; i < LOOKS && !found; i++) {
        struct burner b = {0};
        start_to_inspect(&b, false);
        found = is_known_by_trace(&b);
        end_burner(&b);
    }
    CHECK(found);
}

/* It was the trace of a thread that may begin to stall, and is that of a sampled one now. */
TEST(a_trace_that_awaited_the_turn_tells_of_it)
{
    bool found = false;
    for (unsigned i = 0; i < LOOKS && !found; i++) {
        struct burner b = {0};
        const char other = 0;
        start_to_inspect(&b, true);
        found = is_known_by_trace(&b);
        sonde__sampler_trace_begin(&b.session->trace, &other, b.pid, b.loop->tid, true);
        CHECK(b.session->trace.who == b.loop); /* another one that begins leaves it alone */
        end_burner(&b);
    }
    CHECK(found);
}

/* What only the status tells is read once in a while, and as long as a debugger was there. */
TEST(the_trace_does_not_replace_the_status_for_long)
{
    struct burner b = {0};
    start_to_inspect(&b, false);
    CHECK(inspect(&b));
    b.loop->latest.tracer = 1;
    let_burn(&b);
    CHECK(inspect(&b));
    b.loop->threshold_ns = 0;
    let_burn(&b);
    CHECK(inspect(&b));
    end_burner(&b);
}

TEST(only_threads_that_could_run_are_left_out)
{
    CHECK(sonde__sampler_has_time_for('R', 9, 10));
    CHECK(!sonde__sampler_has_time_for('R', 10, 10));
    CHECK(sonde__sampler_has_time_for('S', 10, 10));
    CHECK(sonde__sampler_has_time_for('T', 10, 10));
    CHECK(sonde__sampler_has_time_for('R', UINT64_MAX - 1, UINT64_MAX));
}
