// SPDX-License-Identifier: Apache-2.0
/* The watch inside the program: it reports injected stalls with the injected function, and none for
 * loops that wait or are quick. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/report.h>
#include <sonde/watch.h>

#include "test.h"
#include "watches.h"

static void tell_of(void (*stall)(uint64_t for_ns), const char *name)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    stall_until_told(&told, stall);
    sonde_watch_stop(watch);
    CHECK_CONTAINS(told.text, name);
    CHECK_CONTAINS(told.text, "marked by the program, first at ");
    CHECK_EQ(told.last.tid, syscall(SYS_gettid));
    CHECK(told.last.duration_ns >= 100 * MS);
    CHECK(told.last.duration_ns < 60000 * MS);
    CHECK_EQ(told.last.open, 0);
    CHECK(told.last.turns < 40); /* one turn per try */
    if (stall == watch_test_burns) {
        CHECK(told.last.cpu_ns > 0);
    }
    free(told.text);
}

TEST_TIMEOUT(burning_loop_is_reported, 60)
{
    tell_of(watch_test_burns, "watch_test_burns");
}
TEST_TIMEOUT(blocked_loop_is_reported, 60)
{
    tell_of(watch_test_blocks, "watch_test_blocks");
}

static void refuse_perf_events(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        SKIP("no system call filter can be set");
    }
}

/* As in most containers: a signal asks the running thread, and the text says so. */
TEST_TIMEOUT(burning_loop_is_reported_without_perf_events, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    refuse_perf_events();
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    stall_until_told(&told, watch_test_burns);
    sonde_watch_stop(watch);
    CHECK_CONTAINS(told.text, "watch_test_burns");
    CHECK_CONTAINS(told.text, "passive, a signal while running");
    free(told.text);
}

TEST(idle_and_quick_loops_are_not)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 250 * MS, -1);
    wait_idle(0);
    for (unsigned i = 0; i < 300; i++) {
        wait_idle(i % 3 != 0);
    }
    wait_idle(800); /* much longer than the threshold */
    sonde_idle_enter();
    sonde_idle_enter(); /* one enter too many is harmless */
    sonde_watch_stop(watch);
    CHECK_EQ(told.count, 0);
}

enum { STOPPED_MS = 800, NAPS = 9, NAP_MS = 100 };

/* Stop the process once, with the watch in it. Returns the child that does it. */
static pid_t stop_for_a_while(void)
{
    pid_t process = getpid(), child = fork();
    if (child == 0) {
        usleep(300000);
        (void)kill(process, SIGSTOP);
        usleep(STOPPED_MS * 1000);
        (void)kill(process, SIGCONT);
        _exit(0);
    }
    CHECK(child > 0);
    return child;
}

/* Returns at most how long the turn was without the stop. */
static uint64_t turn_around_a_stop(void)
{
    uint64_t begin_ns = watches_now_ns();
    pid_t child = stop_for_a_while();
    for (unsigned i = 0; i < NAPS; i++) {
        usleep(NAP_MS * 1000);
    }
    CHECK_EQ(waitpid(child, NULL, 0), child);
    return watches_now_ns() - begin_ns - STOPPED_MS * MS;
}

/* No look sees a stop that stops the watch, too. A turn is only judged if it was short: where
 * processors are short it may last longer than the threshold. */
TEST_TIMEOUT(the_first_stop_of_the_program_is_no_stall, 120)
{
    bool judged = false;
    for (unsigned tries = 0; !judged && tries < 20; tries++) {
        struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
        struct sonde_watch *watch = start(&told, 1000 * MS, -1);
        wait_idle(1);
        judged = turn_around_a_stop() < 980 * MS;
        wait_idle(1);
        sonde_watch_stop(watch);
        CHECK(!judged || told.count == 0);
        free(told.text);
    }
    CHECK(judged);
}

/* After two seconds the watch sleeps for good, until a mark wakes it. */
TEST_TIMEOUT(stall_after_a_long_idle_is_reported, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    wait_idle(3000);
    stall_until_told(&told, watch_test_blocks);
    sonde_watch_stop(watch);
    CHECK_CONTAINS(told.text, "watch_test_blocks");
    free(told.text);
}

TEST_TIMEOUT(unfinished_stall_is_reported_at_stop, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    unsigned tries = 0;
    for (; tries < 20 && (told.count == 0 || told.last.open == 0); tries++) {
        struct sonde_watch *watch = start(&told, 100 * MS, -1);
        wait_idle(1);
        watch_test_blocks(500 * MS);
        sonde_watch_stop(watch);
    }
    CHECK(tries < 20);
    CHECK_CONTAINS(told.text, "and not over");
    free(told.text);
}

struct gate {
    pthread_mutex_t lock;
    _Atomic unsigned told;
    _Atomic uint64_t shortest_ns;
};

static void tell_at_the_gate(void *ctx, const struct sonde_stall *stall)
{
    struct gate *gate = ctx;
    pthread_mutex_lock(&gate->lock);
    gate->told++;
    if (stall->duration_ns < gate->shortest_ns) {
        gate->shortest_ns = stall->duration_ns;
    }
    pthread_mutex_unlock(&gate->lock);
}

/* The callback of the first stall returns after the last stall: nothing waits for it. */
TEST_TIMEOUT(stalls_while_an_earlier_one_is_told, 60)
{
    enum { STALLS = 10 };
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .shortest_ns = UINT64_MAX};
    struct sonde_watch *watch = NULL;
    struct sonde_error error = {0};
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = 100 * MS,
                                                .on_stall = tell_at_the_gate,
                                                .ctx = &gate};
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK) {
        SKIP("%s", error.what);
    }
    pthread_mutex_lock(&gate.lock);
    wait_idle(1);
    for (unsigned i = 0; i < STALLS; i++) {
        watch_test_blocks(300 * MS);
        wait_idle(50);
    }
    sonde_idle_enter();
    pthread_mutex_unlock(&gate.lock);
    sonde_watch_stop(watch);
    CHECK_EQ(gate.told, STALLS);
    CHECK(gate.shortest_ns >= 100 * MS);
}

/* The loop's turn began before this watch started. */
TEST(turn_of_an_earlier_watch_is_ignored)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    wait_idle(1);
    sonde_watch_stop(watch);
    CHECK_EQ(told.count, 0);
    watch = start(&told, 100 * MS, -1);
    watch_test_blocks(400 * MS);
    sonde_idle_enter();
    sonde_watch_stop(watch);
    CHECK_EQ(told.count, 0);
}

TEST_TIMEOUT(report_is_readable, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    char path[4096];
    snprintf(path, sizeof path, "%s/report", test_folder());
    int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    struct sonde_watch *watch = start(&told, 100 * MS, fd);
    stall_until_told(&told, watch_test_burns);
    stall_until_told(&told, watch_test_blocks);
    sonde_watch_stop(watch);
    close(fd);
    size_t size;
    char *text = watches_show_report(path), *bytes = test_read_file(path, &size);
    CHECK(memmem(bytes, size, "lab-9", 5) != NULL); /* texts do not show the device */
    free(bytes);
    CHECK_CONTAINS(text, "build 7.1");
    CHECK_CONTAINS(text, "watch_test_burns");
    CHECK_CONTAINS(text, "watch_test_blocks");
    CHECK_CONTAINS(text, "watch_test_inlined"); /* with file and line */
    CHECK_CONTAINS(text, "watches.c:");
    CHECK_CONTAINS(text, "stall 2: ");
    CHECK(strstr(text, "sonde-watch") == NULL); /* no snapshot includes the watch's threads */
    CHECK(strstr(text, "sonde-writer") == NULL);
    CHECK_CONTAINS(told.text, "stall "); /* with the same numbers */
    free(text);
    free(told.text);
}

TEST(broken_pipe_of_the_report_harms_nobody)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    int ends[2];
    CHECK_OK(pipe2(ends, O_CLOEXEC));
    close(ends[0]);
    sonde_watch_stop(start(&told, 100 * MS, ends[1]));
    close(ends[1]);
}

TEST_TIMEOUT(a_hundred_watches, 120)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    for (unsigned i = 0; i < 100; i++) {
        struct sonde_watch *watch = start(&told, 0, -1);
        wait_idle(0);
        sonde_idle_enter();
        sonde_watch_stop(watch);
    }
    CHECK_EQ(told.count, 0);
}

TEST(one_watch_at_a_time)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                          .on_stall = watches_on_stall};
    struct sonde_watch *first = start(&told, 0, -1), *second = NULL;
    struct sonde_error error = {0};
    CHECK_EQ(sonde_watch_start(&options, &second, &error), SONDE_BUSY);
    CHECK_EQ(error.status, SONDE_BUSY);
    CHECK(second == NULL);
    sonde_watch_stop(first);
    options.on_stall = NULL;
    CHECK_EQ(sonde_watch_start(&options, &second, &error), SONDE_USAGE); /* no callback */
    options.on_stall = watches_on_stall;
    options.threshold_ns = 1000;
    CHECK_EQ(sonde_watch_start(&options, &second, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_watch_start(NULL, &second, &error), SONDE_USAGE);
    options.threshold_ns = 0;
    options.ctx = &told;
    CHECK_OK(sonde_watch_start(&options, &second, &error));
    sonde_watch_stop(second);
    sonde_watch_stop(NULL);
}

/* A fork child has no watch until it starts one. */
TEST_TIMEOUT(fork_child, 120)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    int status = -1;
    wait_idle(1);
    pid_t child = fork();
    if (child == 0) {
        wait_idle(1);
        watch_test_blocks(300 * MS);
        if (!CAN_START_IN_CHILD) {
            sonde_watch_stop(watch);
            _exit(told.count == 0 ? 0 : 1);
        }
        struct sonde_watch *own = start(&told, 100 * MS, -1);
        sonde_watch_stop(watch); /* the parent's watch: no effect */
        stall_until_told(&told, watch_test_blocks);
        sonde_watch_stop(own);
        _exit(told.last.tid == (uint64_t)getpid() && strstr(told.text, "watch_test_blocks") != NULL
                  ? 0
                  : 1);
    }
    sonde_idle_enter();
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(told.count, 0);
    stall_until_told(&told, watch_test_blocks);
    sonde_watch_stop(watch);
    free(told.text);
}

static void *short_loop(void *busy)
{
    wait_idle(0);
    if (busy == NULL) {
        sonde_idle_enter();
    }
    return NULL;
}

static void run_short_loops(unsigned count, void *busy)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        CHECK_OK(pthread_create(&thread, NULL, short_loop, busy));
        CHECK_OK(pthread_join(thread, NULL));
    }
}

/* More threads than slots, one after the other; they end while idle, or in a turn. */
TEST_TIMEOUT(threads_that_ended_make_room, 120)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    run_short_loops(300, NULL);
    run_short_loops(200, &told);
    stall_until_told(&told, watch_test_blocks);
    sonde_watch_stop(watch);
    CHECK_EQ(told.last.tid, syscall(SYS_gettid));
    free(told.text);
}

struct many {
    _Atomic unsigned ready, stop;
};

static void *loop_of_many(void *arg)
{
    struct many *many = arg;
    many->ready++;
    while (many->stop == 0) {
        wait_idle(1);
    }
    sonde_idle_enter();
    return NULL;
}

/* Watches start and stop while loops run. */
TEST_TIMEOUT(marks_while_watches_come_and_go, 120)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct many many = {0};
    pthread_t threads[8];
    for (unsigned i = 0; i < 8; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, loop_of_many, &many));
    }
    for (unsigned i = 0; i < 20; i++) {
        struct sonde_watch *watch = start(&told, 2000 * MS, -1);
        poll(NULL, 0, 10);
        sonde_watch_stop(watch);
    }
    many.stop = 1;
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(told.count, 0);
}
