// SPDX-License-Identifier: Apache-2.0
/* Watching ends no call early: a thread alternates work and 200 us of each of 17 blocking calls
 * inside stalls, so that the watch samples it all the time. With perf events no call ends early. If
 * a running thread must be stopped or signalled, the test measures and prints the rate, and the
 * watch reports it.
 *
 * With --long each path takes 60 seconds; SONDE_TEST_ROUNDS is the number of rounds of 4.4 seconds
 * where that is not enough (231: each call for 60 seconds). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

struct outcome {
    unsigned made, early;
    unsigned sent, told_early; /* by the watch's last message */
    char sampler[32];
};

static const char *rounds(void)
{
    const char *asked = getenv("SONDE_TEST_ROUNDS");
    return asked != NULL ? asked : test_long() ? "14" : "1";
}

static void count_calls(char *output, struct outcome *o)
{
    for (char *line = strtok(output, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char call[64];
        unsigned made, early;
        if (sscanf(line, "%63s made %u early %u", call, &made, &early) == 3) {
            o->made += made;
            o->early += early;
            if (made == 0 || early != 0 || test_long()) {
                fprintf(stderr, "  %s: %u of %u calls ended early\n", call, early, made);
            }
            CHECK(made > 0);
        }
    }
}

static void read_signals(const char *text, struct outcome *o)
{
    const char *at = strstr(text, "threads were asked by ");
    if (at != NULL) {
        CHECK_EQ(sscanf(at,
                        "threads were asked by %u signals (SIGURG): %*u not answered in time, %*u "
                        "too late, %u "
                        "ended a call early",
                        &o->sent, &o->told_early),
                 2);
    }
}

/* The time for which the machine gave the watch no processor: before its first look, or later. */
static int64_t late_of(const struct json *stall)
{
    int64_t late_ns = 0;
    if (json_get(stall, "uncovered") == NULL) {
        return 0;
    }
    JSON_EACH(u, json_need(stall, "uncovered"))
    {
        const char *reason = json_text(u, "reason");
        if (strcmp(reason, "late") == 0 || strcmp(reason, "before") == 0) {
            late_ns += json_int(u, "duration_ns");
        }
    }
    return late_ns;
}

/* False: by chance too few samples to say that calls were disturbed often. */
static bool check_report(const char *report, unsigned samples_each, struct outcome *o)
{
    struct zoo zoo = {0};
    unsigned stalls = 0, samples = 0;
    zoo_read(&zoo, "", report);
    JSON_EACH(stall, json_need(zoo.report, "stalls"))
    {
        int64_t seen_ns = 0;
        JSON_EACH(sample, json_need(stall, "samples"))
        {
            seen_ns += json_int(sample, "weight_ns");
            samples++;
        }
        CHECK(seen_ns >= (json_int(stall, "duration_ns") - late_of(stall)) / 2);
        stalls++;
        snprintf(o->sampler, sizeof o->sampler, "%s", json_text(stall, "sampler"));
    }
    fprintf(stderr,
            "  %s: %u calls in %u stalls, %u different samples, %u signals; %u calls ended early\n",
            o->sampler, o->made, stalls, samples, o->sent, o->early);
    CHECK(stalls >= 16);
    zoo_done(&zoo);
    return samples >= stalls * samples_each;
}

/* prefix: words before `sonde run`, or null. */
static bool watch_once(const char *const prefix[], const char *sampler, const char *work_us,
                       struct outcome *ret_outcome)
{
    struct outcome o = {0};
    const char *list[25];
    char report[128], stall[16];
    size_t n = 0;
    snprintf(report, sizeof report, "%s/report", test_folder());
    for (; prefix != NULL && *prefix != NULL; prefix++) {
        list[n++] = *prefix;
    }
    snprintf(stall, sizeof stall, "%sms", zoo_ms(50));
    const char *const rest[] = {program_sonde(),
                                "run",
                                "--stall",
                                stall,
                                "--sampler",
                                sampler,
                                "--equal=0",
                                "--report",
                                report,
                                "--",
                                program_built("zoo/zoo_alternate"),
                                rounds(),
                                work_us,
                                zoo_ms(260),
                                NULL};
    memcpy(&list[n], rest, sizeof rest);
    struct test_run run = test_run(list, NULL, NULL, 1700);
    CHECK_ALWAYS(run.status == 0);
    count_calls(run.out, &o);
    read_signals(run.err, &o);
    /* work too short for a stop or signal: most samples have the one stack of the wait */
    bool is_enough = check_report(report, strcmp(work_us, "20") == 0 && prefix != NULL ? 1 : 4, &o);
    test_run_done(&run);
    *ret_outcome = o;
    return is_enough;
}

/* The number of different samples is random: 72 to 143 of 17 stalls. If it is too low, repeat; no
 * run may disturb a call. */
static struct outcome watch_calls(const char *const prefix[], const char *sampler,
                                  const char *work_us)
{
    struct outcome o;
    bool is_enough = false;
    for (int i = 0; i < 3 && !is_enough; i++) {
        is_enough = watch_once(prefix, sampler, work_us, &o);
    }
    CHECK(is_enough);
    return o;
}

TIMED_TEST(calls_end_in_their_time, 1800)
{
    struct outcome o = watch_calls(NULL, "auto", "20");
    if (strcmp(o.sampler, "passive+perf") != 0) {
        SKIP("this machine refuses perf events: %u calls ended early", o.early);
    }
    CHECK_ALWAYS(o.early == 0);
}

/* Perf events are refused, as in many containers. */
TIMED_TEST(calls_where_perf_is_refused, 1800)
{
    struct outcome o =
        watch_calls((const char *[]){program_built("support/refuse"), "perf", NULL}, "auto", "20");
    CHECK_STR(o.sampler, "passive+ptrace");
    CHECK(o.early <= o.made / 100);
}

TIMED_TEST(calls_where_perf_and_ptrace_are_refused, 1800)
{
    struct outcome o = watch_calls(
        (const char *[]){program_built("support/refuse"), "perf,ptrace", NULL}, "auto", "20");
    CHECK_STR(o.sampler, "passive+signal");
    CHECK(o.early <= o.made / 100);
    CHECK_ALWAYS(o.told_early >= o.early);
}

/* Work of 20 us ends before a thread counts as running. Here it is long enough for samples, so the
 * signal meets threads that are about to wait. */
TIMED_TEST(calls_of_a_thread_that_is_signalled, 1800)
{
    struct outcome o = watch_calls(NULL, "signal", "1000");
    CHECK_STR(o.sampler, "passive+signal");
    CHECK(o.sent >= 50);
    CHECK(o.early <= o.sent / 2);
    CHECK_ALWAYS(o.told_early >= o.early); /* the watch saw each of them */
}
