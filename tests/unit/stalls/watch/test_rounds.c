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

enum { QUIET_WAITS = 8, TURN_AT = 4, GIVE_UP = 4000 };

struct rounds {
    struct sonde__watch_session *session;
    struct sonde__probe_slot *other; /* a thread that begins a turn */
    unsigned waits, quiet, after_turn;
    uint64_t quiet_ns[QUIET_WAITS];
    bool was_quiet;
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

/* A quiet wait is announced. The other thread begins a turn during one of them. */
static uint32_t wait_and_count(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    struct rounds *r = s->ctx;
    uint64_t pause_ns = sleeping && timeout_ns < 500 * MS ? timeout_ns : 10 * MS;
    const struct timespec pause = {0, (long)pause_ns};
    r->after_turn += r->was_quiet && r->quiet == TURN_AT + 1 && !sleeping;
    r->was_quiet = sleeping;
    if (sleeping && r->quiet < QUIET_WAITS) {
        r->quiet_ns[r->quiet++] = timeout_ns;
        if (r->quiet == TURN_AT + 1) {
            atomic_store(&r->other->beat,
                         sonde__probe_beat(sonde__host_monotonic_ns(), SONDE__PROBE_BUSY));
            return SONDE__HOST_WOKEN;
        }
    }
    (void)nanosleep(&pause, NULL);
    return r->quiet == QUIET_WAITS || ++r->waits == GIVE_UP ? SONDE__HOST_TERMINATE : 0;
}

TEST(beside_a_long_scope_the_watch_looks_rarely_and_turns_wake_it)
{
    struct rounds rounds = {0};
    struct sonde__watch_session *s = make_session(&rounds);
    struct sonde__probe_scoped *place =
        sonde__probe_claim_scopes(s->scopes, (uint32_t)syscall(SYS_gettid));
    rounds.other = sonde__probe_claim(s->page, (uint32_t)syscall(SYS_gettid));
    sonde__probe_open_scope(s->page, s->scopes, &place->levels[0], (uint64_t)(uintptr_t) "long", 0,
                            60000 * MS, sonde__host_monotonic_ns());
    s->wait = wait_and_count;
    sonde__watch_session_run(s);
    CHECK_EQ(rounds.quiet, QUIET_WAITS);
    CHECK(rounds.quiet_ns[0] <= s->turns.period_ns); /* a turn may have begun before it */
    for (unsigned i = 2; i <= TURN_AT; i++) {        /* the second one may end when a look is due */
        CHECK(rounds.quiet_ns[i] > s->turns.period_ns);
    }
    CHECK_EQ(rounds.after_turn, 1);
    CHECK(rounds.quiet_ns[TURN_AT + 1] <= s->turns.period_ns);
    free(s->page);
    free(s->scopes);
    free(s);
}

/* The longest wait while the first loop is in a sampled turn, and the budget is overspent. */
struct overspent {
    unsigned waits, sampled, late;
    uint64_t longest_ns;
};

static uint32_t wait_overspent(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    struct overspent *r = s->ctx;
    uint64_t pause_ns = r->waits % 4 == 0 && timeout_ns < 500 * MS ? timeout_ns + 3 * MS : 5 * MS;
    const struct timespec pause = {0, (long)pause_ns};
    bool is_late = s->due_ns != 0 && s->round_ns > s->due_ns + 2 * MS;
    (void)sleeping;
    CHECK(!is_late || s->own_ns > 0); /* what the watch did may explain it */
    r->late += is_late;
    s->budget.left_ns = -(int64_t)SONDE__WATCH_BUDGET_RESERVE;
    s->stirred_ns = sonde__host_monotonic_ns(); /* else turns that begin would wake the watch */
    if (s->means == SONDE__WATCH_POOR && s->loops[0].decision.phase >= SONDE__WATCH_SUSPECT) {
        r->sampled++;
        r->longest_ns = timeout_ns > r->longest_ns ? timeout_ns : r->longest_ns;
    }
    (void)nanosleep(&pause, NULL);
    return r->sampled == QUIET_WAITS || ++r->waits == GIVE_UP ? SONDE__HOST_TERMINATE : 0;
}

/* Samples are due after up to a quarter of the threshold, and no look between two of them finds
 * anything. */
TEST(an_overspent_watch_wakes_for_samples_only)
{
    struct overspent r = {0};
    struct rounds rounds = {0};
    struct sonde__watch_session *s = make_session(&rounds);
    struct sonde__probe_slot *slot = sonde__probe_claim(s->page, (uint32_t)syscall(SYS_gettid));
    free(s->scopes);
    s->scopes = NULL;
    s->ctx = &r;
    s->wait = wait_overspent;
    atomic_store(&slot->beat, sonde__probe_beat(sonde__host_monotonic_ns(), SONDE__PROBE_BUSY));
    sonde__watch_session_run(s);
    CHECK(r.longest_ns > s->options.threshold_ns / 5);
    CHECK_EQ(r.sampled, QUIET_WAITS);
    CHECK(r.late > 0);
    free(s->page);
    free(s);
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

enum { BURN_MS = 60 };

/* The last wait lasts until it has used this much of a processor: no limit on time. */
static uint32_t wait_and_end(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    uint64_t until_ns = sonde__host_cpu_ns() + BURN_MS * MS;
    (void)s;
    (void)timeout_ns;
    (void)sleeping;
    while (sonde__host_cpu_ns() < until_ns) {
    }
    return SONDE__HOST_TERMINATE;
}

/* What the watch did before the program's end explains why its last look is late. */
TEST(the_last_round_is_accounted_for)
{
    struct sonde__watch_session *s = make_session(NULL);
    s->wait = wait_and_end;
    sonde__watch_session_run(s);
    CHECK(s->own_ns >= BURN_MS * MS / 2);
    free(s->page);
    free(s->scopes);
    free(s);
}
