// SPDX-License-Identifier: Apache-2.0
/* The rounds of a watch whose waits the test makes: how long it would wait, and whether a turn that
 * begins would wake it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host_clock.h"
#include "probe_scope.h"
#include "probe_turn.h"
#include "test.h"
#include "watch_loop.h"
#include "watch_rounds.h"
#include "watch_writer.h"

#define MS 1000000ull

struct rounds {
    struct sonde__watch_session *session;
};

static void ignore_stall(void *ctx, const struct sonde__watch_ended *ended,
                         const struct sonde__report *report, const struct sonde__report_view *view,
                         uint32_t index)
{
    (void)ctx;
    (void)ended;
    (void)report;
    (void)view;
    (void)index;
}

static struct sonde__watch_session *make_session(struct rounds *rounds)
{
    struct sonde__watch_session *s = calloc(1, sizeof *s);
    s->options = (struct sonde__watch_options){.tool = "test",
                                               .probe = "",
                                               .threshold_ns = 250 * MS,
                                               .report_fd = -1,
                                               .quiet = true,
                                               .on_stall = ignore_stall,
                                               .ctx = rounds};
    s->page = aligned_alloc(128, sizeof *s->page);
    s->scopes = aligned_alloc(128, sizeof *s->scopes);
    memset(s->page, 0, sizeof *s->page);
    memset(s->scopes, 0, sizeof *s->scopes);
    s->page->late_ns = 60 * MS;
    s->pid = getpid();
    atomic_store(&s->page->pid, s->pid);
    s->carry = SONDE__WATCH_CARRIES;
    s->sampler_retry_ns = UINT64_MAX; /* no samples */
    s->ctx = rounds;
    CHECK_OK(sonde__watch_writer_create(&s->options, s->pid, &s->writer));
    return s;
}

static void *wait_for_end(void *arg)
{
    _Atomic uint32_t *thread = arg;
    atomic_store(&thread[0], (uint32_t)syscall(SYS_gettid));
    while (atomic_load(&thread[1]) == 0) {
        usleep(1000);
    }
    return NULL;
}

static pthread_t start(_Atomic uint32_t thread[2])
{
    pthread_t id;
    atomic_store(&thread[0], 0);
    atomic_store(&thread[1], 0);
    CHECK_EQ(pthread_create(&id, NULL, wait_for_end, (void *)thread), 0);
    while (atomic_load(&thread[0]) == 0) {
        usleep(1000);
    }
    return id;
}

static void end(pthread_t id, _Atomic uint32_t thread[2])
{
    atomic_store(&thread[1], 1);
    pthread_join(id, NULL);
}

/* The kernel gives the number of an ended thread to a new one, which takes the same place between
 * two looks. Files that are open for the ended thread stay its own. */
TEST(a_thread_with_the_number_of_an_ended_one_is_watched)
{
    struct rounds rounds = {0};
    struct sonde__watch_session *s = make_session(&rounds);
    struct sonde__watch_loop *loop = &s->loops[0];
    _Atomic uint32_t thread[2];
    bool busy = false;
    s->waiter = (struct sonde__host_waiter *)(void *)s; /* a supervisor: it keeps files open */
    loop->slot = &s->page->slots[0];
    loop->threshold_ns = s->options.threshold_ns;
    sonde__watch_decide_init(&loop->decision, loop->threshold_ns);
    for (unsigned round = 0; round < 2; round++) {
        pthread_t id = start(thread);
        uint64_t now_ns = sonde__host_monotonic_ns();
        loop->tid = thread[0]; /* the second thread seems to be the first one */
        atomic_store(&loop->slot->tid, thread[0]);
        atomic_store(&loop->slot->beat, sonde__probe_beat(now_ns, SONDE__PROBE_BUSY));
        busy = false;
        (void)sonde__watch_loop_inspect(s, loop, now_ns + MS, &busy);
        CHECK(busy);
        CHECK_EQ(atomic_load(&loop->slot->tid), thread[0]);
        CHECK(round != 0 || loop->clock.is_open);
        end(id, thread);
    }
    (void)sonde__watch_loop_inspect(s, loop, sonde__host_monotonic_ns(), &busy);
    CHECK_EQ(atomic_load(&loop->slot->tid), 0); /* the thread has ended */
    sonde__watch_clock_close(&loop->clock);
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
    free(s->page);
    free(s->scopes);
    free(s);
}
