// SPDX-License-Identifier: Apache-2.0
/* Threads that stop late, never, or end before they stop: no thread stays stopped or traced.
 *
 * The system calls are real, but a test acts right before one of them (traced.h). What
 * is long about the stops is a vfork(): its parent is in an uninterruptible wait until the child
 * ends, which is when the test says so. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counted.h"
#include "host_process.h"
#include "host_run.h"
#include "test.h"
#include "traced.h"

/* --- what happens --- */

static void enter_vfork(uint64_t tid)
{
    order(tid, VFORK);
    (void)await_letter(tid, 'D');
}

static void enter_vfork_and_stop(uint64_t tid)
{
    enter_vfork(tid);
    kill(program, SIGSTOP);
}

static void exit_thread(uint64_t tid)
{
    order(tid, EXIT_THREAD);
    (void)await_letter(tid, 'Z');
}

static void exit_process(uint64_t tid)
{
    order(tid, EXIT_PROCESS);
    (void)await_letter((uint64_t)program, 'Z');
}

static void execute(uint64_t tid)
{
    order(tid, EXEC);
    for (unsigned n = 0; n < LOOKS_MAX && letter_of(tid) != '?'; n++) { /* it is the leader now */
        usleep(LOOK_US);
    }
}

static void end_vfork(uint64_t tid)
{
    atomic_store(&shared->vfork_over, true);
    (void)await_letter(tid, 't');
}

static void send_signal(uint64_t tid)
{
    syscall(SYS_tgkill, program, tid, SIGUSR1);
    (void)await_letter(tid, 't'); /* a traced thread stops for it */
}

static void die(uint64_t tid)
{
    (void)tid;
    raise(SIGKILL);
}

static void wait_for_its_end(uint64_t tid)
{
    (void)tid;
    while (kill(program, 0) == 0) {
        usleep(LOOK_US);
    }
    _exit(0);
}

/* --- captures --- */

/* In a child that goes on and closes nothing, or is ended meanwhile. */
static pid_t capture_apart(unsigned i)
{
    pid_t tracer = fork();
    if (tracer == 0) {
        struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PTRACE);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)capture_running(target, i);
        atomic_store(&shared->captured, true);
        for (;;) {
            pause();
        }
    }
    return tracer;
}

static void await_captured(void)
{
    for (unsigned n = 0; n < LOOKS_MAX && !atomic_load(&shared->captured); n++) {
        usleep(LOOK_US);
    }
    CHECK(atomic_load(&shared->captured));
}

static void await_interrupted(void)
{
    for (unsigned n = 0; n < LOOKS_MAX && !atomic_load(&shared->interrupted); n++) {
        usleep(LOOK_US);
    }
    CHECK(atomic_load(&shared->interrupted));
}

static void end_tracer(pid_t tracer)
{
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
}

/* --- a late stop --- */

TEST_TIMEOUT(a_sampled_thread_that_stops_late_goes_on, 120)
{
    start_program();
    before(PTRACE_INTERRUPT, enter_vfork);
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PTRACE);
    struct sonde__capture captured;
    do {
        captured = capture(target, 0);
    } while (captured.status != SONDE_TIMEOUT && letter_of(shared->tid[0]) != 'D');
    CHECK_EQ(captured.status, SONDE_TIMEOUT);
    CHECK_EQ(captured.pause_ns, 0);
    CHECK_CONTAINS(captured.note, "released");
    CHECK_EQ(tracer_of(shared->tid[0]), 0);
    /* the target stays open, and the next capture works */
    before(0, NULL);
    captured = capture(target, 0);
    CHECK_EQ(captured.by, SONDE__CAPTURED_PASSIVE);
    atomic_store(&shared->vfork_over, true);
    check_goes_on(0);
    check_goes_on(1);
    sonde__target_close(target);
    end_program();
}

/* The thread's state from before the stop is out of date: it may be in a wait that a signal would
 * end. */
TEST_TIMEOUT(a_thread_that_stops_late_is_not_signalled, 120)
{
    start_program();
    before(PTRACE_INTERRUPT, enter_vfork);
    struct sonde__target *target =
        open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PTRACE | SONDE__TARGET_BY_SIGNAL);
    CHECK_EQ(capture_running(target, 0).status, SONDE_TIMEOUT);
    CHECK_EQ(sonde__target_signals(target).sent, 0);
    CHECK_EQ(sonde__target_signals(target).refused, 0);
    sonde__target_close(target);
    atomic_store(&shared->vfork_over, true);
    check_goes_on(0);
    end_program();
}

TEST_TIMEOUT(all_threads_stopped_and_two_of_them_late, 120)
{
    start_program();
    struct sonde__target *target = open_program(SONDE__TARGET_STOP, 0);
    struct sonde_error error;
    uint64_t pause_ns;
    for (unsigned i = 0; i < THREADS; i++) {
        enter_vfork(shared->tid[i]);
    }
    CHECK_OK(sonde__target_stop(target, &error));
    CHECK_EQ(capture(target, 0).by, SONDE__CAPTURED_PASSIVE);
    sonde__target_resume(target, &pause_ns);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(tracer_of(shared->tid[i]), 0);
    }
    atomic_store(&shared->vfork_over, true);
    check_goes_on(0);
    check_goes_on(1);
    CHECK_OK(sonde__target_stop(target, &error)); /* and a second time */
    CHECK_EQ(capture(target, 0).by, SONDE__CAPTURED_PTRACE);
    sonde__target_resume(target, &pause_ns);
    check_goes_on(0);
    check_goes_on(1);
    sonde__target_close(target);
    end_program();
}

/* The thread stops after the others and before it is read: it is read as they are. */
TEST_TIMEOUT(a_late_thread_that_stops_before_it_is_read, 120)
{
    start_program();
    struct sonde__target *target = open_program(SONDE__TARGET_STOP, 0);
    struct sonde_error error;
    enter_vfork(shared->tid[0]);
    CHECK_OK(sonde__target_stop(target, &error));
    CHECK_EQ(letter_of(shared->tid[0]), 'D');
    atomic_store(&shared->vfork_over, true);
    CHECK(await_letter(shared->tid[0], 't'));
    CHECK_EQ(capture(target, 0).by, SONDE__CAPTURED_PTRACE);
    sonde__target_close(target); /* without a resume */
    check_goes_on(0);
    check_goes_on(1);
    end_program();
}

/* It stops between our look for its stop and that for its state. Read passively, it would show no
 * registers but sp. */
TEST_TIMEOUT(a_late_thread_that_stops_while_it_is_read, 120)
{
    start_program();
    struct sonde__target *target = open_program(SONDE__TARGET_STOP, 0);
    struct sonde_error error;
    enter_vfork(shared->tid[0]);
    CHECK_OK(sonde__target_stop(target, &error));
    CHECK_EQ(letter_of(shared->tid[0]), 'D');
    after_vain_look = end_vfork;
    CHECK_EQ(capture(target, 0).by, SONDE__CAPTURED_PTRACE);
    CHECK(after_vain_look == NULL);
    sonde__target_close(target);
    check_goes_on(0);
    check_goes_on(1);
    end_program();
}

static void check_tracer_ended(int signal)
{
    start_program();
    before(PTRACE_INTERRUPT, enter_vfork);
    pid_t tracer = capture_apart(0);
    CHECK(await_letter(shared->tid[0], 'D'));
    kill(tracer, signal);
    waitpid(tracer, NULL, 0);
    CHECK_EQ(tracer_of(shared->tid[0]), 0);
    atomic_store(&shared->vfork_over, true);
    check_goes_on(0);
    end_program();
}

TEST_TIMEOUT(the_tracer_is_killed_before_a_late_stop, 120)
{
    check_tracer_ended(SIGKILL);
}

TEST_TIMEOUT(the_tracer_ends_before_a_late_stop, 120)
{
    check_tracer_ended(SIGTERM);
}

/* Job control stops the program before the late stop. Its stop lasts until SIGCONT. */
TEST_TIMEOUT(a_group_stop_before_a_late_stop_lasts, 120)
{
    start_program();
    before(PTRACE_INTERRUPT, enter_vfork_and_stop);
    CHECK_EQ(capture_stopping(0).status, SONDE_TIMEOUT);
    atomic_store(&shared->vfork_over, true);
    CHECK(await_letter(shared->tid[0], 'T'));
    CHECK_EQ(tracer_of(shared->tid[0]), 0);
    /* a thread stopped by job control is read at once and stays stopped */
    CHECK_EQ(capture_stopping(0).by, SONDE__CAPTURED_PTRACE);
    CHECK(await_letter(shared->tid[0], 'T'));
    kill(program, SIGCONT);
    check_goes_on(0);
    check_goes_on(1);
    end_program();
}

/* --- the state that the stop finds --- */

static void begin_rest(uint64_t tid)
{
    order(tid, REST);
    (void)await_letter(tid, 'S');
}

static void end_rest(unsigned i)
{
    syscall(SYS_tgkill, program, shared->tid[i], SIGUSR1);
    check_goes_on(i);
}

TEST_TIMEOUT(a_thread_that_begins_to_wait_before_the_stop_is_shown_waiting, 120)
{
    start_program();
    before(PTRACE_INTERRUPT, begin_rest);
    struct sonde__capture captured = capture_stopping(0);
    CHECK_EQ(captured.by, SONDE__CAPTURED_PTRACE);
    CHECK_EQ(captured.letter, 'S');
    end_rest(0);
    end_program();
}

TEST_TIMEOUT(stopped_threads_are_shown_as_the_stop_found_them, 120)
{
    start_program();
    struct sonde__target *target = open_program(SONDE__TARGET_STOP, 0);
    struct sonde_error error;
    uint64_t pause_ns;
    begin_rest(shared->tid[0]);
    CHECK_OK(sonde__target_stop(target, &error));
    CHECK_EQ(capture(target, 0).letter, 'S');
    CHECK_EQ(capture(target, 1).letter, 'R');
    sonde__target_resume(target, &pause_ns);
    end_rest(0);
    kill(program, SIGSTOP);
    CHECK(await_letter(shared->tid[0], 'T'));
    CHECK_OK(sonde__target_stop(target, &error));
    CHECK_EQ(capture(target, 0).letter, 'T');
    sonde__target_resume(target, &pause_ns);
    kill(program, SIGCONT);
    check_goes_on(0);
    sonde__target_close(target);
    end_program();
}

/* --- ended before the stop --- */

/* The tracer lives on: a thread that it still traced would stay a zombie, and the program's parent
 * would not learn that the program ended. */
static int status_of_program(void (*what)(uint64_t tid))
{
    int status;
    start_program();
    before(PTRACE_INTERRUPT, what);
    pid_t tracer = capture_apart(0);
    CHECK_EQ(waitpid(program, &status, 0), program);
    end_tracer(tracer);
    munmap(shared, sizeof *shared);
    return status;
}

TEST_TIMEOUT(the_process_exits_before_the_stop, 120)
{
    CHECK_EQ(WEXITSTATUS(status_of_program(exit_process)), 7);
}

TEST_TIMEOUT(the_process_executes_another_program_before_the_stop, 120)
{
    CHECK_EQ(status_of_program(execute), 0);
}

TEST_TIMEOUT(the_thread_exits_before_the_stop, 120)
{
    start_program();
    before(PTRACE_INTERRUPT, exit_thread);
    pid_t tracer = capture_apart(0);
    await_captured();
    CHECK_EQ(letter_of(shared->tid[0]), '?');
    check_goes_on(1);
    end_tracer(tracer);
    end_program();
}

/* --- a signal meets the stop --- */

static void check_signals(int count)
{
    for (unsigned n = 0; n < LOOKS_MAX && atomic_load(&shared->signals) < count; n++) {
        usleep(LOOK_US);
    }
    CHECK_EQ(atomic_load(&shared->signals), count);
}

TEST_TIMEOUT(a_signal_that_arrives_with_the_stop_is_delivered, 120)
{
    start_program();
    before(PTRACE_INTERRUPT, send_signal);
    CHECK_EQ(capture_stopping(0).by, SONDE__CAPTURED_PTRACE);
    check_signals(1);
    check_goes_on(0);
    end_program();
}

static void signal_then_die(uint64_t tid)
{
    send_signal(tid);
    before(PTRACE_GETREGSET, die);
}

TEST_TIMEOUT(a_signal_is_delivered_though_the_tracer_is_killed, 120)
{
    int status;
    start_program();
    before(PTRACE_INTERRUPT, signal_then_die);
    pid_t tracer = capture_apart(0);
    CHECK_EQ(waitpid(tracer, &status, 0), tracer);
    CHECK_EQ(WTERMSIG(status), SIGKILL);
    check_signals(1);
    check_goes_on(0);
    end_program();
}

TEST_TIMEOUT(a_signal_that_arrives_while_all_are_stopped_is_delivered, 120)
{
    start_program();
    before(PTRACE_INTERRUPT, send_signal);
    struct sonde__target *target = open_program(SONDE__TARGET_STOP, 0);
    struct sonde_error error;
    uint64_t pause_ns;
    CHECK_OK(sonde__target_stop(target, &error));
    before(0, NULL);
    send_signal(shared->tid[1]);
    sonde__target_resume(target, &pause_ns);
    /* one for each thread, and two for the last thread merged into one */
    for (unsigned n = 0; n < LOOKS_MAX && atomic_load(&shared->signals) < THREADS + 1; n++) {
        usleep(LOOK_US);
    }
    CHECK(atomic_load(&shared->signals) >= THREADS + 1);
    check_goes_on(0);
    check_goes_on(1);
    sonde__target_close(target);
    end_program();
}

/* --- a supervisor and its spare, killed together --- */

/* As `sonde run --record` has them: two processes of one group. The second one traces. */
static pid_t supervise_apart(void (*work)(void))
{
    pid_t spare = fork();
    if (spare == 0) {
        bool has_ended;
        setpgid(0, 0);
        if (sonde__host_stand_by(program, &shared->supervisor, &has_ended) != 0) {
            _exit(1); /* it took over */
        }
        atomic_store(&shared->supervisor, (int32_t)getpid());
        work();
        wait_for_its_end(0);
    }
    for (unsigned n = 0; n < LOOKS_MAX && atomic_load(&shared->supervisor) == 0; n++) {
        usleep(LOOK_US);
    }
    CHECK(atomic_load(&shared->supervisor) > 0);
    return spare;
}

/* One kill() for both, so neither can act on the end of the other. */
static void kill_both(pid_t spare)
{
    int status;
    pid_t supervisor = atomic_load(&shared->supervisor);
    CHECK_EQ(kill(-spare, SIGKILL), 0);
    CHECK_EQ(waitpid(spare, &status, 0), spare);
    CHECK_EQ(WTERMSIG(status), SIGKILL);
    CHECK_EQ(waitpid(supervisor, &status, 0), supervisor); /* this process is its parent now */
    CHECK_EQ(WTERMSIG(status), SIGKILL);
}

static void start_supervised(void)
{
    start_program();
    CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

static void capture_first(void)
{
    (void)capture_running(open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PTRACE), 0);
}

TEST_TIMEOUT(supervisor_and_spare_are_killed_before_a_late_stop, 120)
{
    start_supervised();
    before(PTRACE_INTERRUPT, enter_vfork);
    pid_t spare = supervise_apart(capture_first);
    await_interrupted();
    CHECK_EQ(letter_of(shared->tid[0]), 'D');
    kill_both(spare);
    CHECK_EQ(tracer_of(shared->tid[0]), 0);
    atomic_store(&shared->vfork_over, true);
    check_goes_on(0);
    check_goes_on(1);
    end_program();
}

/* The thread is stopped, and a signal is waiting for it. */
static void wait_after_signal(uint64_t tid)
{
    send_signal(tid);
    before(PTRACE_GETREGSET, wait_for_its_end);
}

TEST_TIMEOUT(supervisor_and_spare_are_killed_while_a_thread_is_stopped, 120)
{
    start_supervised();
    before(PTRACE_INTERRUPT, wait_after_signal);
    pid_t spare = supervise_apart(capture_first);
    CHECK(await_letter(shared->tid[0], 't'));
    kill_both(spare);
    check_signals(1);
    check_goes_on(0);
    check_goes_on(1);
    end_program();
}

static void stop_all(void)
{
    struct sonde_error error;
    (void)!sonde__target_stop(open_program(SONDE__TARGET_STOP, 0), &error);
    atomic_store(&shared->captured, true);
}

TEST_TIMEOUT(supervisor_and_spare_are_killed_while_all_are_stopped_and_one_is_late, 120)
{
    start_supervised();
    enter_vfork(shared->tid[0]);
    pid_t spare = supervise_apart(stop_all);
    await_captured();
    CHECK_EQ(letter_of(shared->tid[0]), 'D');
    CHECK_EQ(letter_of(shared->tid[1]), 't');
    kill_both(spare);
    check_goes_on(1);
    CHECK_EQ(tracer_of(shared->tid[0]), 0);
    atomic_store(&shared->vfork_over, true);
    check_goes_on(0);
    end_program();
}

/* --- refused --- */

static void check_refused(enum __ptrace_request which, int error, const char *said)
{
    struct sonde__capture captured;
    start_program();
    before(which, NULL);
    refusal = error;
    captured = capture_stopping(0);
    refusal = 0;
    CHECK(captured.status != SONDE_OK);
    CHECK_CONTAINS(captured.note, said);
    check_goes_on(0);
    end_program();
}

TEST_TIMEOUT(seizing_is_refused, 120)
{
    check_refused(PTRACE_SEIZE, EPERM, "ptrace is refused");
    check_refused(PTRACE_SEIZE, ENOSYS, "could not be stopped: not supported");
    check_refused(PTRACE_SEIZE, EIO, "could not be stopped");
    check_refused(PTRACE_SEIZE, ESRCH, "could not be stopped"); /* though the thread exists */
}

TEST_TIMEOUT(stopping_is_refused, 120)
{
    check_refused(PTRACE_INTERRUPT, EIO, "could not be stopped");
}

TEST_TIMEOUT(registers_are_refused, 120)
{
    check_refused(PTRACE_GETREGSET, EIO, "registers cannot be read");
    check_refused(PTRACE_GETREGSET, ESRCH, "the thread has ended");
}

TEST_TIMEOUT(letting_go_is_refused, 120)
{
    start_program();
    before(PTRACE_DETACH, NULL);
    refusal = ESRCH;
    CHECK_EQ(capture_stopping(0).by, SONDE__CAPTURED_PTRACE);
    refusal = 0;
    check_goes_on(0);
    end_program();
}
