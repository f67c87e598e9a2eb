// SPDX-License-Identifier: Apache-2.0
/* Stalls of a loop that stalls as it is told, seen by `sonde run`. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static char sonde_path[512], loop_path[512], report_path[512];

static void set_paths(void)
{
    snprintf(sonde_path, sizeof sonde_path, "%s/cli/sonde", test_build_dir());
    snprintf(loop_path, sizeof loop_path, "%s/tests/integration/run/run_loop", test_build_dir());
    snprintf(report_path, sizeof report_path, "%s/report", test_folder());
}

/* The loop under sonde with one or two turns of its own. */
static struct test_run run_turns(const char *first, const char *second)
{
    set_paths();
    const char *argv[] = {sonde_path, "run",     "-v",  "--report", report_path,
                          "--",       loop_path, first, second,     NULL};
    return test_run(argv, NULL, NULL, test_long() ? 680 : 60);
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        n++;
    }
    return n;
}

/* The published schema reads the report: "protoc --decode". Skips where there is no protoc. */
static char *decode_report(void)
{
    char command[2048];
    snprintf(command, sizeof command,
             "protoc --decode=sonde.v1.Report -I%s/proto %s/proto/sonde/v1/report.proto < %s",
             test_source_dir(), test_source_dir(), report_path);
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    if (run.status == 127) {
        SKIP("no protoc");
    }
    CHECK_EQ(run.status, 0);
    free(run.err);
    return run.out;
}

static double field(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtod(at + strlen(name), NULL) : 0;
}

static void check_stall(const char *turn, const char *phase, const char *function)
{
    struct test_run run = run_turns(turn, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(count(run.err, "\nstall "), 1);
    char *report = decode_report();
    CHECK_EQ(count(report, "  stalls {"), 1);
    CHECK_EQ(count(report, "  end {"), 1);
    CHECK_CONTAINS(report, "loop: LOOP_POLL");
    CHECK_CONTAINS(report, phase);
    /* whose stack: from the function that was called to the program's entry */
    CHECK_CONTAINS(run.err, "dominant path");
    CHECK_CONTAINS(strstr(run.err, "dominant path"), function);
    CHECK_CONTAINS(strstr(run.err, "heaviest app function"), function);
    CHECK_CONTAINS(strstr(run.err, function), "_start");
    CHECK(strstr(run.err, "libsonde-preload") == NULL);
    double ms = field(report, "duration_ns: ") / 1e6;
    CHECK(ms > 550 && ms < 2000); /* 600 asked for; a loaded machine may add to it */
    free(report);
    test_run_done(&run);
}

TEST(sleeping_stall)
{
    check_stall("sleep:600", "PHASE_BLOCKED", "stall_sleep");
}

TEST(burning_stall)
{
    check_stall("burn:600", "PHASE_RUNNING", "stall_burn");
}

TEST(wait_on_something_else_is_a_stall)
{
    check_stall("poll:600", "PHASE_BLOCKED", "stall_poll");
}

TEST_TIMEOUT(idle_loop_is_none, 700)
{
    struct test_run run = run_turns(test_long() ? "idle:600000" : "idle:4000", NULL);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}

TEST(short_turns_are_none)
{
    struct test_run run = run_turns("sleep:100", "burn:100");
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}

TEST(busy_thread_beside_an_idle_loop_is_none)
{
    struct test_run run = run_turns("thread:700", NULL);
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}

TEST(stall_after_a_long_sleep_is_found)
{
    struct test_run run = run_turns("idle:3500", "sleep:600");
    CHECK_EQ(count(run.err, "\nstall "), 1);
    test_run_done(&run);
}

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000l};
    nanosleep(&t, NULL);
}

/* The program stops itself inside a turn; the time it was stopped is not its own. */
TEST(being_stopped_is_none)
{
    set_paths();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen(report_path, "w", stderr) == NULL) {
            _exit(99);
        }
        (void)!freopen("/dev/null", "w", stdout);
        execl(sonde_path, "sonde", "run", "--", loop_path, "stop", "stop", "stop", NULL);
        _exit(99);
    }
    int status = 0;
    for (int stops = 0; stops < 3; stops++) {
        CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
        CHECK(WIFSTOPPED(status));
        pause_ms(700);
        kill(child, SIGCONT);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pause_ms(200);
    char *text = test_read_file(report_path, NULL);
    CHECK_STR(text, "");
    free(text);
}

TEST(report_of_a_killed_program_is_kept)
{
    set_paths();
    char command[2048];
    snprintf(command, sizeof command,
             "%s run --report %s -- %s burn:30000 & p=$!; sleep 1.5; "
             "kill -KILL $p; wait $p; echo $?; sleep 1",
             sonde_path, report_path, loop_path);
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    CHECK_CONTAINS(run.out, "137");
    char *report = decode_report();
    CHECK_EQ(count(report, "  stalls {"), 1);
    CHECK_CONTAINS(report, "open: true");
    free(report);
    test_run_done(&run);
}

/* The supervisor's pid is in what --verbose says: "supervisor N watches". */
static pid_t supervisor_of(const char *path)
{
    for (int i = 0; i < 200; i++) {
        char *text = test_read_file(path, NULL);
        const char *at = strstr(text, "supervisor ");
        pid_t pid = at != NULL && strchr(at, '\n') != NULL ? atoi(at + 11) : 0;
        free(text);
        if (pid > 0) {
            return pid;
        }
        pause_ms(20);
    }
    FAIL("no supervisor in %s", path);
}

static pid_t start_watched(const char *turn)
{
    set_paths();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen(report_path, "w", stderr) == NULL ||
            freopen("/dev/null", "w", stdout) == NULL) {
            _exit(99);
        }
        execl(sonde_path, "sonde", "run", "-v", "--", loop_path, turn, NULL);
        _exit(99);
    }
    for (int i = 0; i < 200 && access(report_path, R_OK) != 0; i++) {
        pause_ms(20);
    }
    return child;
}

static long switches_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    char *text = test_read_file(path, NULL);
    const char *at = strstr(text, "\nvoluntary_ctxt_switches:");
    long n = at != NULL ? strtol(at + 25, NULL, 10) : -1;
    free(text);
    return n;
}

TEST(idle_program_costs_the_supervisor_no_wake_up)
{
    int status;
    pid_t child = start_watched("idle:8000");
    pid_t supervisor = supervisor_of(report_path);
    pause_ms(3500); /* it goes to sleep after two idle seconds */
    long before = switches_of(supervisor);
    pause_ms(2000);
    CHECK_EQ(switches_of(supervisor), before);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

TEST(quit_to_the_supervisor_prints_all_stacks_now)
{
    int status;
    pid_t child = start_watched("idle:3000");
    pid_t supervisor = supervisor_of(report_path);
    pause_ms(500);
    kill(supervisor, SIGQUIT);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pause_ms(300);
    char *text = test_read_file(report_path, NULL);
    CHECK_CONTAINS(text, "main+");
    CHECK(strstr(text, "[inferred]") == NULL); /* the probe keeps stacks readable by CFI alone */
    CHECK_CONTAINS(text, "_start");
    free(text);
}
