// SPDX-License-Identifier: Apache-2.0
/* Watching ends no call early: a thread that alternates 20 us of work and 200 us of each of 17
 * blocking calls, inside stalls, so that it is sampled all the time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

/* prefix: a program that refuses something to those that it starts, or null. */
static bool watch_calls(const char *const prefix[], unsigned *ret_early)
{
    const char *list[16];
    char report[128];
    unsigned made_all = 0;
    unsigned early_all = 0;
    size_t n = 0;
    snprintf(report, sizeof report, "%s/report", test_folder());
    for (; prefix != NULL && *prefix != NULL; prefix++) {
        list[n++] = *prefix;
    }
    const char *const rest[] = {program_sonde(),
                                "run",
                                "--stall",
                                "50ms",
                                "--report",
                                report,
                                "--",
                                program_built("zoo/zoo_alternate"),
                                test_long() ? "9" : "1",
                                NULL};
    memcpy(&list[n], rest, sizeof rest);
    struct test_run run = test_run(list, NULL, NULL, 180);
    CHECK_EQ(run.status, 0);
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char call[64];
        unsigned made, early;
        if (sscanf(line, "%63s made %u early %u", call, &made, &early) == 3) {
            made_all += made;
            early_all += early;
            if (made == 0 || early != 0) {
                fprintf(stderr, "  %s: %u of %u calls ended early\n", call, early, made);
            }
        }
    }
    struct zoo zoo = {0};
    zoo_read(&zoo, "", report);
    unsigned stalls = 0;
    unsigned samples = 0;
    bool perf = true;
    const char *sampler = "none";
    JSON_EACH(stall, json_need(zoo.report, "stalls"))
    {
        int64_t seen_ns = 0;
        JSON_EACH(sample, json_need(stall, "samples"))
        {
            seen_ns += json_int(sample, "weight_ns");
            samples++;
        }
        CHECK(seen_ns >= json_int(stall, "duration_ns") / 2);
        stalls++;
        perf = perf && strcmp(json_text(stall, "sampler"), "passive+perf") == 0;
        sampler = perf || strcmp(json_text(stall, "sampler"), "passive+perf") != 0
                      ? json_text(stall, "sampler")
                      : sampler;
    }
    fprintf(stderr, "  %u calls in %u stalls, %u different samples, %u ended early (%s)\n",
            made_all, stalls, samples, early_all, sampler);
    CHECK(stalls >= 16);
    CHECK(samples >= stalls * 4);
    zoo_done(&zoo);
    test_run_done(&run);
    *ret_early = early_all;
    return perf;
}

TEST_TIMEOUT(calls_end_in_their_time, 200)
{
    unsigned early;
    if (!watch_calls(NULL, &early)) {
        SKIP("this machine refuses perf events: %u calls ended early", early);
    }
    CHECK_EQ(early, 0);
}

/* Where perf events are refused, as in many containers, the rate is what it is: printed. */
TEST_TIMEOUT(calls_where_perf_is_refused, 200)
{
    unsigned early;
    CHECK(!watch_calls((const char *[]){program_built("support/refuse"), "perf", NULL}, &early));
}

TEST_TIMEOUT(calls_where_perf_and_ptrace_are_refused, 200)
{
    unsigned early;
    CHECK(!watch_calls((const char *[]){program_built("support/refuse"), "perf,ptrace", NULL},
                       &early));
}
