// SPDX-License-Identifier: Apache-2.0
/* What each build of a program calls, and how two of them differ, by reports of `sonde run`. */
#include <stdio.h>
#include <stdlib.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* `audit BUILD MACHINE STEP...`: audit a run of asked.c, and post its report. */
#define AUDIT                                                                                      \
    "printf '%s\\n' '[rule \"names\"]' 'api = gethostname' 'severity = error' 'limit = 3/1m' "     \
    "'[rule \"never\"]' 'api = gethostid' '[sdk \"stats\"]' 'match = symbol:stat_*' >rules.ini; "  \
    "audit() { b=$1; d=$2; shift 2; $SONDE run -q --audit rules.ini --build \"$b\" --device $d "   \
    "-o r -- ${LOOP%/run/run_loop}/collector/collector_asked \"$@\" >said 2>&1 || cat said; "      \
    "post -H \"Authorization: Bearer $INGEST\" --data-binary @r; }; "

/* Of the first build calls only with consent; of the second one machine calls once before, and both
 * more often than the rule allows, also from an SDK. */
static void send_builds(const struct collector_run *run)
{
    check_script(run,
                 AUDIT "audit 1 a consent identify:2 old_way:1; "
                       "audit '2 x' a identify:1 consent identify:5 stat_send:1; "
                       "audit '2 x' b consent identify:6 stat_send:1",
                 "201\n201\n201\n");
    collector_settle(run);
}

static const struct json *at(const struct json *list, unsigned index)
{
    const struct json *one = list->first;
    for (; index > 0 && one != NULL; index--) {
        one = one->next;
    }
    CHECK(one != NULL);
    return one;
}

static void check_sum(const struct json *sum, int count, int before, int over, int devices)
{
    CHECK_EQ(json_int(sum, "count"), count);
    CHECK_EQ(json_int(sum, "before_consent"), before);
    CHECK_EQ(json_int(sum, "after_consent"), count - before);
    CHECK_EQ(json_int(sum, "after_refusal"), 0);
    CHECK_EQ(json_int(sum, "over_limit"), over);
    CHECK_EQ(json_int(sum, "devices"), devices);
}

static void check_calls(const struct collector_run *run)
{
    struct json *build = collector_get(run, "/api/projects/default/builds/2%20x/calls");
    const struct json *calls = json_need(build, "calls");
    CHECK_EQ(json_int(build, "reports"), 2);
    CHECK_EQ(json_int(build, "recorded"), 2);
    CHECK_EQ(json_int(build, "devices"), 2);
    CHECK_EQ(calls->count, 2);
    check_sum(at(calls, 0), 12, 1, 6, 2);
    CHECK_STR(json_text(at(calls, 0), "rule"), "names");
    CHECK_STR(json_text(at(calls, 0), "api"), "gethostname");
    CHECK_STR(json_text(at(calls, 0), "severity"), "error");
    CHECK_STR(json_need(at(calls, 0), "path")->first->text, "identify");
    CHECK_STR(json_need(at(calls, 0), "path")->first->next->text, "main");
    check_sum(at(calls, 1), 2, 0, 2, 2);
    CHECK_STR(json_text(at(calls, 1), "sdk"), "stats");
    char path[64];
    snprintf(path, sizeof path, "/api/projects/default/groups/%d",
             (int)json_int(at(calls, 0), "group"));
    json_free(build);
    struct json *group = collector_get(run, path);
    CHECK_CONTAINS(json_text(group, "why"), "gethostname  by identify < main");
    json_free(group);
}

static void check_change(const struct json *change, const char *what, const char *function,
                         const char *first_why)
{
    const struct json *why = json_need(change, "why");
    CHECK_STR(json_text(change, "change"), what);
    CHECK_STR(json_need(change, "path")->first->text, function);
    CHECK_STR(why->first != NULL ? why->first->text : "", first_why);
}

static void check_diff(const struct collector_run *run, const char *path)
{
    struct json *diff = collector_get(run, path);
    const struct json *changes = json_need(diff, "changes");
    CHECK_STR(json_text(diff, "base"), "1");
    CHECK_EQ(changes->count, 3);
    check_change(at(changes, 0), "new", "stat_send", "");
    check_change(at(changes, 1), "changed", "identify", "before_consent");
    CHECK_EQ(json_need(at(changes, 1), "why")->count, 3);
    check_sum(json_need(at(changes, 1), "now"), 12, 1, 6, 2);
    check_sum(json_need(at(changes, 1), "then"), 2, 0, 0, 1);
    check_change(at(changes, 2), "gone", "old_way", "");
    CHECK_EQ(json_int(diff, "new"), 1);
    CHECK_EQ(json_int(diff, "unsure"), 0);
    json_free(diff);
}

TEST_TIMEOUT(builds_differ_in_what_they_call, 120)
{
    struct collector_run run = collector_start(NULL);
    send_builds(&run);
    check_calls(&run);
    check_diff(&run, "/api/projects/default/builds/2%20x/diff?base=1");
    check_script(&run,
                 "WRITE=$($COLLECTOR key --data data add --role write); "
                 "curl -s -o answer -w '%{http_code}\\n' -H \"Authorization: Bearer $WRITE\" "
                 "-d build=1 $URL/api/projects/default/baseline; "
                 "get /api/projects/default/actions | grep -o 'baseline: build.*1'; "
                 "get '/api/projects/default/builds/2%20x/diff?limit=1' | "
                 "grep -c '\"change\"\\|\"left_out\": 2'",
                 "200\nbaseline: build 1\n2\n");
    check_diff(&run, "/api/projects/default/builds/2%20x/diff");
    check_script(
        &run,
        "page() { curl -s -m 20 -u me:$ADMIN $URL$1; }; "
        "page /projects/default | grep -o 'href=\"/projects/default/builds/[^\"]*'; "
        "page '/projects/default/builds/2%20x' >page; grep -c '<tr><td>error' page; "
        "grep -c 'identify &lt; main' page; grep -c '<script' page || true; "
        "page /projects/default/builds/1 | grep -o 'the baseline'",
        "href=\"/projects/default/builds/2%20x\nhref=\"/projects/default/builds/1\n2\n1\n0\n"
        "the baseline\n");
    collector_stop(&run);
}
