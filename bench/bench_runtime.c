// SPDX-License-Identifier: Apache-2.0
/* Script frames of a Python program: what a read costs us, and what samples cost the program.
 *
 * A sampled thread waits while it is read. Windows with and without samples alternate, and the
 * scheduler's counter tells how long the thread could run and did not. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "os.h"
#include "runtime_private.h"
#include "target_private.h"
#include "target_script.h"

enum { FRAMES = 256, ROUNDS = 9, WINDOW_MS = 1000, START_MS = 500 };

static const char python[] = "/usr/bin/python3";

static const char sleeps_deep[] = "import time\n"
                                  "def f(n):\n"
                                  "    return f(n - 1) if n else time.sleep(1000)\n"
                                  "f(48)\n";

static const char computes[] = "def fib(n):\n"
                               "    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
                               "while True:\n"
                               "    fib(22)\n";

static void sleep_until(uint64_t ns)
{
    const struct timespec until = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static pid_t start(const char *program)
{
    pid_t child = fork();
    if (child == 0) {
        execl(python, python, "-c", program, (char *)NULL);
        _exit(127);
    }
    sleep_until(bench_now_ns() + START_MS * 1000000ull);
    return child;
}

static void end(pid_t child)
{
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* Null: there is no such interpreter, or it cannot be read. */
static struct sonde__target *open_target(pid_t pid)
{
    static const struct sonde__target_options options = {
        .scripts = true, .restricted = true, .ways = SONDE__TARGET_BY_PERF};
    struct sonde__target *target = NULL;
    struct sonde_error error = {0};
    if (pid <= 0 || sonde__target_open_process(pid, &options, &target, &error) != SONDE_OK) {
        bench_note("runtime: no program to read (%s)", error.what);
        return NULL;
    }
    if (!sonde__target_has_script(target)) {
        bench_note("runtime: %s is not an interpreter that can be read", python);
        sonde__target_close(target);
        return NULL;
    }
    return target;
}

/* --- a read --- */

struct read {
    struct sonde__target *target;
    uint64_t tid;
};

static void read_script(void *ctx)
{
    const struct read *read = ctx;
    sonde__target_read_script(read->target, read->tid, NULL);
}

static void print_depth(struct read *read)
{
    const uint64_t *calls = &read->target->scripts.runtime->view.reads;
    uint64_t begin = *calls, begin_ns = bench_now_ns();
    read_script(read);
    bench_print((double)(bench_now_ns() - begin_ns) / 1000, "us", "runtime.python.d50.first.us");
    bench_print((double)(*calls - begin), "calls", "runtime.python.d50.first.calls");
    begin = *calls;
    read_script(read);
    bench_print((double)(*calls - begin), "calls", "runtime.python.d50.calls");
    const struct bench_method method = {"python, 50 frames", read_script, read};
    double ns = 0;
    bench_compare(&method, 1, &ns);
    bench_print(ns / 1000, "us", "runtime.python.d50.us");
    bench_print(sonde__target_script(read->target)->script.count, "frames",
                "runtime.python.d50.frames");
}

static void bench_read(void)
{
    pid_t child = start(sleeps_deep);
    struct read read = {open_target(child), (uint64_t)child};
    if (read.target != NULL) {
        print_depth(&read);
        sonde__target_close(read.target);
    }
    end(child);
}

/* The main thread calls 48 functions, another thread 48 others. */
static const char sleeps_twice[] =
    "import threading, time\n"
    "code = ''\n"
    "for name in 'ab':\n"
    "    for i in range(47):\n"
    "        code += f'def {name}{i}():\\n return {name}{i + 1}()\\n'\n"
    "    code += f'def {name}47():\\n time.sleep(1000)\\n'\n"
    "exec(code)\n"
    "threading.Thread(target=b0, daemon=True).start()\n"
    "a0()\n";

/* Another thread of the process; 0: none. */
static uint64_t other_thread(pid_t pid)
{
    char path[64];
    uint64_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;) {
        uint64_t tid = strtoull(entry->d_name, NULL, 10);
        found = tid != 0 && tid != (uint64_t)pid ? tid : found;
    }
    if (threads != NULL) {
        closedir(threads);
    }
    return found;
}

/* A known interpreter, and a thread all of whose code objects are new. */
static void bench_new_code(void)
{
    pid_t child = start(sleeps_twice);
    struct read read = {open_target(child), (uint64_t)child};
    if (read.target != NULL) {
        const uint64_t *calls = &read.target->scripts.runtime->view.reads;
        const struct sonde__script *script = &sonde__target_script(read.target)->script;
        read_script(&read);
        read.tid = other_thread(child);
        uint64_t begin = *calls, begin_ns = bench_now_ns();
        read_script(&read);
        bench_print((double)(bench_now_ns() - begin_ns) / 1000, "us", "runtime.python.new50.us");
        bench_print((double)(*calls - begin), "calls", "runtime.python.new50.calls");
        bench_print(script->count, "frames", "runtime.python.new50.frames");
        sonde__target_close(read.target);
    }
    end(child);
}

/* --- samples of a running program --- */

struct window {
    double delay_ns, run_ns;
    unsigned samples, joined, apart, torn;
};

static void capture(struct sonde__target *target, uint64_t tid, struct window *window)
{
    uint64_t pcs[FRAMES];
    uint8_t how[FRAMES];
    struct sonde_stack stack = {0};
    struct sonde__capture ret = {0};
    struct sonde__thread thread;
    stack.pcs = pcs;
    stack.how = how;
    stack.capacity = FRAMES;
    if (sonde__target_thread(target, tid, &thread) != SONDE_OK) {
        return;
    }
    sonde__target_capture(target, &thread, &stack, &ret);
    const struct sonde__target_script *script = sonde__target_script(target);
    if (ret.by == SONDE__CAPTURED_PERF) {
        bool is_read = script->script.state == SONDE__SCRIPT_READ;
        window->samples++;
        window->joined += is_read && script->joined;
        window->apart += is_read && !script->joined;
        window->torn += script->script.state == SONDE__SCRIPT_TORN;
    }
}

/* period_ns: 0: no samples */
static void run_window(struct sonde__target *target, uint64_t tid, uint64_t period_ns,
                       struct window *sum)
{
    struct sonde__os_schedstat before, after;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%lu/schedstat", (unsigned long)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t begin_ns = bench_now_ns(), until_ns = begin_ns + WINDOW_MS * 1000000ull;
    if (fd < 0 || sonde__os_read_schedstat(fd, &before, NULL) != SONDE_OK) {
        (void)close(fd);
        return;
    }
    for (uint64_t at = begin_ns; period_ns != 0 && at < until_ns; at += period_ns) {
        sleep_until(at);
        capture(target, tid, sum);
        uint64_t now_ns = bench_now_ns();
        at = now_ns > at + period_ns ? now_ns - period_ns : at;
    }
    sleep_until(until_ns);
    if (sonde__os_read_schedstat(fd, &after, NULL) == SONDE_OK) {
        sum->delay_ns += (double)(after.runqueue_ns - before.runqueue_ns);
        sum->run_ns += (double)(after.cpu_ns - before.cpu_ns);
    }
    (void)close(fd);
}

static void bench_rate(struct sonde__target *target, uint64_t tid, unsigned hz)
{
    struct window alone = {0}, sampled = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_window(target, tid, i % 2 == 0 ? 1000000000u / hz : 0, i % 2 == 0 ? &sampled : &alone);
        run_window(target, tid, i % 2 == 0 ? 0 : 1000000000u / hz, i % 2 == 0 ? &alone : &sampled);
    }
    double samples = sampled.samples, added_ns = sampled.delay_ns - alone.delay_ns;
    if (sampled.samples == 0) {
        bench_note("runtime: no perf sample came");
        return;
    }
    bench_print(samples / ROUNDS * 1000 / WINDOW_MS, "1/s", "runtime.python.hz%u.samples", hz);
    bench_print(added_ns / samples / 1000, "us", "runtime.python.hz%u.waits_us", hz);
    bench_print(100 * added_ns / (sampled.run_ns + sampled.delay_ns), "%",
                "runtime.python.hz%u.slower", hz);
    bench_print(100 * sampled.joined / samples, "%", "runtime.python.hz%u.joined", hz);
    bench_print(100 * sampled.apart / samples, "%", "runtime.python.hz%u.read_later", hz);
    bench_print(100 * sampled.torn / samples, "%", "runtime.python.hz%u.torn", hz);
}

static void bench_samples(void)
{
    pid_t child = start(computes);
    struct sonde__target *target = open_target(child);
    if (target != NULL) {
        bench_rate(target, (uint64_t)child, 66); /* as in a stall */
        bench_rate(target, (uint64_t)child, 1000);
        sonde__target_close(target);
    }
    end(child);
}

/* --- a program of a second and a half, to its end (py-spy's issue 872) --- */

enum { CASE_ROUNDS = 15, CASE_KINDS = 4 };

/* hz: 0: alone. py-spy took 100 samples a second. unread: a perf event without a stack, which
 * wakes nobody: the least that any sampler by perf events costs the program on this machine. */
static const struct kind {
    unsigned hz;
    bool unread;
} kinds[CASE_KINDS] = {{0, false}, {100, false}, {1000, false}, {1000, true}};

static const char works[] = "def fib(n):\n"
                            "    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
                            "fib(35)\n";

static bool has_ended(pid_t child)
{
    siginfo_t ended = {.si_pid = 0};
    (void)waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid != 0;
}

/* A late sample is left out, not made up for. */
static void sample_until_end(pid_t child, unsigned hz, struct window *sum)
{
    struct sonde__target *target = open_target(child);
    uint64_t period_ns = 1000000000u / hz, at = bench_now_ns();
    while (target != NULL && !has_ended(child)) {
        uint64_t now_ns = bench_now_ns();
        at = now_ns > at + period_ns ? now_ns : at + period_ns;
        sleep_until(at);
        capture(target, (uint64_t)child, sum);
    }
    sonde__target_close(target);
}

enum { UNREAD_BYTES = 4096 + (1 << 16), UNREAD_SAMPLE_BYTES = 16 };

/* Returns the memory of the events of one run, or null. */
static struct perf_event_mmap_page *open_unread(pid_t child, unsigned hz, int *ret_fd)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = 1000000000u / hz,
        .sample_type = PERF_SAMPLE_IP,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = UNREAD_BYTES,
    };
    *ret_fd = (int)syscall(SYS_perf_event_open, &attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC);
    void *ring = mmap(NULL, UNREAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
    return ring == MAP_FAILED ? NULL : ring;
}

static void leave_unread(pid_t child, unsigned hz, struct window *sum)
{
    siginfo_t ended;
    int fd;
    struct perf_event_mmap_page *page = open_unread(child, hz, &fd);
    (void)waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT);
    if (page != NULL) {
        sum->samples += (unsigned)(page->data_head / UNREAD_SAMPLE_BYTES);
        munmap(page, UNREAD_BYTES);
    }
    (void)close(fd);
}

struct runs {
    double ms[CASE_ROUNDS], rested[CASE_ROUNDS];
    struct window sum;
};

/* Percent of its time that a program of one thread, which has just ended, had no processor. */
static double rested(pid_t child, double ms)
{
    char path[64];
    double ran_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child);
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%lf", &ran_ns) != 1) {
        ran_ns = NAN;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return 100 * (ms - ran_ns / 1000000) / ms;
}

/* Run it to its end. */
static void run_case(const struct kind *kind, struct runs *runs, unsigned round)
{
    enum { FIRST_NS = 100000000 }; /* the interpreter starts */
    uint64_t begin_ns = bench_now_ns();
    siginfo_t ended;
    pid_t child = fork();
    if (child == 0) {
        execl(python, python, "-c", works, (char *)NULL);
        _exit(127);
    }
    sleep_until(begin_ns + FIRST_NS);
    if (kind->unread) {
        leave_unread(child, kind->hz, &runs->sum);
    } else if (kind->hz != 0) {
        sample_until_end(child, kind->hz, &runs->sum);
    }
    (void)waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT);
    runs->ms[round] = (double)(bench_now_ns() - begin_ns) / 1000000;
    runs->rested[round] = rested(child, runs->ms[round]);
    (void)waitid(P_PID, (id_t)child, &ended, WEXITED);
}

static int compare_double(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(const double values[CASE_ROUNDS])
{
    double sorted[CASE_ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, CASE_ROUNDS, sizeof sorted[0], compare_double);
    return sorted[CASE_ROUNDS / 2];
}

/* A run differs from the next by some percent where other machines share the processor, and slow
 * minutes last longer than a round: so each run is compared with that alone of its round. */
static void print_slower(const char *what, unsigned hz, const double ms[CASE_ROUNDS],
                         const double alone[CASE_ROUNDS])
{
    double slower[CASE_ROUNDS];
    for (unsigned i = 0; i < CASE_ROUNDS; i++) {
        slower[i] = 100 * (ms[i] - alone[i]) / alone[i];
    }
    qsort(slower, CASE_ROUNDS, sizeof slower[0], compare_double);
    bench_print(slower[CASE_ROUNDS / 2], "%", "runtime.python.case872.%s%u.slower", what, hz);
    bench_print(slower[CASE_ROUNDS / 4], "%", "runtime.python.case872.%s%u.slower.quarter", what,
                hz);
    bench_print(slower[CASE_ROUNDS - 1 - CASE_ROUNDS / 4], "%",
                "runtime.python.case872.%s%u.slower.three_quarters", what, hz);
}

static void print_case(const struct kind *kind, const struct runs *runs, const struct runs *alone)
{
    const char *what = kind->unread ? "unread" : "hz";
    const struct window *sum = &runs->sum;
    double samples = sum->samples != 0 ? sum->samples : 1;
    bench_print(median(runs->ms), "ms", "runtime.python.case872.%s%u", what, kind->hz);
    print_slower(what, kind->hz, runs->ms, alone->ms);
    bench_print(median(runs->rested), "%", "runtime.python.case872.%s%u.rested", what, kind->hz);
    bench_print((double)sum->samples / CASE_ROUNDS, "samples",
                "runtime.python.case872.%s%u.samples", what, kind->hz);
    if (!kind->unread) {
        bench_print(100 * sum->joined / samples, "%", "runtime.python.case872.%s%u.joined", what,
                    kind->hz);
    }
}

/* The kinds of runs take turns. */
static void bench_case(void)
{
    struct runs runs[CASE_KINDS] = {{{0}}};
    for (unsigned i = 0; i < CASE_ROUNDS * CASE_KINDS; i++) {
        unsigned kind = i % CASE_KINDS;
        run_case(&kinds[kind], &runs[kind], i / CASE_KINDS);
    }
    bench_print(median(runs[0].ms), "ms", "runtime.python.case872.alone");
    bench_print(median(runs[0].rested), "%", "runtime.python.case872.alone.rested");
    for (unsigned i = 1; i < CASE_KINDS; i++) {
        print_case(&kinds[i], &runs[i], &runs[0]);
    }
    bench_note("runtime: py-spy's issue 872 tells of 7,600 to 23,800 ms for a program of 1,500 ms, "
               "sampled 100 times a second on another machine");
}

int main(void)
{
    bench_read();
    bench_new_code();
    bench_samples();
    bench_case();
    return 0;
}
