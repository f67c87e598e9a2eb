// SPDX-License-Identifier: Apache-2.0
/* The ways to sample running threads. The signal changes nothing in programs that use that signal
 * themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static char sonde_path[512], asked_path[512];

static void set_paths(void)
{
    snprintf(sonde_path, sizeof sonde_path, "%s/cli/sonde", test_build_dir());
    snprintf(asked_path, sizeof asked_path, "%s/tests/integration/run/run_asked", test_build_dir());
}

/* run_asked with the test's slack in its times and in the stall limit. */
static struct test_run run_asked(const char *const argv[])
{
    static char variable[32];
    snprintf(variable, sizeof variable, "SLACK=%u", test_slack());
    return test_run(argv, (const char *[]){variable, NULL}, NULL, 60);
}

static struct test_run run_watched(const char *sampler, const char *mode)
{
    char stall[32];
    set_paths();
    snprintf(stall, sizeof stall, "%ums", 100 * test_slack());
    const char *argv[] = {sonde_path, "run", "--sampler", sampler, "--stall",
                          stall,      "--",  asked_path,  mode,    NULL};
    struct test_run run = run_asked(argv);
    CHECK_EQ(run.status, 0);
    return run;
}

static struct test_run run_plain(const char *mode)
{
    set_paths();
    const char *argv[] = {asked_path, mode, NULL};
    struct test_run run = run_asked(argv);
    CHECK_EQ(run.status, 0);
    return run;
}

/* "asked by 35 signals (SIGURG): 0 not answered in time, 0 too late, 0 ended a call early; 2 not
 * sent" */
struct told {
    unsigned sent, unanswered, late, early, refused;
};

static struct told read_told(const char *text)
{
    struct told t = {0};
    const char *at = strstr(text, "threads were asked by ");
    if (at != NULL) {
        CHECK_EQ(sscanf(at,
                        "threads were asked by %u signals (SIGURG): %u not answered in time, %u "
                        "too late, %u "
                        "ended a call early; %u not sent",
                        &t.sent, &t.unanswered, &t.late, &t.early, &t.refused),
                 5);
    }
    return t;
}

/* The program prints the same as without the watch. */
static struct told check_same(const char *mode, const char *said)
{
    struct test_run plain = run_plain(mode);
    struct test_run run = run_watched("signal", mode);
    struct told told = read_told(run.err);
    CHECK_ALWAYS(strcmp(run.out, plain.out) == 0);
    CHECK_CONTAINS(run.err, "\nstall 1");
    if (said != NULL) {
        CHECK_CONTAINS(run.err, said);
    }
    test_run_done(&plain);
    test_run_done(&run);
    return told;
}

/* --- the stack is right --- */

/* A stack in a text from a function's caller on, with offsets, cut at the blank line: the lines
 * from "main+0x..". */
static char *outer_frames(const char *text)
{
    const char *stack = strstr(text, "heaviest stack");
    const char *at = stack != NULL ? strstr(stack, "main+") : NULL;
    const char *end = at != NULL ? strstr(at, "_start+") : NULL;
    if (end == NULL) {
        FAIL("no stack from main to _start in: %s", text);
    }
    return strndup(at, (size_t)(strchr(end, '\n') - at));
}

static void check_stack(const char *sampler, const char *how)
{
    struct test_run run = run_watched(sampler, "plain");
    struct test_run perf = run_watched("perf", "plain");
    CHECK_CONTAINS(run.err, how);
    CHECK_CONTAINS(run.err, "heaviest app function  burn (run_asked)");
    if (strstr(perf.err, "perf events while running") == NULL) {
        SKIP("this machine refuses perf events: nothing to compare with");
    }
    char *frames = outer_frames(run.err);
    char *expected = outer_frames(perf.err);
    for (char *c = frames; *c != '\0'; c++) { /* frame numbers may differ by one */
        *c = *c == '#' ? ' ' : *c;
    }
    for (char *c = expected; *c != '\0'; c++) {
        *c = *c == '#' ? ' ' : *c;
    }
    CHECK_CONTAINS(frames, "run_asked");
    for (char *line = strtok(expected, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *name = line + strspn(line, " 0123456789");
        CHECK_CONTAINS(frames, name);
    }
    free(frames);
    free(expected);
    test_run_done(&run);
    test_run_done(&perf);
}

TIMED_TEST(sampled_by_a_signal_the_stack_is_that_of_perf, 60)
{
    check_stack("signal", "a signal while running");
}

TIMED_TEST(sampled_by_ptrace_the_stack_is_that_of_perf, 60)
{
    check_stack("ptrace", "ptrace while running");
}

TIMED_TEST(sampled_not_at_all, 60)
{
    struct test_run run = run_watched("none", "plain");
    CHECK_CONTAINS(run.err, "\nstall 1");
    CHECK(strstr(run.err, "burn") == NULL);
    CHECK_CONTAINS(run.err, "running threads are left alone");
    test_run_done(&run);
}

TEST(sampler_must_be_known)
{
    set_paths();
    const char *argv[] = {sonde_path, "run", "--sampler", "guess", "--", "true", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    CHECK_EQ(run.status, 2);
    CHECK_CONTAINS(run.err, "guess");
    test_run_done(&run);
}

/* --- the program is as it was --- */

TIMED_TEST(signal_is_not_seen_by_the_program, 60)
{
    struct told told = check_same("plain", "a signal while running");
    CHECK(told.sent >= 5);
    CHECK(told.unanswered <= told.sent / 5);
}

TIMED_TEST(signals_of_the_program_are_left_alone, 60)
{
    struct told told = check_same("own", "is the program's own");
    CHECK_ALWAYS(told.sent == 0);
    CHECK(told.refused >= 5);
}

TIMED_TEST(signal_that_the_program_takes_later_is_given_back, 60)
{
    struct told told = check_same("late", "is the program's own");
    CHECK(told.sent >= 5);
    CHECK(told.refused >= 5);
}

TIMED_TEST(signal_that_the_program_ignores_is_not_sent, 60)
{
    struct told told = check_same("ignore", "is the program's own");
    CHECK_ALWAYS(told.sent == 0);
}

TIMED_TEST(signal_that_the_thread_blocks_is_not_sent, 60)
{
    struct told told = check_same("blocked", "blocks the signal");
    CHECK_ALWAYS(told.sent == 0);
    CHECK(told.refused >= 5);
}

TIMED_TEST(signal_that_is_waited_for_is_not_sent, 60)
{
    struct told told = check_same("sigwait", "blocks the signal");
    CHECK_ALWAYS(told.sent == 0);
    told = check_same("signalfd", "blocks the signal");
    CHECK_ALWAYS(told.sent == 0);
}

/* A raw system call set a handler: after it took one signal sonde sends no more. */
TIMED_TEST(signal_taken_behind_libc_is_given_up, 60)
{
    struct test_run run = run_watched("signal", "raw");
    struct told told = read_told(run.err);
    CHECK_STR(run.out, "strays 1\n");
    CHECK_EQ(told.sent, 1);
    CHECK_EQ(told.unanswered, 1);
    CHECK_CONTAINS(run.err, "a handler that is not ours took it");
    test_run_done(&run);
}

TIMED_TEST(signal_finds_a_small_stack, 60)
{
    struct test_run run = run_watched("signal", "coroutine");
    struct told told = read_told(run.err);
    CHECK_STR(run.out, "back\n");
    CHECK(told.sent >= 5);
    CHECK_CONTAINS(run.err, "burn_and_return");
    test_run_done(&run);
}

/* A filter may kill the program for our handler's system calls. */
TIMED_TEST(signal_is_not_sent_past_a_seccomp_filter, 60)
{
    struct told told = check_same("filtered", "seccomp filter of its own");
    CHECK_ALWAYS(told.sent == 0);
}

TIMED_TEST(signal_asks_the_other_threads_too, 60)
{
    /* the handler takes one signal; on a busy machine the thread may have no CPU then */
    for (int i = 0;; i++) {
        struct test_run run = run_watched("signal", "beside");
        bool seen = strstr(run.err, "burn_beside") != NULL && read_told(run.err).sent >= 1;
        CHECK_STR(run.out, "joined\n");
        CHECK(seen || i < 4);
        test_run_done(&run);
        if (seen) {
            return;
        }
    }
}

/* The interpreter sees the default action, in its loop and in programs that it starts. */
TIMED_TEST(signal_is_not_seen_by_python, 60)
{
    static const char script[] =
        "import asyncio, signal, time, subprocess, sys\n"
        "async def main():\n"
        "    for i in range(10): await asyncio.sleep(0.005)\n"
        "    end = time.monotonic() + 0.6\n"
        "    while time.monotonic() < end: sum(range(1000))\n"
        "    await asyncio.sleep(0.005)\n"
        "    print(signal.getsignal(signal.SIGURG), signal.sigpending())\n"
        "    print(subprocess.run(['grep', '-E', 'Sig(Ign|Cgt)', '/proc/self/status'],\n"
        "                         capture_output=True).stdout)\n"
        "    print(signal.signal(signal.SIGURG, lambda *a: print('mine')))\n"
        "    signal.raise_signal(signal.SIGURG)\n"
        "asyncio.run(main())\n";
    if (access("/usr/bin/python3", X_OK) != 0) {
        SKIP("no python3");
    }
    set_paths();
    const char *plain_argv[] = {"/usr/bin/python3", "-c", script, NULL};
    const char *argv[] = {
        sonde_path, "run", "--sampler=signal", "--stall=100ms", "--", "/usr/bin/python3", "-c",
        script,     NULL};
    struct test_run plain = test_run(plain_argv, NULL, NULL, 60);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(plain.status, 0);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, plain.out);
    CHECK_CONTAINS(run.err, "\nstall 1");
    CHECK(read_told(run.err).sent >= 5);
    test_run_done(&plain);
    test_run_done(&run);
}
