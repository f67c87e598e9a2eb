// SPDX-License-Identifier: Apache-2.0
/* `sonde watch` of a program that waits: the watch sleeps, too, and wakes up in time. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

/* How often a thread of the process gave up its CPU to wait: each time is a wake-up later. */
static unsigned long waits_of(int pid)
{
    char folder[64], path[384], line[256];
    unsigned long sum = 0, n;
    snprintf(folder, sizeof folder, "/proc/%d/task", pid);
    DIR *tasks = opendir(folder);
    for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s/status", folder, e->d_name);
        FILE *status = e->d_name[0] != '.' ? fopen(path, "re") : NULL;
        while (status != NULL && fgets(line, sizeof line, status) != NULL) {
            sum += sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ? n : 0;
        }
        if (status != NULL) {
            (void)fclose(status);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum;
}

enum { QUIET_MS = 5000, WAITS_MAX = 4 };

/* The program is quiet: count the wake-ups of the watch in 3 s, after it had a second to fall
 * asleep. */
static unsigned long count_wakeups(struct program *program, int watch, unsigned round)
{
    char quiet[16];
    snprintf(quiet, sizeof quiet, "quiet %u", round);
    program_await(program, quiet, 60);
    program_pause_ms(1000 * test_slack());
    unsigned long before = waits_of(watch);
    program_pause_ms(3000 * test_slack());
    return waits_of(watch) - before;
}

static void compare(const struct json *stalls, const char *output)
{
    unsigned count = 0;
    const char *at = output;
    JSON_EACH(stall, stalls)
    {
        long long us;
        at = strstr(at, "stalled ");
        CHECK(at != NULL && sscanf(at, "stalled %lld", &us) == 1);
        int64_t error = json_int(stall, "duration_ns") / 1000 - us;
        if (llabs(error) > (10000 + us / 50) * (long long)test_slack()) {
            FAIL("a stall of %lld us is %lld us off", us, (long long)error);
        }
        CHECK_CONTAINS(json_text(stall, "summary"), "under stall (");
        at++;
        count++;
    }
    CHECK_EQ(count, 3);
}

/* Compare the report with what the program has printed. */
static void compare_report(const char *report, struct program *program)
{
    char *output = program_output(program);
    struct test_run show =
        test_run((const char *[]){program_sonde(), "show", "--json", report, NULL}, NULL, NULL, 60);
    CHECK_EQ(show.status, 0);
    struct json *parsed = json_parse(show.out);
    compare(json_get(parsed, "stalls"), output);
    json_free(parsed);
    test_run_done(&show);
    free(output);
}

/* Start the quiet program, and a watch of it. kind: NULL, or "thread". */
static void start(const char *kind, const char *report, struct program *ret_program,
                  struct program *ret_watch)
{
    char number[16], quiet[16];
    snprintf(quiet, sizeof quiet, "%u", QUIET_MS * test_slack());
    *ret_program = program_start(
        (const char *[]){program_built("watchpid/watchpid_quiet"), quiet, zoo_ms(400), kind, NULL});
    program_await(ret_program, "started", 30);
    snprintf(number, sizeof number, "%d", ret_program->pid);
    *ret_watch = program_start((const char *[]){program_sonde(), "watch", "--equal=0", "--stall",
                                                zoo_stall(), "--report", report, number, NULL});
}

TIMED_TEST(a_quiet_program_does_not_wake_the_watch, 240)
{
    char report[256];
    struct program program, watch;
    snprintf(report, sizeof report, "%s/report", test_folder());
    start(NULL, report, &program, &watch);
    unsigned long wakeups[3];
    for (unsigned round = 0; round < 3; round++) {
        wakeups[round] = count_wakeups(&program, watch.pid, round + 1);
    }
    CHECK_EQ(program_end(&program, 60), 0);
    CHECK_EQ(program_end(&watch, 30), 0);
    char *said = program_output(&watch);
    if (strstr(said, "perf events are refused") != NULL) {
        SKIP("perf events are refused");
    }
    fprintf(stderr, "  wake-ups in 3 s: %lu, %lu, %lu\n", wakeups[0], wakeups[1], wakeups[2]);
    for (unsigned round = 0; round < 3; round++) {
        CHECK(wakeups[round] <= WAITS_MAX);
    }
    compare_report(report, &program);
    free(said);
}

/* The watch must not sleep while it does not know a thread. */
TIMED_TEST(stalls_of_threads_that_a_quiet_program_starts, 240)
{
    char report[256];
    struct program program, watch;
    snprintf(report, sizeof report, "%s/report", test_folder());
    start("thread", report, &program, &watch);
    CHECK_EQ(program_end(&program, 120), 0);
    CHECK_EQ(program_end(&watch, 30), 0);
    compare_report(report, &program);
}
