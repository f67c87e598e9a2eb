// SPDX-License-Identifier: Apache-2.0
/* Filters: what they drop makes no group, and is counted where people look. */
#include <stdlib.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* `send BUILD PHASE`: run the program with a stall of this kind, and post its report; `filter
 * ARGUMENT...`: the command, for the project. */
#define HELPERS                                                                                    \
    "send() { stalled r --build $1 -- $LOOP 20 $2:300 idle:10; "                                   \
    "post -H \"Authorization: Bearer $INGEST\" --data-binary @r; }; "                              \
    "filter() { $COLLECTOR filter --data data --project default \"$@\"; }; "

static void check_groups(const struct collector_run *run, unsigned count)
{
    struct json *groups = collector_get(run, "/api/projects/default/groups");
    CHECK_EQ(json_need(groups, "groups")->count, count);
    json_free(groups);
}

TEST_TIMEOUT(filtered_events_make_no_group, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, HELPERS "filter add 'build=night*'; send nightly sleep", "filter  1\n201\n");
    collector_settle(&run);
    check_groups(&run, 0);
    struct json *answer = collector_get(&run, "/api/projects/default/filters");
    const struct json *dropped = json_need(answer, "filters")->first;
    CHECK_STR(json_text(dropped, "drops"), "build=night*");
    CHECK_EQ(json_int(dropped, "reports"), 1);
    CHECK(json_int(dropped, "events") >= 1 && json_int(dropped, "total_ns") >= 100000000);
    json_free(answer);
    answer = collector_get(&run, "/api/projects/default/reports");
    CHECK_CONTAINS(json_text(json_need(answer, "reports")->first, "note"), "filtered: ");
    json_free(answer);
    check_script(&run,
                 HELPERS "get /metrics | grep -c 'filtered_events_total{project=\"default\","
                         "filter=\"build=night[*]\"} [1-9]'; "
                         "curl -s -m 20 -u me:$ADMIN $URL/projects/default | "
                         "grep -o 'filter build=night[*] dropped [1-9].*events of 1 reports'"
                         " | tr 0-9 N; filter | grep -o 'dropped .* of 1 reports' | tr 0-9 N; "
                         "send 1 sleep",
                 "1\nfilter build=night* dropped N events of N reports\n"
                 "dropped N events of N reports\n201\n");
    collector_settle(&run);
    check_groups(&run, 1);
    collector_stop(&run);
}

/* The command says what it does not take. */
TEST_TIMEOUT(filter_is_one_of_four, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        "filter() { $COLLECTOR filter --data data \"$@\" >out 2>err; echo $?; cat out; "
        "grep -o 'no filter.*\\|is for one.*\\|has this filter\\|takes add.*\\|not there\\|"
        "not the number.*' err || true; }; "
        "filter add idle; filter -p default add idler; filter -p default add idle; "
        "filter -p default add idle; filter remove x; filter remove; filter remove 1; "
        "filter remove 1; filter -p none list",
        "2\nis for one --project (see sonde-collector filter --help)\n"
        "2\nno filter (idle, system, build=NAME or sdk=NAME, where NAME may end in *): "
        "idler (see sonde-collector filter --help)\n"
        "0\nfilter  1\n1\nhas this filter\n"
        "2\nnot the number of a filter: x (see sonde-collector filter --help)\n"
        "2\ntakes add FILTER, list, or remove NUMBER (see sonde-collector filter --help)\n"
        "0\n3\n3\n");
    collector_stop(&run);
}
