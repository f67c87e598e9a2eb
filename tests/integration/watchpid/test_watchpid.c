// SPDX-License-Identifier: Apache-2.0
/* `sonde watch PID`: stalls of programs that run already are found from outside, with the durations
 * that the programs print, and blamed on what was injected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

static struct test_run watch(int pid, const char *report)
{
    char number[16];
    snprintf(number, sizeof number, "%d", pid);
    return test_run((const char *[]){program_sonde(), "watch", "--stall", zoo_stall(), "--report",
                                     report, number, NULL},
                    NULL, NULL, 90);
}

/* Runs the program, watches it until it ends, and reads both accounts. */
static void run_watched(struct zoo *zoo, const char *const argv[])
{
    char report[128], after[32];
    const char *list[16] = {"env", after};
    for (size_t n = 0; argv[n] != NULL; n++) {
        list[n + 2] = strcmp(argv[n], "400") == 0 ? zoo_ms(400) : argv[n];
    }
    snprintf(after, sizeof after, "INJECT_AFTER=%u", 4 + test_slack());
    snprintf(report, sizeof report, "%s/report", test_folder());
    memset(zoo, 0, sizeof *zoo);
    struct program program = program_start(list);
    program_await(&program, "started", 30);
    struct test_run run = watch(program.pid, report);
    if (run.status != 0 || run.timed_out) {
        FAIL("sonde watch ended with %d: %s", run.status, run.err);
    }
    int status = program_end(&program, 30);
    char *output = program_output(&program);
    if (status != 0) {
        FAIL("%s ended with %d: %s", argv[0], status, output);
    }
    CHECK_CONTAINS(run.err, "sonde watch: watched ");
    zoo_read(zoo, output, report);
    free(output);
    test_run_done(&run);
}

static const char *expected_loop;

static void check(const struct zoo_truth *truth, const struct json *stall)
{
    int64_t ms = json_int(stall, "duration_ns") / 1000000;
    int64_t error = ms > truth->ms ? ms - truth->ms : truth->ms - ms;
    CHECK_STR(json_text(stall, "loop"), expected_loop);
    CHECK(json_bool(stall, "main"));
    if (error > (int64_t)(20 + truth->ms / 20) * test_slack()) {
        FAIL("%s took %u ms, %lld ms were reported", truth->kind, truth->ms, (long long)ms);
    }
    if (strncmp(truth->kind, "inject_", 7) == 0) {
        zoo_need_on_path(stall, truth->kind);
    }
}

static void find(const char *const argv[], const char *loop)
{
    struct zoo zoo;
    expected_loop = loop;
    run_watched(&zoo, argv);
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
}

#define STALLS "burn", "sleep", "read", "poll", "flock", "mutex", "cond", "child"

TIMED_TEST(epoll, 60)
{
    find((const char *[]){program_built("watchpid/watchpid_epoll"), "400", STALLS, NULL}, "epoll");
}

TIMED_TEST(a_static_program, 60)
{
    find((const char *[]){program_built("watchpid/watchpid_static"), "400", "burn", "sleep",
                          "mutex", "read", NULL},
         "epoll");
}
