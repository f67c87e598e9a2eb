// SPDX-License-Identifier: Apache-2.0
/* `sonde watch`: ways to select processes, its end, and services. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "programs.h"
#include "zoo.h"

static struct program start_idle(void)
{
    struct program program = program_start(
        (const char *[]){program_built("watchpid/watchpid_epoll"), "1000000", "idle", NULL});
    program_await(&program, "started", 30);
    return program;
}

static const char *number_of(const struct program *program)
{
    static char numbers[4][16];
    static unsigned next;
    char *text = numbers[next++ % 4];
    snprintf(text, sizeof numbers[0], "%d", (int)program->pid);
    return text;
}

TIMED_TEST(ended_by_an_interrupt_or_by_time, 60)
{
    struct program idle = start_idle();
    struct program watch = program_start(
        (const char *[]){program_sonde(), "watch", "--verbose", number_of(&idle), NULL});
    program_await(&watch, "watching process", 30);
    kill(watch.pid, SIGINT);
    CHECK_EQ(program_end(&watch, 30), 0);
    char *output = program_output(&watch);
    CHECK_CONTAINS(output, "threads looked at");
    free(output);

    char path[128];
    snprintf(path, sizeof path, "%s/out.json", test_folder());
    struct test_run run = test_run((const char *[]){program_sonde(), "watch", "--for", "300ms",
                                                    "--json", path, number_of(&idle), NULL},
                                   NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    char *text = test_read_file(path, NULL);
    struct json *report = json_parse(text);
    CHECK_STR(json_text(report, "kind"), "watch");
    CHECK_STR(json_text(report, "source"), "watch");
    json_free(report);
    free(text);
    (void)program_stop(&idle, 20);
}

TIMED_TEST(options_of_the_environment, 60)
{
    struct program idle = start_idle();
    struct test_run run =
        test_run((const char *[]){"env", "SONDE_WATCH_FOR=300ms", "SONDE_WATCH_QUIET=1",
                                  program_sonde(), "watch", number_of(&idle), NULL},
                 NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    test_run_done(&run);
    run = test_run((const char *[]){"env", "SONDE_WATCH_STALL=soon", program_sonde(), "watch",
                                    number_of(&idle), NULL},
                   NULL, NULL, 60);
    CHECK_EQ(run.status, 2);
    CHECK_CONTAINS(run.err, "SONDE_WATCH_STALL: ");
    test_run_done(&run);
    (void)program_stop(&idle, 20);
}

/* Lines to the journal begin with their priority. */
TIMED_TEST(lines_to_the_journal, 60)
{
    struct program idle = start_idle();
    char path[128];
    snprintf(path, sizeof path, "%s/journal", test_folder());
    struct test_run run = test_run(
        (const char *[]){"sh", "-c",
                         "exec 2>\"$2\"; JOURNAL_STREAM=$(stat -c %d:%i \"$2\") exec \"$0\" "
                         "watch --for 300ms \"$1\"",
                         program_sonde(), number_of(&idle), path, NULL},
        NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    char *text = test_read_file(path, NULL);
    CHECK(strncmp(text, "<5>sonde watch: ", 16) == 0);
    free(text);
    (void)program_stop(&idle, 20);
}

TIMED_TEST(children_that_are_followed, 60)
{
    char after[32], line[512];
    snprintf(after, sizeof after, "INJECT_AFTER=%u", 5 + test_slack());
    snprintf(line, sizeof line, "%s %s sleep & wait", program_built("watchpid/watchpid_epoll"),
             zoo_ms(400));
    struct program shell = program_start((const char *[]){"env", after, "sh", "-c", line, NULL});
    program_await(&shell, "started", 30);
    struct test_run run =
        test_run((const char *[]){program_sonde(), "watch", "--stall", zoo_stall(), "--follow",
                                  number_of(&shell), NULL},
                 NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "watchpid_epoll[");
    CHECK_CONTAINS(run.err, "its event loop stalled:");
    CHECK_CONTAINS(run.err, "inject_sleep");
    test_run_done(&run);
    (void)program_end(&shell, 20);
}

/* A service manager ends a service whose loop hangs: sonde prints the stacks before. */
TIMED_TEST(a_watchdog_that_is_nearly_due, 60)
{
    char after[32], period[48], report[128];
    snprintf(after, sizeof after, "INJECT_AFTER=%u", 4 + test_slack());
    snprintf(period, sizeof period, "WATCHDOG_USEC=%s000", zoo_ms(1000));
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct program service = program_start((const char *[]){
        "env", after, period, program_built("watchpid/watchpid_epoll"), "60000", "sleep", NULL});
    program_await(&service, "started", 30);
    struct program watch =
        program_start((const char *[]){program_sonde(), "watch", "--stall", zoo_stall(), "--report",
                                       report, number_of(&service), NULL});
    program_await(&watch, "the watchdog of the service allows", 50);
    program_await(&watch, "wait_for_nothing", 30); /* the other threads */
    kill(service.pid, SIGABRT);
    CHECK_EQ(program_end(&watch, 30), 0);
    (void)program_end(&service, 20);
    char *output = program_output(&watch);
    CHECK_CONTAINS(output, "inject_sleep");
    CHECK_CONTAINS(output, "1 stall");
    free(output);
}

/* A process under sonde run is watched, too, with a message. */
TIMED_TEST(a_process_that_is_watched_already, 60)
{
    struct program run = program_start((const char *[]){program_sonde(), "run", "--",
                                                        program_built("watchpid/watchpid_epoll"),
                                                        "1000000", "idle", NULL});
    program_await(&run, "started", 30);
    struct test_run watch = test_run(
        (const char *[]){program_sonde(), "watch", "--for", "300ms", number_of(&run), NULL}, NULL,
        NULL, 60);
    CHECK_EQ(watch.status, 0);
    CHECK_CONTAINS(watch.err, "is watched by sonde run already (supervisor ");
    test_run_done(&watch);
    struct test_run doctor = test_run(
        (const char *[]){program_sonde(), "doctor", number_of(&run), NULL}, NULL, NULL, 60);
    CHECK_CONTAINS(doctor.out, "sonde run watches it already (supervisor ");
    test_run_done(&doctor);
    (void)program_stop(&run, 20);
}
