// SPDX-License-Identifier: Apache-2.0
/* What the watch adds to one turn of a known loop: the wrapped epoll_wait compared with libc's own,
 * alternating, in a program with the probe as `sonde run` loads it. The turn itself, without the
 * wrapper and the call, is also shown. Then the calls of a program that watches itself: a
 * heartbeat, a scope (entered and left), a marked wait; and what its watch costs while the program
 * waits: without a scope, and inside a scope with a deadline of a minute. Before all that, what the
 * supervisor of a program that stalls costs; after it, the live file. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench_watch_live.h"
#include "bench_watch_sampler.h"
#include "harness.h"
#include "probe_turn.h"

#include <sonde/scope.h>
#include <sonde/watch.h>

typedef int wait_function(int, struct epoll_event *, int, int);

static struct sonde__probe_page page;
static struct sonde__probe_slot *slot;
static wait_function *libc_wait;
static int epfd;

static void call_libc(void *ctx)
{
    struct epoll_event event;
    (void)ctx;
    (void)libc_wait(epfd, &event, 1, 0);
}

static void call_wrapped(void *ctx)
{
    struct epoll_event event;
    (void)ctx;
    (void)epoll_wait(epfd, &event, 1, 0);
}

enum { OBJECT = 3, PLACE = 0x7000, CALLER = 0x400100, LESSONS = 100 };

static bool is_known(void)
{
    return sonde__probe_knows(slot, SONDE__PROBE_EPOLL, OBJECT, PLACE) &&
           atomic_load_explicit(&slot->stamp, memory_order_relaxed) == SONDE__PROBE_STAMP_NONE;
}

/* Let the slot learn the loop; its supervisor is never late. */
static void learn_loop(void)
{
    struct sonde__probe_wait wait = {.object = OBJECT,
                                     .sp = PLACE,
                                     .caller = CALLER,
                                     .kind = SONDE__PROBE_EPOLL,
                                     .learn = true,
                                     .note = true};
    atomic_store(&page.looked_ns, (uint64_t)INT64_MAX / 2);
    slot = sonde__probe_claim(&page, 1);
    for (unsigned i = 0; i < LESSONS; i++) {
        wait.now_ns += 1000;
        (void)sonde__probe_enter_any(slot, &wait);
        sonde__probe_leave_any(slot, wait.now_ns);
    }
}

/* What the wrapper does before and after a wait of a known loop (preload.h). */
static void turn(void *ctx)
{
    struct timespec now;
    (void)ctx;
    if (!is_known()) {
        return;
    }
    (void)sonde__probe_enter_known(slot, false);
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (sonde__probe_must_check(&page, slot, now_ns)) {
        sonde__probe_check(&page, slot, now_ns);
    }
    sonde__probe_leave(slot, now_ns);
    bench_keep(sonde__probe_must_wake(&page) ? slot : NULL);
}

/* The clock that each turn reads once. */
static void clock_only(void *ctx)
{
    struct timespec now;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    bench_keep(&now);
}

/* Start this program again as `sonde run` would. */
static void start_with_probe(char *self)
{
    char preload[4096], number[16], place[32];
    char *argv[] = {self, place, NULL};
    int fd = memfd_create("bench", 0);
    struct sonde__probe_page *shared;
    snprintf(preload, sizeof preload, "%s", self);
    char *slash = strrchr(preload, '/');
    if (fd < 0 || slash == NULL || ftruncate(fd, sizeof *shared) != 0) {
        return;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) {
        return;
    }
    shared->version = SONDE__PROBE_VERSION;
    shared->slot_count = SONDE__PROBE_SLOTS;
    shared->long_ns = 250000000;
    shared->late_ns = 60000000;
    atomic_store(&shared->looked_ns, (uint64_t)INT64_MAX / 2); /* a supervisor that is never late */
    snprintf(slash, sizeof preload - (size_t)(slash - preload), "/../preload/libsonde-preload.so");
    snprintf(number, sizeof number, "%d", fd);
    unsetenv("LD_PRELOAD"); /* both go to the end, in this order */
    unsetenv("SONDE_RUN_PAGE");
    setenv("SONDE_RUN_PAGE", number, 1);
    setenv("LD_PRELOAD", preload, 1);
    snprintf(place, sizeof place, "%d", dup(fd)); /* the probe closes this one */
    execv(self, argv);
}

/* Turns that the probe has counted, to check that it knows the loop. */
static uint64_t turns_of(const struct sonde__probe_page *shared)
{
    uint64_t turns = 0;
    for (unsigned i = 0; shared != NULL && i < SONDE__PROBE_SLOTS; i++) {
        turns += atomic_load(&shared->slots[i].turns);
    }
    return turns;
}

static void measure(bool probed, const struct sonde__probe_page *shared, const char *key)
{
    const struct bench_method methods[] = {
        {"libc", libc_wait != NULL ? call_libc : NULL, NULL},
        {"wrapped", probed ? call_wrapped : NULL, NULL},
        {"turn", turn, NULL},
        {"clock", clock_only, NULL},
    };
    double ns[4];
    bench_compare(methods, 4, ns);
    bench_print(ns[3], "ns", "%s.clock_ns", key);
    if (is_known()) {
        bench_print(ns[2], "ns", "%s.inner_ns", key);
    } else {
        bench_note("watch.turn.inner_ns: the slot does not know the loop");
    }
    if (probed && turns_of(shared) < 1000) {
        bench_note("watch.turn.added_ns: the probe does not know the loop");
    } else if (probed) {
        bench_print(ns[0], "ns", "%s.epoll_wait_ns", key);
        bench_print(ns[1] - ns[0], "ns", "%s.added_ns", key);
    } else {
        bench_note("watch.turn.added_ns: the probe was not loaded");
    }
}

static void beat(void *ctx)
{
    (void)ctx;
    sonde_beat();
}

static void scope(void *ctx)
{
    (void)ctx;
    sonde_scope_leave(sonde_scope_enter("bench", 1000000000));
}

static void idle(void *ctx)
{
    (void)ctx;
    sonde_idle_enter();
    sonde_idle_leave();
}

static void ignore_stall(void *ctx, const struct sonde_stall *stall)
{
    (void)ctx;
    (void)stall;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The program waits, so all of its CPU time and wake-ups are the watch's but one of our own. */
static void measure_waiting(const char *key)
{
    enum { WAIT_S = 5 };
    struct rusage before, after;
    sleep(WAIT_S); /* the watch falls asleep after two seconds, if it may */
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), from_ns = clock_ns(CLOCK_MONOTONIC);
    getrusage(RUSAGE_SELF, &before);
    sleep(WAIT_S);
    getrusage(RUSAGE_SELF, &after);
    double lasted_ns = (double)(clock_ns(CLOCK_MONOTONIC) - from_ns);
    cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    bench_print(100.0 * (double)cpu_ns / lasted_ns, "percent", "watch.%s.cpu", key);
    bench_print((double)(after.ru_nvcsw - before.ru_nvcsw - 1) * 1e9 / lasted_ns, "per_s",
                "watch.%s.wakeups", key);
}

/* With the default threshold, which decides how often the watch looks. */
static void measure_cost(void)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .on_stall = ignore_stall};
    struct sonde_watch *watch;
    struct sonde_error error;
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK) {
        bench_note("watch.waiting.cpu: %s", error.what);
        return;
    }
    sonde_idle_enter();
    measure_waiting("waiting");
    uint32_t entered = sonde_scope_enter("bench", 60000000000u);
    measure_waiting("in_a_scope_of_60_s");
    sonde_scope_leave(entered);
    sonde_watch_stop(watch);
}

static void measure_inside(void)
{
    static const char *const keys[] = {"beat", "scope", "idle"};
    const struct bench_method methods[] = {
        {"beat", beat, NULL}, {"scope", scope, NULL}, {"idle", idle, NULL}};
    const struct sonde_watch_options options = {
        .struct_bytes = sizeof options, .threshold_ns = 1000000000, .on_stall = ignore_stall};
    struct sonde_watch *watch;
    struct sonde_error error;
    double ns[3];
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK) {
        bench_note("watch.beat.ns: %s", error.what);
        return;
    }
    bench_compare(methods, 3, ns);
    sonde_idle_enter();
    sonde_watch_stop(watch);
    for (unsigned i = 0; i < 3; i++) {
        bench_print(ns[i], "ns", "watch.%s.ns", keys[i]);
    }
}

/* Once a process has had a second thread, its waits can be cancelled for good. */
static void *do_nothing(void *ctx)
{
    return ctx;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    static char self[4000];
    struct sonde__probe_page *shared = NULL;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (argc > 2) {
        bench_watch_stall(argv[2]);
        return 1;
    }
    if (argc < 2 && n > 0) {
        self[n] = '\0';
        bench_watch_sampler(self);
        start_with_probe(self);
    }
    if (argc > 1) {
        shared = mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, atoi(argv[1]), 0);
        shared = shared == MAP_FAILED ? NULL : shared;
    }
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    libc_wait = libc != NULL ? (wait_function *)(uintptr_t)dlsym(libc, "epoll_wait") : NULL;
    bool probed = libc_wait != NULL && libc_wait != epoll_wait;
    epfd = epoll_create1(EPOLL_CLOEXEC);
    learn_loop();
    measure(probed, shared, "watch.turn");
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) {
        pthread_join(thread, NULL);
        measure(probed, shared, "watch.turn.after_threads");
    }
    measure_inside();
    measure_cost();
    bench_watch_live();
    return 0;
}
