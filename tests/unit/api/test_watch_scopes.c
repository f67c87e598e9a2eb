// SPDX-License-Identifier: Apache-2.0
/* Heartbeats and scopes of the watch inside the program: injected ones are reported with their
 * label. unit_watch tests the decisions in virtual time. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sonde/scope.h>

#include "test.h"
#include "watches.h"

TIMED_TEST(a_missing_heartbeat_is_reported, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 100 * MS, -1);
    for (unsigned i = 0; i < 40 && told.count == 0; i++) {
        for (unsigned beat = 0; beat < 20; beat++) {
            sonde_beat();
            poll(NULL, 0, 2);
        }
        sonde_beat();
        watch_test_burns(400 * MS);
        sonde_beat();
        poll(NULL, 0, 50);
    }
    sonde_idle_enter();
    sonde_watch_stop(watch);
    CHECK(told.count > 0);
    CHECK_CONTAINS(told.text, "watch_test_burns");
    CHECK_CONTAINS(told.text, "heartbeat of the program, first at ");
    CHECK_EQ(told.last.tid, syscall(SYS_gettid));
    CHECK_EQ(told.last.kind, SONDE_STALL_LOOP);
    CHECK(told.last.duration_ns >= 100 * MS);
    CHECK(told.last.duration_ns < 2000 * MS);
    free(told.text);
}

static void stall_in_scopes(uint64_t limit_ns)
{
    SONDE_SCOPE("outer work", 60000 * MS);
    uint32_t inner = sonde_scope_enter("inner work", limit_ns);
    watch_test_blocks(400 * MS);
    sonde_scope_leave(inner);
}

TEST_TIMEOUT(a_passed_deadline_is_reported_with_its_label, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 250 * MS, -1);
    for (unsigned i = 0; i < 40 && told.count == 0; i++) {
        stall_in_scopes(100 * MS);
        poll(NULL, 0, 50);
    }
    sonde_watch_stop(watch);
    CHECK(told.count > 0);
    CHECK_EQ(told.last.kind, SONDE_STALL_SCOPE);
    CHECK_CONTAINS(told.text,
                   "scope \"inner work\", limit 100 ms, in \"outer work\", limit 60000 ms");
    CHECK_CONTAINS(told.text, "watch_test_blocks");
    CHECK_CONTAINS(told.text, "stall_in_scopes");
    CHECK_EQ(told.last.tid, syscall(SYS_gettid));
    free(told.text);
}

/* An idle watch sleeps for good; a scope wakes it. */
TEST_TIMEOUT(a_scope_after_a_long_idle_is_reported, 60)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 250 * MS, -1);
    poll(NULL, 0, 3000);
    for (unsigned i = 0; i < 40 && told.count == 0; i++) {
        stall_in_scopes(100 * MS);
        poll(NULL, 0, 50);
    }
    sonde_watch_stop(watch);
    CHECK(told.count > 0);
    free(told.text);
}

TEST(scopes_within_their_limits_and_ignored_ones_are_not_reported)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 250 * MS, -1);
    for (unsigned i = 0; i < 100; i++) {
        uint32_t scope = sonde_scope_enter("quick", 10000 * MS);
        uint32_t nested = sonde_scope_enter("quicker", 10000 * MS);
        poll(NULL, 0, (int)(i % 3));
        sonde_scope_leave(nested);
        sonde_scope_leave(scope);
    }
    uint32_t slow = sonde_scope_enter("asks the user", 20 * MS);
    sonde_scope_ignore();
    poll(NULL, 0, 300);
    sonde_scope_leave(slow);
    sonde_watch_stop(watch);
    CHECK_EQ(told.count, 0);
}

static jmp_buf back;

static void jump_out(unsigned depth)
{
    for (unsigned i = 0; i < depth; i++) {
        (void)!sonde_scope_enter("left by a jump", 10000 * MS);
    }
    longjmp(back, 1);
}

/* Deeper than scopes are timed, left all at once, a thousand times. */
TEST(scopes_that_a_jump_skips_are_left)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 250 * MS, -1);
    for (volatile unsigned i = 0; i < 1000; i++) {
        uint32_t scope = sonde_scope_enter("jumps", 10000 * MS);
        CHECK_EQ(scope, 1);
        if (setjmp(back) == 0) {
            jump_out(SONDE_SCOPE_LEVELS + 3);
        }
        sonde_scope_leave(scope);
    }
    sonde_watch_stop(watch);
    CHECK_EQ(told.count, 0);
}

TEST(without_a_watch_scopes_do_nothing)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    uint32_t before = sonde_scope_enter("before", 20 * MS);
    sonde_beat();
    sonde_scope_ignore();
    CHECK_EQ(before, 0);
    for (unsigned i = 0; i < 20; i++) { /* entered under one watch, left under none */
        struct sonde_watch *watch = start(&told, 250 * MS, -1);
        uint32_t scope = sonde_scope_enter("watched", 10000 * MS);
        CHECK_EQ(scope, 1);
        sonde_watch_stop(watch);
        sonde_scope_leave(scope);
    }
    sonde_scope_leave(before);
    CHECK_EQ(told.count, 0);
}

static void *work_in_scopes(void *stop)
{
    while (*(_Atomic unsigned *)stop == 0) {
        SONDE_SCOPE("work", 10000 * MS);
        poll(NULL, 0, 1);
    }
    return NULL;
}

static void *work_once(void *arg)
{
    SONDE_SCOPE("once", 10000 * MS);
    return arg;
}

/* More threads than slots, one after the other, while watches start and stop. */
TEST_TIMEOUT(threads_with_scopes_come_and_go, 120)
{
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    _Atomic unsigned stop = 0;
    pthread_t workers[4], brief;
    for (unsigned i = 0; i < 4; i++) {
        CHECK_OK(pthread_create(&workers[i], NULL, work_in_scopes, &stop));
    }
    for (unsigned watches = 0; watches < 10; watches++) {
        struct sonde_watch *watch = start(&told, 2000 * MS, -1);
        for (unsigned i = 0; i < 40; i++) {
            CHECK_OK(pthread_create(&brief, NULL, work_once, NULL));
            CHECK_OK(pthread_join(brief, NULL));
        }
        sonde_watch_stop(watch);
    }
    stop = 1;
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(workers[i], NULL);
    }
    CHECK_EQ(told.count, 0);
}

/* A thread keeps its place while it lives. */
static void *hold_a_place(void *barrier)
{
    uint32_t scope = sonde_scope_enter("holds a place", 10000 * MS);
    pthread_barrier_wait(barrier);
    sonde_scope_leave(scope);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void take_all_places(void)
{
    enum { THREADS = 258 }; /* two more than there are places */
    static pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, hold_a_place, &barrier));
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
    }
    pthread_barrier_destroy(&barrier);
}

TEST_TIMEOUT(scopes_without_a_deadline_are_counted_in_the_report, 120)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/report", test_folder());
    int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct sonde_watch *watch = start(&told, 2000 * MS, fd);
    for (unsigned i = 0; i < SONDE_SCOPE_LEVELS + 3; i++) {
        CHECK_EQ(sonde_scope_enter("nested", 10000 * MS), i + 1);
    }
    sonde_scope_leave(1);
    sonde_scope_leave(sonde_scope_enter("within", 10000 * MS));
    take_all_places();
    sonde_watch_stop(watch);
    close(fd);
    char *text = watches_show_report(path);
    CHECK_CONTAINS(text, "note: 3 scopes had no deadline: nested deeper than 8 levels\n");
    CHECK_CONTAINS(text, "times the scopes of a thread had no deadline: there are 256 places");
    free(text);
}
