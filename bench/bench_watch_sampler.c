// SPDX-License-Identifier: Apache-2.0
/* `sonde run` beside a program that stalls for 0.6 s in each second, in phases of 60 ms: the CPU
 * time of the thread that looks and samples, and that of the whole supervisor, which also writes
 * the report. The program naps, so that each sample is a new one, or burns. */
#include "bench_watch_sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

extern char **environ;

/* The sampler has a reserve for three seconds, which must be used up before it is measured. */
enum { WARM_S = 6, MEASURE_S = 20, PHASE_MS = 60, PHASES = 10, WAIT_MS = 20, WAITS = 20 };

/* --- the program --- */

static volatile unsigned sink;

static void nap_or_burn(bool burns, uint64_t until_ns)
{
    const struct timespec nap = {0, 2000000};
    while (bench_now_ns() < until_ns) {
        for (unsigned i = 0; i < 10000; i++) {
            sink += i;
        }
        if (!burns) {
            nanosleep(&nap, NULL);
        }
    }
}

/* No two of them may be folded into one. */
#define PHASE(letter)                                                                              \
    __attribute__((noinline)) static void phase_##letter(bool burns, uint64_t until_ns)            \
    {                                                                                              \
        __asm__ volatile("# " #letter);                                                            \
        nap_or_burn(burns, until_ns);                                                              \
        sink++;                                                                                    \
    }
PHASE(a)
PHASE(b)

void bench_watch_stall(const char *kind)
{
    int own[2];
    bool burns = strcmp(kind, "burning") == 0;
    if (pipe(own) != 0) {
        return;
    }
    for (;;) {
        struct pollfd wait = {own[0], POLLIN, 0};
        for (unsigned i = 0; i < WAITS; i++) {
            (void)poll(&wait, 1, WAIT_MS);
        }
        for (unsigned i = 0; i < PHASES; i++) {
            uint64_t until_ns = bench_now_ns() + PHASE_MS * 1000000ull;
            (i % 2 == 0 ? phase_a : phase_b)(burns, until_ns);
        }
    }
}

/* --- its supervisor --- */

static bool is_supervisor(const char *pid, const char *report)
{
    char path[300], name[32] = "", words[8192] = "";
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "r");
    bool is = file != NULL && fgets(name, sizeof name, file) != NULL &&
              strcmp(name, "sonde-watch\n") == 0;
    if (file != NULL) {
        fclose(file);
    }
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    file = is ? fopen(path, "r") : NULL;
    if (file != NULL) {
        size = fread(words, 1, sizeof words - 1, file);
        fclose(file);
    }
    return size > 0 && memmem(words, size, report, strlen(report)) != NULL;
}

static long find_supervisor(const char *report)
{
    DIR *processes = opendir("/proc");
    long pid = 0;
    for (struct dirent *e; processes != NULL && pid == 0 && (e = readdir(processes)) != NULL;) {
        pid = is_supervisor(e->d_name, report) ? strtol(e->d_name, NULL, 10) : 0;
    }
    if (processes != NULL) {
        closedir(processes);
    }
    return pid;
}

static double thread_ns(long pid, const char *tid)
{
    char path[300];
    double ns = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%s/schedstat", pid, tid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        ns = fscanf(file, "%lf", &ns) == 1 ? ns : 0;
        fclose(file);
    }
    return ns;
}

/* CPU time of the first thread, which samples, and of all. */
static void read_cpu(long pid, double ret_ns[2])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *threads = opendir(path);
    ret_ns[0] = ret_ns[1] = 0;
    for (struct dirent *e; threads != NULL && (e = readdir(threads)) != NULL;) {
        double ns = e->d_name[0] != '.' ? thread_ns(pid, e->d_name) : 0;
        ret_ns[0] += strtol(e->d_name, NULL, 10) == pid ? ns : 0;
        ret_ns[1] += ns;
    }
    if (threads != NULL) {
        closedir(threads);
    }
}

static pid_t start(const char *self, const char *kind, const char *report)
{
    char sonde[4096], to[300];
    pid_t pid = 0;
    posix_spawn_file_actions_t actions;
    snprintf(sonde, sizeof sonde, "%s", self);
    char *slash = strrchr(sonde, '/');
    if (slash == NULL || (size_t)(slash - sonde) > sizeof sonde - 32) {
        return 0;
    }
    strcpy(slash, "/../cli/sonde");
    snprintf(to, sizeof to, "--report=%s", report);
    const char *const argv[] = {sonde, "run", "--stall=150ms", to, "--", self, "stall", kind, NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&pid, sonde, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? pid : 0;
}

static void measure(const char *self, const char *kind)
{
    char report[] = "/tmp/sonde-bench-XXXXXX";
    double before[2], after[2];
    int fd = mkstemp(report);
    pid_t pid = fd >= 0 ? start(self, kind, report) : 0;
    if (pid == 0) {
        bench_note("watch.sampler.%s.pct: the program cannot be started", kind);
        return;
    }
    sleep(WARM_S);
    long supervisor = find_supervisor(report);
    double from_ns = (double)bench_now_ns();
    read_cpu(supervisor, before);
    sleep(MEASURE_S);
    read_cpu(supervisor, after);
    double lasted_ns = (double)bench_now_ns() - from_ns;
    if (supervisor != 0 && after[0] > before[0]) {
        bench_print(100 * (after[0] - before[0]) / lasted_ns, "percent", "watch.sampler.%s.pct",
                    kind);
        bench_print(100 * (after[1] - before[1]) / lasted_ns, "percent", "watch.sampler.%s.all.pct",
                    kind);
    } else {
        bench_note("watch.sampler.%s.pct: no supervisor was found", kind);
    }
    kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
    (void)unlink(report);
    close(fd);
}

void bench_watch_sampler(const char *self)
{
    measure(self, "naps");
    measure(self, "burning");
}
