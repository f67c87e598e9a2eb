// SPDX-License-Identifier: Apache-2.0
/* A supervisor is paused: turns that began and ended meanwhile are reported by their own stamps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

/* Run the loop's turns and stop the supervisor for two seconds from the first one on. Times include
 * the test's slack. */
static char *run_stopped(const char *turns, struct test_run *ret_run)
{
    char sonde[512], loop[512], folder[512], script[2048];
    unsigned slack = test_slack();
    snprintf(sonde, sizeof sonde, "SONDE=%s", program_sonde());
    snprintf(loop, sizeof loop, "LOOP=%s", program_built("run/run_loop"));
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    snprintf(
        script, sizeof script,
        "$SONDE run -v --stall %ums --report $FOLDER/report -- $LOOP %s 2>$FOLDER/said & p=$!\n"
        "until grep -q 'supervisor [0-9]' $FOLDER/said; do sleep 0.01; done\n"
        "s=$(sed -n 's/.*supervisor \\([0-9]*\\) .*/\\1/p' $FOLDER/said)\n"
        "sleep %u.3; kill -STOP $s; sleep %u; kill -CONT $s\n"
        "wait $p; for i in $(seq 300); do kill -0 $s 2>/dev/null || break; sleep 0.1; done\n"
        "cat $FOLDER/said >&2; $SONDE show --json $FOLDER/report",
        250 * slack, turns, slack - 1, 2 * slack);
    *ret_run = test_run((const char *[]){"bash", "-c", script, NULL},
                        (const char *[]){sonde, loop, folder, NULL}, NULL, 100);
    return strchr(ret_run->out, '{');
}

static const char *turns_of(unsigned before, unsigned stall, const char *kind, unsigned after)
{
    static char text[128];
    unsigned slack = test_slack();
    snprintf(text, sizeof text, "idle:%u %s:%u idle:%u", before * slack, kind, stall * slack,
             after * slack);
    return text;
}

/* ran: the thread ran, or waited for a processor, all the time; the watch knows from two readings.
 */
static void check_found(const char *turns, unsigned ms, bool ran)
{
    struct test_run run;
    char *text = run_stopped(turns, &run);
    CHECK(text != NULL);
    struct json *report = json_parse(text);
    unsigned found = 0;
    JSON_EACH(stall, json_need(report, "stalls"))
    {
        int64_t lasted = json_int(stall, "duration_ns") / 1000000;
        int64_t error = lasted - (int64_t)(ms * test_slack());
        CHECK(error >= -20 && error <= 20 + (int64_t)ms * test_slack() / 10);
        CHECK_EQ(json_int(stall, "samples_early"), 0);
        CHECK(!ran ||
              (json_int(stall, "cpu_ns") + json_int(stall, "runqueue_ns")) / 1000000 > lasted / 2);
        found++;
    }
    CHECK_EQ(found, 1);
    CHECK_CONTAINS(run.err, "while the watch did not run");
    CHECK_CONTAINS(run.err, "no samples cover that time");
    CHECK_CONTAINS(run.err, ", 1 stall\n");
    json_free(report);
    test_run_done(&run);
}

TIMED_TEST(stall_while_the_supervisor_is_stopped, 100)
{
    check_found(turns_of(1000, 700, "sleep", 1500), 700, false);
    check_found(turns_of(1000, 700, "burn", 1500), 700, true);
}

/* The supervisor continues only after the program's last turn. */
TIMED_TEST(stall_of_a_program_that_ends_meanwhile, 100)
{
    check_found(turns_of(800, 600, "sleep", 20), 600, false);
}

TIMED_TEST(short_turns_while_the_supervisor_is_stopped, 100)
{
    struct test_run run;
    char *text = run_stopped(turns_of(1000, 100, "burn", 1500), &run);
    CHECK(text != NULL);
    CHECK(strstr(run.err, "\nstall ") == NULL);
    CHECK_CONTAINS(run.err, ", 0 stalls\n");
    test_run_done(&run);
}

/* A sampler by ptrace stays attached until the call returns. It is no debugger: the time of the
 * call counts. */
TIMED_TEST(one_long_call_sampled_by_ptrace, 60)
{
    char sonde[512], loop[512], folder[512], slack[32];
    int took = 0;
    snprintf(sonde, sizeof sonde, "SONDE=%s", program_sonde());
    snprintf(loop, sizeof loop, "LOOP=%s", program_built("run/run_loop"));
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    snprintf(slack, sizeof slack, "SLACK=%u", test_slack());
    struct test_run run =
        test_run((const char *[]){"bash", "-c",
                                  "$SONDE run --stall $((250 * SLACK))ms --sampler ptrace --report "
                                  "$FOLDER/report -- $LOOP populate:$((1500 * SLACK)) | head -1\n"
                                  "$SONDE show --json $FOLDER/report",
                                  NULL},
                 (const char *[]){sonde, loop, folder, slack, NULL}, NULL, 60);
    char *text = strchr(run.out, '{');
    if (text == NULL || sscanf(run.out, "took %d", &took) != 1 || took < 500 * (int)test_slack()) {
        SKIP("no call of this system takes so long");
    }
    struct json *report = json_parse(text);
    unsigned found = 0;
    JSON_EACH(one, json_need(report, "stalls"))
    {
        int64_t error = json_int(one, "duration_ns") / 1000000 - took;
        if (error < -took / 20 - 20 || error > took / 20 + 20) {
            FAIL("it took %d ms, %+lld ms were reported", took, (long long)error);
        }
        found++;
    }
    CHECK_EQ(found, 1);
    json_free(report);
    test_run_done(&run);
}

/* The reader of the report does not read: stalls queue. SIGTERM ends the watch, which writes all
 * stalls when the reader reads. */
TIMED_TEST(stalls_in_the_queue_when_the_watch_is_ended, 60)
{
    char sonde[512], loop[512], folder[512], slack[32];
    snprintf(sonde, sizeof sonde, "SONDE=%s", program_sonde());
    snprintf(loop, sizeof loop, "LOOP=%s", program_built("run/run_loop"));
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    snprintf(slack, sizeof slack, "SLACK=%u", test_slack());
    struct test_run run = test_run(
        (const char *[]){
            "bash", "-c",
            "cd $FOLDER; mkfifo fifo; exec 9<>fifo; t=sleep:$((120 * SLACK))\n"
            "dd if=/dev/zero of=fifo bs=4096 count=15 2>/dev/null\n" /* the pipe is nearly full */
            "$SONDE run -v --stall $((60 * SLACK))ms --report fifo -- $LOOP $t $t $t $t $t $t "
            "idle:$((2000 * SLACK)) >/dev/null 2>said & p=$!\n"
            "until [ $(grep -c 'not been back' said) -ge 1 ]; do sleep 0.02; done\n"
            "s=$(sed -n 's/.*supervisor \\([0-9]*\\) .*/\\1/p' said)\n"
            "sleep $((SLACK)).5; kill -TERM $s; sleep 0.3; kill -INT $s 2>/dev/null\n"
            "(timeout 8 cat <&9 | tail -c +61441 >report) & c=$!\n"
            "wait $p; for i in $(seq 100); do kill -0 $s 2>/dev/null || break; sleep 0.1; done\n"
            "wait $c; $SONDE show --json report",
            NULL},
        (const char *[]){sonde, loop, folder, slack, NULL}, NULL, 60);
    char *text = strchr(run.out, '{');
    CHECK(text != NULL);
    struct json *report = json_parse(text);
    unsigned found = 0;
    JSON_EACH(one, json_need(report, "stalls"))
    {
        found += json_int(one, "duration_ns") > 0;
    }
    CHECK_EQ(found, 6);
    CHECK_EQ(json_int(json_need(report, "totals"), "stalls"), 6);
    json_free(report);
    test_run_done(&run);
}
