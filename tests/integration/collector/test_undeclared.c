// SPDX-License-Identifier: Apache-2.0
/* What a build calls and does not declare, by reports of `sonde run` and the build's manifests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "manifests.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* An audit of the program; the rule of statvfs() has Apple's category. */
#define AUDIT                                                                                      \
    "printf '%s\\n' '[rule \"disk\"]' 'api = statvfs' 'class = " PREFIX "DiskSpace' "              \
    "'[rule \"names\"]' 'api = gethostname' >rules.ini; "                                          \
    "$SONDE run -q --audit rules.ini --build 1 --device a -o r -- "                                \
    "${LOOP%/run/run_loop}/collector/collector_asked measure:3 consent measure:2 identify:1 "      \
    ">said 2>&1 || cat said; post -H \"Authorization: Bearer $INGEST\" --data-binary @r; "

static const struct json *category_of(const struct json *part, const char *name)
{
    const struct json *one = json_need(part, "categories")->first;
    char full[128];
    snprintf(full, sizeof full, PREFIX "%s", name);
    while (one != NULL && strcmp(json_text(one, "category"), full) != 0) {
        one = one->next;
    }
    CHECK(one != NULL);
    return one;
}

static void check_state(const struct collector_run *run, const char *category, const char *state,
                        int undeclared)
{
    struct json *answer = collector_get(run, "/api/projects/default/builds/1/undeclared");
    const struct json *part = json_need(answer, "parts")->first;
    CHECK_STR(json_text(category_of(part, category), "state"), state);
    CHECK_EQ(json_int(answer, "undeclared"), undeclared);
    json_free(answer);
}

/* The calls with their group, path and consent. */
static void check_calls(const struct collector_run *run, const char *declared)
{
    struct json *answer = collector_get(run, "/api/projects/default/builds/1/undeclared");
    const struct json *calls = json_need(answer, "calls");
    CHECK_EQ(calls->count, 1); /* gethostname() needs no reason */
    const struct json *call = calls->first;
    CHECK_STR(json_text(call, "api"), "statvfs");
    CHECK_STR(json_need(call, "path")->first->text, "measure");
    CHECK_STR(json_need(call, "categories")->first->text, PREFIX "DiskSpace");
    CHECK_EQ(json_int(call, "count"), 5);
    CHECK_EQ(json_int(call, "before_consent"), 3);
    CHECK_EQ(json_int(call, "own_calls"), 5);
    CHECK(json_int(call, "group") > 0);
    CHECK_STR(json_text(call, "declared"), declared);
    json_free(answer);
}

TEST_TIMEOUT(undeclared_calls_of_a_build_are_listed, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, MANIFESTS AUDIT, "201\n");
    collector_settle(&run);
    check_state(&run, "DiskSpace", "called, and no manifest was given", 0);
    check_calls(&run, "unknown");
    check_script(&run,
                 MANIFESTS "page() { curl -s -m 20 -u me:$ADMIN $URL/projects/default/builds/1; }; "
                           "page >p; grep -c 'called, and no manifest was given' p; "
                           "grep -c '<p>the program: no manifest was given' p; "
                           "manifest XML FileTimestamp=C617.1; give 1 App.app m; "
                           "page | grep -c 'called but undeclared'",
                 "1\n1\n201\n1\n");
    check_state(&run, "DiskSpace", "called but undeclared", 1);
    check_state(&run, "FileTimestamp", "not known", 1); /* the audit did not look for it */
    check_calls(&run, "no");
    check_script(&run,
                 MANIFESTS "manifest BINARY FileTimestamp=C617.1 DiskSpace=E174.1,85F4.1; "
                           "give 1 App.app m; give 1 App.app m; api $URL/api/projects/default/"
                           "builds/1/manifests/App.app; cmp m answer && echo same",
                 "200\n200\n200\nsame\n");
    check_state(&run, "DiskSpace", "declared and called", 0);
    check_calls(&run, "yes");
    collector_stop(&run);
    collector_again(&run);
    check_script(
        &run,
        MANIFESTS "get /api/projects/default/builds/1/undeclared | tr -d '\\n ' | "
                  "grep -o '\"reasons\":\\[\"E174.1\",\"85F4.1\"\\]'; "
                  "api -X DELETE $URL/api/projects/default/builds/1/manifests/App.app; "
                  "api -X DELETE $URL/api/projects/default/builds/1/manifests/App.app; "
                  "get '/api/projects/default/actions?limit=2' | grep -o 'build 1: [^\"]*'",
        "\"reasons\":[\"E174.1\",\"85F4.1\"]\n200\n404\nbuild 1: manifest App.app removed\n"
        "build 1: manifest App.app given\n");
    check_state(&run, "DiskSpace", "called, and no manifest was given", 0);
    collector_stop(&run);
}

/* What is dropped by a filter cannot be said never to be called. */
TEST_TIMEOUT(filters_make_never_called_unknown, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 MANIFESTS
                 "printf 'statvfs\\nstat\\n' >list; $SONDE run -q --record list --build 1 -o r -- "
                 "${LOOP%/run/run_loop}/collector/collector_asked measure:1; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @r; "
                 "manifest XML FileTimestamp=C617.1 DiskSpace=E174.1; give 1 App.app m",
                 "201\n201\n");
    collector_settle(&run);
    check_state(&run, "FileTimestamp", "declared but never called", 0);
    check_script(&run, "$COLLECTOR filter --data data --project default add idle", "filter  1\n");
    check_state(&run, "FileTimestamp", "declared but never called", 0);
    check_script(&run, "$COLLECTOR filter --data data --project default add sdk=stats",
                 "filter  2\n");
    check_state(&run, "FileTimestamp", "not known", 0);
    collector_stop(&run);
}
