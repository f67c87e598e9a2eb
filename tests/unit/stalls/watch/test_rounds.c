// SPDX-License-Identifier: Apache-2.0
/* The rounds of a watch whose waits the test makes: how long it would wait, and whether a turn that
 * begins would wake it. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_clock.h"
#include "probe_scope.h"
#include "probe_turn.h"
#include "test.h"
#include "watch_loop.h"
#include "watch_missed.h"
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

static struct sonde__watch_session *make_session(void *ctx)
{
    struct sonde__watch_session *s = calloc(1, sizeof *s);
    s->options = (struct sonde__watch_options){.tool = "test",
                                               .probe = "",
                                               .threshold_ns = 250 * MS,
                                               .report_fd = -1,
                                               .quiet = true,
                                               .on_stall = ignore_stall,
                                               .ctx = ctx};
    s->page = aligned_alloc(128, sizeof *s->page);
    s->scopes = aligned_alloc(128, sizeof *s->scopes);
    memset(s->page, 0, sizeof *s->page);
    memset(s->scopes, 0, sizeof *s->scopes);
    s->page->late_ns = 60 * MS;
    s->pid = getpid();
    atomic_store(&s->page->pid, s->pid);
    s->carry = SONDE__WATCH_CARRIES;
    s->sampler_retry_ns = UINT64_MAX; /* no samples */
    s->ctx = ctx;
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

/* --- what happens while a loop is sampled --- */

enum { SAMPLED_US = 30000, ROUNDS_AFTER = 2 };

/* Two loops whose turns began at the same time. The turn of the second one ends while the watch is
 * busy with the stall of the first one. */
static struct beside {
    struct sonde__probe_slot *first, *second;
    uint64_t begin_ns, end_ns;
    unsigned rounds, exact;
} beside;

static void note_stall(void *ctx, const struct sonde__watch_ended *ended,
                       const struct sonde__report *report, const struct sonde__report_view *view,
                       uint32_t index)
{
    (void)ctx;
    (void)report;
    (void)view;
    (void)index;
    beside.exact += ended->duration_ns == beside.end_ns - beside.begin_ns;
}

static bool end_second(const struct sonde__probe_slot *slot, struct sonde__watch_notes *ret_notes)
{
    (void)ret_notes;
    if (slot == beside.first && beside.end_ns == 0) {
        usleep(SAMPLED_US);
        beside.end_ns = sonde__host_monotonic_ns();
        atomic_store(&beside.second->ended_ns, beside.end_ns);
        atomic_store(&beside.second->beat, sonde__probe_beat(beside.end_ns, SONDE__PROBE_IDLE));
    }
    return false;
}

static uint32_t wait_for_second(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    (void)s;
    (void)timeout_ns;
    (void)sleeping;
    usleep(5000);
    beside.rounds += beside.end_ns != 0;
    return beside.rounds == ROUNDS_AFTER ? SONDE__HOST_TERMINATE : 0;
}

TEST(a_turn_that_ends_while_another_loop_is_sampled_lasts_until_then)
{
    struct sonde__watch_session *s = make_session(NULL);
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    beside.first = sonde__probe_claim(s->page, tid);
    beside.second = &s->page->slots[1];
    atomic_store(&beside.second->tid, tid);
    uint64_t beat = sonde__probe_beat(sonde__host_monotonic_ns(), SONDE__PROBE_BUSY);
    beside.begin_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    atomic_store(&beside.first->beat, beat);
    atomic_store(&beside.second->beat, beat);
    s->options.on_stall = note_stall;
    s->annotate = end_second;
    s->wait = wait_for_second;
    sonde__watch_session_run(s);
    CHECK_EQ(s->stalls, 2);
    CHECK_EQ(beside.exact, 1);
    free(s->page);
    free(s->scopes);
    free(s);
}

/* The watch looked at 100 ms of a turn, next at 460. The program exited at 450, in this turn or in
 * another one. `own`: what explains that nobody looked. */
static struct sonde__watch_session *exit_in_a_turn(uint64_t own_ms, uint64_t other_ms,
                                                   uint64_t exit_ms)
{
    struct sonde__watch_session *s = make_session(NULL);
    struct sonde__watch_loop *loop = &s->loops[0];
    uint64_t zero_ns = (sonde__host_monotonic_ns() - 600 * MS) & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    struct sonde__probe_slot *slot = loop->slot = &s->page->slots[0];
    slot->loop.kind = SONDE__PROBE_POLL;
    loop->kind = SONDE__REPORT_STALL_LOOP;
    loop->tid = (uint64_t)getpid();
    loop->threshold_ns = s->options.threshold_ns;
    sonde__watch_decide_init(&loop->decision, loop->threshold_ns);
    const struct sonde__watch_look look = {
        .now_ns = zero_ns + 100 * MS, .busy = true, .since_ns = zero_ns, .ran_ns = 100 * MS};
    (void)sonde__watch_decide(&loop->decision, &look);
    atomic_store(&slot->tid, (uint32_t)getpid());
    atomic_store(&slot->beat, sonde__probe_beat(zero_ns + other_ms * MS, SONDE__PROBE_BUSY));
    atomic_store(&s->page->exited_ns, exit_ms != UINT64_MAX ? zero_ns + exit_ms * MS : exit_ms);
    s->before_ns = s->rested_ns = zero_ns + 100 * MS;
    s->due_ns = zero_ns + 140 * MS;
    s->woken_ns = s->inspected_ns = zero_ns + 460 * MS;
    s->own_ns = own_ms * MS;
    sonde__watch_loop_finish(s, loop);
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
    return s;
}

static void free_session(struct sonde__watch_session *s)
{
    free(s->page);
    free(s->scopes);
    free(s);
}

TEST(a_turn_in_which_the_program_exits_lasts_until_then)
{
    struct sonde__watch_session *s = exit_in_a_turn(320, 0, 450);
    CHECK_EQ(s->stalls, 1);
    CHECK_EQ(s->longest_ns, 450 * MS);
    CHECK_EQ(s->unsure_count, 0);
    free_session(s);
}

TEST(an_exit_that_nobody_saw_may_have_ended_a_stall)
{
    struct sonde__watch_session *s = exit_in_a_turn(0, 0, 450);
    CHECK_EQ(s->stalls, 0); /* the machine may have stood still */
    CHECK_EQ(s->unsure_ns, 450 * MS);
    free_session(s);
    s = exit_in_a_turn(320, 110, 450);
    CHECK_EQ(s->stalls, 0);
    CHECK_EQ(s->unsure_ns, 340 * MS);
    free_session(s);
    s = exit_in_a_turn(320, 400, 450);
    CHECK_EQ(s->stalls + s->unsure_count, 0);
    free_session(s);
}

/* The page is the program's: what it writes there is no duration. */
TEST(an_exit_in_the_future_is_now)
{
    struct sonde__watch_session *s = exit_in_a_turn(320, 110, UINT64_MAX);
    CHECK(s->unsure_count == 1 && s->unsure_ns < 3600000 * MS);
    free_session(s);
}

/* The watch looked at 100 ms, and sampled all threads until 550. A turn began and ended in that
 * time. `own`: what explains it. Returns how many stalls the next round finds. */
static uint64_t find_missed(uint64_t own_ms)
{
    struct sonde__watch_session *s = make_session(NULL);
    struct sonde__watch_loop *loop = &s->loops[0];
    uint64_t zero_ns = sonde__host_monotonic_ns() - 600 * MS;
    struct sonde__probe_slot *slot = loop->slot = &s->page->slots[0];
    const struct sonde__watch_account before = {0};
    slot->longs[0].begin_ns = zero_ns + 200 * MS;
    slot->longs[0].end_ns = zero_ns + 500 * MS;
    atomic_store(&slot->long_turns, 1);
    s->inspected_ns = s->woken_ns = s->due_ns = zero_ns + 100 * MS;
    sonde__watch_find_missed(s, loop, 0, &before, zero_ns + 100 * MS);
    CHECK_EQ(s->stalls + s->unsure_count, 0);
    s->before_ns = s->inspected_ns;
    s->rested_ns = zero_ns + 550 * MS;
    s->due_ns = s->woken_ns = s->inspected_ns = zero_ns + 560 * MS;
    s->own_ns = own_ms * MS;
    sonde__watch_find_missed(s, loop, 0, &before, zero_ns + 560 * MS);
    CHECK_EQ(s->stalls + s->unsure_count, 1);
    uint64_t found = s->stalls;
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
    free(s->page);
    free(s->scopes);
    free(s);
    return found;
}

TEST(a_turn_in_the_time_of_samples_is_explained_by_the_next_round)
{
    CHECK_EQ(find_missed(440), 1);
    CHECK_EQ(find_missed(0), 0);
}

/* --- a stop of the watch --- */

enum { LATE_US = 50000, LATE_WAITS = 2 };

/* A watch in a process of its own, whose waits end when it is told so. */
struct stopped_watch {
    int told, tells; /* eventfds: their calls wait for nothing else */
    unsigned waits;
    unsigned stopped; /* a bit for each wait */
};

static uint32_t wait_until_told(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    struct stopped_watch *w = s->ctx;
    eventfd_t value;
    (void)timeout_ns;
    (void)sleeping;
    w->stopped |= w->waits > 0 && s->was_stopped ? 1u << (w->waits - 1) : 0;
    if (w->waits++ == LATE_WAITS) {
        return SONDE__HOST_TERMINATE;
    }
    CHECK_OK(eventfd_write(w->tells, 1));
    CHECK_OK(eventfd_read(w->told, &value));
    return 0;
}

static pid_t start_watch(struct stopped_watch *w)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct sonde__watch_session *s = make_session(w);
        s->options.threshold_ns = 16 * MS;
        s->wait = wait_until_told;
        sonde__watch_session_run(s);
        _exit((int)w->stopped);
    }
    return pid;
}

static void await_wait(pid_t pid)
{
    struct sonde__host_thread_look look = {0};
    while (look.state != 'S') {
        usleep(1000);
        CHECK(sonde__host_look_thread(pid, (uint64_t)pid, &look));
    }
}

/* Both waits end too late, but only in the second one the watch is stopped. */
TEST(a_stop_of_the_watch_shows_in_the_number_of_its_waits)
{
    struct stopped_watch w = {.told = eventfd(0, EFD_CLOEXEC), .tells = eventfd(0, EFD_CLOEXEC)};
    eventfd_t value;
    int status;
#if defined(SONDE_EMULATED)
    SKIP("an emulator waits, too");
#endif
    pid_t pid = start_watch(&w);
    for (unsigned i = 0; i < LATE_WAITS; i++) {
        CHECK_OK(eventfd_read(w.tells, &value));
        await_wait(pid);
        if (i == 1) {
            CHECK_OK(kill(pid, SIGSTOP));
            CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
        }
        usleep(LATE_US);
        CHECK_OK(kill(pid, SIGCONT));
        await_wait(pid);
        CHECK_OK(eventfd_write(w.told, 1));
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 1 << 1);
    close(w.told);
    close(w.tells);
}

/* --- the program executes another one --- */

enum { STIRS = 5 };

struct executed {
    pid_t pid;
    int go, gone;                   /* pipes; nobody writes to `gone`, which exec closes */
    struct sonde__probe_slot *slot; /* in a turn */
    bool has_executed;
    unsigned stirs, waits;
    enum sonde__watch_phase from;          /* the phase of the turn in which the program executes */
    enum sonde__watch_phase before, after; /* of the turn: when the program executes, and at last */
};

static void start_program(struct executed *e)
{
    int go[2], gone[2];
    char c;
    CHECK_OK(pipe(go));
    CHECK_OK(pipe(gone));
    e->pid = fork();
    if (e->pid == 0) {
        close(gone[0]);
        CHECK_OK(fcntl(gone[1], F_SETFD, FD_CLOEXEC));
        CHECK_EQ(read(go[0], &c, 1), 1);
        execl("/bin/sleep", "sleep", "600", (char *)NULL);
        _exit(1);
    }
    close(go[0]);
    close(gone[1]);
    e->go = go[1];
    e->gone = gone[0];
}

static void execute(struct executed *e)
{
    char c;
    CHECK_EQ(write(e->go, "", 1), 1);
    CHECK_EQ(read(e->gone, &c, 1), 0);
    e->has_executed = true;
}

/* Each round checks. The page is in use for some rounds more. */
static uint32_t wait_for_exec(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    struct executed *e = s->ctx;
    (void)timeout_ns;
    (void)sleeping;
    s->checked_ns = 0;
    usleep(1000);
    if (s->program_mark == 0) {
        CHECK(++e->waits < GIVE_UP);
        return 0;
    }
    if (!e->has_executed && s->loops[0].decision.phase >= e->from) {
        e->before = s->loops[0].decision.phase;
        execute(e);
    }
    e->after = s->loops[0].decision.phase;
    if (e->has_executed && e->stirs < STIRS) {
        e->stirs++;
        CHECK(!s->replaced);
        atomic_fetch_add(&e->slot->turns, 1);
    }
    return s->replaced || ++e->waits == GIVE_UP ? SONDE__HOST_TERMINATE : 0;
}

/* While the page changes, its program runs, and that is not checked. Returns how many turns may
 * have been stalls. */
static uint64_t run_until_executed(enum sonde__watch_phase from)
{
    struct executed e = {.from = from, .stirs = from == SONDE__WATCH_STALL ? STIRS : 0};
    struct sonde__watch_session *s = make_session(&e);
    start_program(&e);
    s->pid = e.pid;
    atomic_store(&s->page->pid, s->pid);
    e.slot = sonde__probe_claim(s->page, (uint32_t)e.pid);
    atomic_store(&e.slot->beat, sonde__probe_beat(sonde__host_monotonic_ns(), SONDE__PROBE_BUSY));
    s->wait = wait_for_exec;
    sonde__watch_session_run(s);
    CHECK(s->replaced);
    CHECK_EQ(e.stirs, STIRS);
    CHECK_EQ(s->stalls, 0);
    CHECK(e.before >= from);
    CHECK_EQ(e.after, SONDE__WATCH_IDLE);
    CHECK_OK(kill(e.pid, SIGKILL));
    CHECK_EQ(waitpid(e.pid, NULL, 0), e.pid);
    close(e.go);
    close(e.gone);
    uint64_t unsure = s->unsure_count;
    free(s->page);
    free(s->scopes);
    free(s);
    return unsure;
}

TEST(a_program_that_executes_another_one_is_in_no_turn)
{
    (void)run_until_executed(SONDE__WATCH_BUSY);
}

TEST(a_stall_in_which_the_program_executes_another_one_is_told)
{
    CHECK_EQ(run_until_executed(SONDE__WATCH_STALL), 1);
}
