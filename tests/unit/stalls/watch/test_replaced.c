// SPDX-License-Identifier: Apache-2.0
/* Rounds of a watch that asks the kernel about others: a thread whose number another one gets, a
 * program that executes another one; and the watch itself is stopped. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_clock.h"
#include "session.h"
#include "test.h"
#include "watch_loop.h"
#include "watch_writer.h"

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
    struct sonde__watch_session *s = make_session(NULL);
    struct sonde__watch_loop *loop = &s->loops[0];
    _Atomic uint32_t thread[2];
    bool busy = false;
    s->waiter = (struct sonde__host_waiter *)(void *)s; /* a supervisor: it keeps files open */
    loop->slot = &s->page->slots[0];
    loop->threshold_ns = s->options.threshold_ns;
    sonde__decide_init(&loop->decision, loop->threshold_ns);
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
    sonde__sampler_clock_close(&loop->clock);
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
    free_session(s);
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
    enum sonde__decide_phase from; /* the phase of the turn in which the program executes */
    enum sonde__decide_phase before,
        after; /* of the turn: when the program executes, and at last */
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
static uint64_t run_until_executed(enum sonde__decide_phase from)
{
    struct executed e = {.from = from, .stirs = from == SONDE__DECIDE_STALL ? STIRS : 0};
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
    CHECK_EQ(e.after, SONDE__DECIDE_IDLE);
    CHECK_OK(kill(e.pid, SIGKILL));
    CHECK_EQ(waitpid(e.pid, NULL, 0), e.pid);
    close(e.go);
    close(e.gone);
    uint64_t unsure = s->unsure_count;
    free_session(s);
    return unsure;
}

TEST(a_program_that_executes_another_one_is_in_no_turn)
{
    (void)run_until_executed(SONDE__DECIDE_BUSY);
}

TEST(a_stall_in_which_the_program_executes_another_one_is_told)
{
    CHECK_EQ(run_until_executed(SONDE__DECIDE_STALL), 1);
}
