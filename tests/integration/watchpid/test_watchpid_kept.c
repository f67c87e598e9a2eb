// SPDX-License-Identifier: Apache-2.0
/* `sonde watch`: unsupported programs, the process that a pid selects, and the rest of a stall when
 * the watch or the program ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs.h"
#include "zoo.h"

static const char *number_of(pid_t pid)
{
    static char numbers[4][16];
    static unsigned next;
    char *text = numbers[next++ % 4];
    snprintf(text, sizeof numbers[0], "%d", (int)pid);
    return text;
}

static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

/* --- Go --- */

static const char go_source[] = "package main\n"
                                "import (\"fmt\"; \"time\")\n"
                                "func main() {\n"
                                "\tfmt.Println(\"started\")\n"
                                "\tfor { time.Sleep(20 * time.Millisecond) }\n"
                                "}\n";

/* sonde reports it at once and when the watch ends. */
TIMED_TEST(a_go_program_is_named_as_not_watched, 120)
{
    if (!program_on_path("go")) {
        SKIP("no go on PATH");
    }
    test_write_file(in_folder("main.go"), go_source, sizeof go_source - 1);
    const char *built = in_folder("go_program");
    struct test_run build =
        test_run((const char *[]){"env", "GO111MODULE=off", "go", "build", "-ldflags=-s -w", "-o",
                                  built, in_folder("main.go"), NULL},
                 NULL, NULL, 100);
    if (build.status != 0) {
        FAIL("go build: %s", build.err);
    }
    test_run_done(&build);
    struct program go = program_start((const char *[]){built, NULL});
    program_await(&go, "started", 30);
    struct program watch =
        program_start((const char *[]){program_sonde(), "watch", number_of(go.pid), NULL});
    program_await(&watch, "is a Go program, and not watched", 30);
    kill(watch.pid, SIGINT);
    CHECK_EQ(program_end(&watch, 30), 0);
    (void)program_stop(&go, 20);
    char *output = program_output(&watch);
    CHECK_CONTAINS(output, "nothing was watched: the process is a Go program");
    CHECK(strstr(output, "no event loop was found") == NULL);
    free(output);
}

/* --- whom a pid stands for --- */

TIMED_TEST(a_followed_child_with_the_pid_of_one_that_ended, 60)
{
    struct test_run can =
        test_run((const char *[]){"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                                  "echo 100 > /proc/sys/kernel/ns_last_pid", NULL},
                 NULL, NULL, 20);
    if (can.status != 0) {
        SKIP("pids cannot be chosen here: %s", can.err);
    }
    test_run_done(&can);
    struct test_run run = test_run(
        (const char *[]){"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                         "python3 \"$0\" \"$1\" $2 > \"$3\" & exec \"$4\" watch --follow $!",
                         program_source("watchpid/used_again.py"),
                         program_built("watchpid/watchpid_epoll"), zoo_ms(1300), in_folder("pids"),
                         program_sonde(), NULL},
        NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    int first = 0, second = 0;
    char *pids = test_read_file(in_folder("pids"), NULL), line[64];
    CHECK(sscanf(pids, "started pids %d %d", &first, &second) == 2);
    free(pids);
    if (first != second) {
        SKIP("another process took the pid");
    }
    snprintf(line, sizeof line, "watchpid_epoll[%d]: watched 1 loop", first);
    const char *one = strstr(run.err, line);
    if (one == NULL || strstr(one + 1, line) == NULL) {
        FAIL("both have a watch: %s", run.err);
    }
    test_run_done(&run);
}

TEST(a_process_of_another_user_is_named)
{
    struct program program = program_start((const char *[]){"sleep", "100", NULL});
    struct test_run run =
        test_run((const char *[]){"setpriv", "--reuid=65534", "--clear-groups", program_sonde(),
                                  "watch", number_of(program.pid), NULL},
                 NULL, NULL, 60);
    (void)program_stop(&program, 20);
    if (geteuid() != 0 || run.status == 127 || strstr(run.err, "setpriv:") != NULL) {
        SKIP("setpriv does not work here");
    }
    CHECK_EQ(run.status, 4);
    CHECK_CONTAINS(run.err, "belongs to user 0: run as root");
    test_run_done(&run);
}

/* --- a stall that the watch does not see the end of --- */

/* `signal` ends the watch during a stall; the spool reports `state` for it. */
static void end_the_watch(int signal, int status, const char *state)
{
    struct program idle = program_start((const char *[]){
        "env", "INJECT_AFTER=2", program_built("watchpid/watchpid_epoll"), "60000", "sleep", NULL});
    const char *spool = in_folder("spool");
    CHECK_EQ(mkdir(spool, 0700), 0);
    program_await(&idle, "started", 30);
    struct program watch =
        program_start((const char *[]){program_sonde(), "watch", "--stall", zoo_stall(), "--spool",
                                       spool, number_of(idle.pid), NULL});
    /* the name of a report with a stall of it */
    for (unsigned i = 0;; i++) {
        struct test_run list = test_run(
            (const char *[]){program_sonde(), "spool", "list", spool, NULL}, NULL, NULL, 30);
        bool begun = strstr(list.out, "1 stall") != NULL;
        if (!begun && i == 200) {
            FAIL("no stall in the spool: %s%s", list.out, list.err);
        }
        test_run_done(&list);
        if (begun) {
            break;
        }
        program_pause_ms(50);
    }
    kill(watch.pid, signal);
    CHECK_EQ(program_end(&watch, 30), status);
    (void)program_stop(&idle, 20);
    struct test_run list =
        test_run((const char *[]){program_sonde(), "spool", "list", spool, NULL}, NULL, NULL, 30);
    CHECK_CONTAINS(list.out, state);
    CHECK_CONTAINS(list.out, "1 stall");
    test_run_done(&list);
    struct test_run finish =
        test_run((const char *[]){program_sonde(), "spool", "finish", spool, NULL}, NULL, NULL, 60);
    CHECK_EQ(finish.status, 0);
    test_run_done(&finish);
    struct test_run show = test_run((const char *[]){"sh", "-c", "exec \"$0\" show \"$1\"/*.sonde",
                                                     program_sonde(), spool, NULL},
                                    NULL, NULL, 60);
    CHECK_CONTAINS(show.out, "blocked in clock_nanosleep");
    CHECK_CONTAINS(show.out, "inject_sleep");
    test_run_done(&show);
}

TIMED_TEST(a_watch_that_is_terminated_keeps_the_stall, 60)
{
    end_the_watch(SIGTERM, 0, " over ");
}

TIMED_TEST(a_watch_that_is_killed_keeps_the_stall, 60)
{
    end_the_watch(SIGKILL, 128 + SIGKILL, " killed ");
}

/* --- services --- */

/* Like systemd: WATCHDOG=1 through NOTIFY_SOCKET, and SIGABRT when it is missing. */
TIMED_TEST(stacks_before_a_service_manager_ends_the_service, 60)
{
    struct program manager =
        program_start((const char *[]){"python3", program_source("watchpid/service_manager.py"),
                                       zoo_ms(4000), test_folder(), NULL});
    program_await(&manager, "service ", 30);
    int service = 0;
    char *said = program_output(&manager);
    CHECK(sscanf(said, "service %d", &service) == 1);
    free(said);
    struct program watch = program_start((const char *[]){
        "sh", "-c", "exec 2> \"$2/watch\"; echo on; exec \"$0\" watch --stall 250ms \"$1\"",
        program_sonde(), number_of((pid_t)service), test_folder(), NULL});
    program_await(&watch, "on", 30);
    program_pause_ms(700 * test_slack());
    test_write_file(in_folder("hang"), "", 0);
    CHECK_EQ(program_end(&manager, 50), 0);
    CHECK_EQ(program_end(&watch, 30), 0);
    char *output = program_output(&manager);
    CHECK_CONTAINS(output, "before the end: the watchdog of the service allows");
    CHECK_CONTAINS(output, "before the end: hang_for_good");
    free(output);
}

/* The same with `sonde run` in ExecStart, as in the drop-in: the service manager still sees one
 * process, which notifies it and which it ends. */
TIMED_TEST(stacks_before_a_service_manager_ends_a_service_under_run, 60)
{
    struct program manager = program_start((const char *[]){
        "python3", program_source("watchpid/service_manager.py"), zoo_ms(4000), test_folder(),
        program_sonde(), "run", "--stall", "250ms", "--spool", in_folder("spool"), "--", NULL});
    program_await(&manager, "service ", 30);
    program_pause_ms(700 * test_slack());
    test_write_file(in_folder("hang"), "", 0);
    CHECK_EQ(program_end(&manager, 50), 0);
    char *output = program_output(&manager);
    CHECK_CONTAINS(output, "before the end: the watchdog of the service allows");
    CHECK_CONTAINS(output, "before the end: hang_for_good");
    CHECK_CONTAINS(output, "ended by 6");
    CHECK(strstr(output, "another process said") == NULL);
    free(output);
}
