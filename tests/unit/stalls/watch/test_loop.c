// SPDX-License-Identifier: Apache-2.0
/* What a look at a thread of this process tells the account of its turn. The times of turns and
 * looks are the test's. */
#include "watch_loop.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_clock.h"
#include "host_run.h"
#include "probe_turn.h"
#include "test.h"

#define MS      1000000ull
#define TURN_NS (100 * MS)

/* A loop of thread `tid`, which no look has seen. The threshold is so long that nothing is due. */
static struct sonde__watch_session *make_session(uint32_t tid)
{
    struct sonde__watch_session *s = calloc(1, sizeof *s);
    struct sonde__watch_loop *loop = &s->loops[0];
    s->options.threshold_ns = loop->threshold_ns = 60000 * MS;
    s->page = aligned_alloc(128, sizeof *s->page);
    memset(s->page, 0, sizeof *s->page);
    s->pid = getpid();
    s->waiter = (struct sonde__host_waiter *)(void *)s; /* a supervisor: it keeps files open */
    loop->slot = &s->page->slots[0];
    atomic_store(&loop->slot->tid, tid);
    return s;
}

/* The first look reads the thread's counters, the second one is in a turn, after TURN_NS of it. */
static void look_twice(struct sonde__watch_session *s)
{
    struct sonde__watch_loop *loop = &s->loops[0];
    bool busy = false;
    uint64_t begin_ns = sonde__host_monotonic_ns();
    atomic_store(&loop->slot->turns, 1);
    (void)sonde__watch_loop_inspect(s, loop, begin_ns, &busy);
    CHECK(!busy);
    atomic_store(&loop->slot->beat, sonde__probe_beat(begin_ns, SONDE__PROBE_BUSY));
    (void)sonde__watch_loop_inspect(s, loop, begin_ns + TURN_NS, &busy);
    CHECK(busy);
}

static void done(struct sonde__watch_session *s)
{
    sonde__sampler_clock_close(&s->loops[0].clock);
    free(s->page);
    free(s);
}

/* It runs now, but most of its turn is in no counter: the kernel counts a wait for a processor when
 * it ends. */
TEST(a_turn_of_a_thread_that_could_run_stays_open)
{
    struct sonde__watch_session *s = make_session((uint32_t)syscall(SYS_gettid));
    struct sonde__watch_loop *loop = &s->loops[0];
    look_twice(s);
    const struct sonde__decide_account *a = &loop->account;
    CHECK_EQ(loop->look.state, 'R');
    CHECK_EQ(a->turn_cpu_ns + a->turn_runqueue_ns + a->open_ns, TURN_NS);
    done(s);
}

struct sleeper {
    _Atomic uint32_t tid;
    int pipe[2];
};

static void *wait_for_end(void *arg)
{
    struct sleeper *sleeper = arg;
    char c;
    atomic_store(&sleeper->tid, (uint32_t)syscall(SYS_gettid));
    (void)!read(sleeper->pipe[0], &c, 1);
    return NULL;
}

TEST(a_turn_of_a_thread_that_sleeps_is_not_open)
{
    struct sleeper sleeper = {0};
    struct sonde__host_thread_look now = {0};
    pthread_t thread;
    CHECK_OK(pipe(sleeper.pipe));
    CHECK_OK(pthread_create(&thread, NULL, wait_for_end, &sleeper));
    while (now.state != 'S') {
        usleep(1000);
        (void)sonde__host_look_thread(getpid(), atomic_load(&sleeper.tid), &now);
    }
    struct sonde__watch_session *s = make_session(atomic_load(&sleeper.tid));
    look_twice(s);
    CHECK_EQ(s->loops[0].look.state, 'S');
    CHECK_EQ(s->loops[0].account.open_ns, 0);
    close(sleeper.pipe[1]);
    pthread_join(thread, NULL);
    close(sleeper.pipe[0]);
    done(s);
}
