// SPDX-License-Identifier: Apache-2.0
/* From a report to its group: what is sent is stored once, grouped, and given back unchanged. */
#include <stdlib.h>
#include <string.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

TEST_TIMEOUT(keys_are_shown_at_the_first_start_only, 60)
{
    struct collector_run run = collector_start(NULL);
    CHECK(strncmp(run.admin, "snt_", 4) == 0 && strlen(run.admin) == 44);
    CHECK(strncmp(run.ingest, "sni_", 4) == 0 && strlen(run.ingest) == 44);
    collector_stop(&run);
    collector_again(&run);
    char *output = program_output(&run.program);
    CHECK(strstr(output, "key") == NULL);
    free(output);
    check_script(&run, "get /api/projects | grep -o '\"name\": \"default\"'",
                 "\"name\": \"default\"\n");
    collector_stop(&run);
}

TEST_TIMEOUT(second_collector_of_a_folder_is_refused, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, "$COLLECTOR serve --data data --listen 127.0.0.1:0 2>&1; echo $?",
                 "sonde-collector serve: data: another collector runs with this folder\n1\n");
    collector_stop(&run);
}

/* The same report again, by id or without one, counts once. */
TEST_TIMEOUT(report_is_stored_once_and_grouped, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "H=\"Authorization: Bearer $INGEST\"; "
                 "ID='Idempotency-Key: \"00112233445566778899aabbccddeeff\"'; "
                 "post -H \"$H\" -H \"$ID\" --data-binary @$REPORT; cat answer; "
                 "i=0; while post -H \"$H\" -H \"$ID\" --data-binary @$REPORT | grep -q 201 && "
                 "[ $i -lt 100 ]; do i=$((i + 1)); sleep 0.05; done; cat answer",
                 "201\n{\"id\": \"00112233445566778899aabbccddeeff\", \"stored\": \"new\", "
                 "\"need_symbols\": []}\n"
                 "{\"id\": \"00112233445566778899aabbccddeeff\", \"stored\": \"known\", "
                 "\"need_symbols\": []}\n");
    collector_settle(&run);
    struct json *groups = collector_get(&run, "/api/projects/default/groups");
    const struct json *group = json_need(groups, "groups")->first;
    CHECK_EQ(json_need(groups, "groups")->count, 1);
    CHECK_STR(json_text(group, "kind"), "stall");
    CHECK_EQ(json_int(group, "count"), 1);
    CHECK(json_int(group, "longest_ns") > 250000000);
    CHECK_STR(json_text(group, "longest_report"), "00112233445566778899aabbccddeeff");
    /* the cause is that of `sonde show` */
    char *cause = collector_script(
        &run, "$SONDE show --json $REPORT | sed -n 's/.*\"fingerprint\": \"\\(.*\\)\",/\\1/p' | "
              "head -1 | tr -d '\\n'");
    CHECK_STR(json_text(group, "cause"), cause);
    free(cause);
    json_free(groups);
    check_script(&run,
                 "get /api/projects/default/reports/00112233445566778899aabbccddeeff | cmp - "
                 "$REPORT && echo equal",
                 "equal\n");
    collector_stop(&run);
}

TEST_TIMEOUT(sender_of_sonde_is_understood, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "$SONDE run -q --spool $PWD/spool -- $LOOP 20 sleep:300 idle:10 >/dev/null 2>&1; "
                 "ls spool | grep -c sonde; printf %s \"$INGEST\" >key; chmod 600 key; "
                 "$SONDE upload --to $URL --key-file key spool 2>&1 | grep -o stored; "
                 "ls spool | grep -c sonde || true",
                 "1\nstored\n0\n");
    collector_settle(&run);
    struct json *groups = collector_get(&run, "/api/projects/default/groups");
    CHECK_EQ(json_int(json_need(groups, "groups")->first, "count"), 1);
    json_free(groups);
    collector_stop(&run);
}

/* Machines are counted by their ids, builds by name; a page shows it without a script. */
TEST_TIMEOUT(group_counts_machines_and_builds, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "for i in 1 2 3; do stalled r$i --build v$i --device m$((i % 2)) -- $LOOP 20 "
                 "sleep:300 idle:10; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @r$i; done",
                 "201\n201\n201\n");
    collector_settle(&run);
    struct json *groups = collector_get(&run, "/api/projects/default/groups?sort=count");
    const struct json *group = json_need(groups, "groups")->first;
    CHECK_EQ(json_int(group, "count"), 3);
    CHECK_EQ(json_int(group, "devices"), 2);
    CHECK_STR(json_text(group, "first_build"), "v1");
    CHECK_STR(json_text(group, "last_build"), "v3");
    json_free(groups);
    struct json *whole = collector_get(&run, "/api/projects/default/groups/1");
    CHECK_CONTAINS(json_text(whole, "why"), "stall loop\nthread main\n");
    CHECK_EQ(json_need(whole, "reports")->count, 3);
    CHECK(json_need(whole, "sums")->count >= 3);
    json_free(whole);
    check_script(&run,
                 "curl -s -u me:$ADMIN $URL/projects/default | grep -o '<td class=\"n\">3</td>'; "
                 "curl -s -u me:$ADMIN $URL/projects/default/groups/1 | grep -c '<script' || true",
                 "<td class=\"n\">3</td>\n0\n");
    collector_stop(&run);
}

/* Text that looks like a report, but has nothing whole in it, is kept aside and shown. */
TEST_TIMEOUT(report_that_cannot_be_read_is_kept_aside, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "head -c 600 $REPORT >cut; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @cut",
                 "201\n");
    collector_settle(&run);
    struct json *reports = collector_get(&run, "/api/projects/default/reports");
    const struct json *row = json_need(reports, "reports")->first;
    CHECK(json_text(row, "note")[0] != '\0');
    CHECK_EQ(json_int(row, "size_bytes"), 600);
    json_free(reports);
    check_script(&run,
                 "get /projects/default | grep -c 'could not be read'; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary '{\"bug_type\": <i>'",
                 "0\n201\n");
    collector_settle(&run);
    check_script(&run, "get /projects/default | tail -3 | head -1 | grep -o '<td>JSON.*'",
                 "<td>JSON: a value is expected, at byte 13</td></tr>\n");

    collector_stop(&run);
}

/* A report, and the events of a group out of its reports, as sonde export writes them. */
TEST_TIMEOUT(exports_are_those_of_sonde, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "for i in 1 2 3; do stalled r$i --device m$i -- $LOOP 20 sleep:300 idle:10; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @r$i; done; "
                 "stalled other -- $LOOP 20 burn:300 idle:10; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @other",
                 "201\n201\n201\n201\n");
    collector_settle(&run);
    check_script(
        &run,
        "ID=$(sed -n 's/.*\"id\": \"\\([0-9a-f]*\\)\".*/\\1/p' answer | head -1); "
        "P=/api/projects/default; "
        "for f in folded firefox speedscope pprof otlp-1.10 perfetto apple bs glibc json text; do "
        "get \"$P/reports/$ID/export?format=$f\" >got; $SONDE export -f $f other >want; "
        "cmp -s got want || echo $f; done; "
        "N=$(get $P/groups?sort=count | grep -o '\"number\": [0-9]*' | head -1 | cut -d' ' -f2); "
        "for i in 1 2 3; do $SONDE export r$i; done | sed 's/ [0-9]*$//' | sort -u >want; "
        "get $P/groups/$N/export | sed 's/ [0-9]*$//' | sort -u >got; diff want got; "
        "sum() { awk '{ n += $NF } END { print n }'; }; "
        "a=$(for i in 1 2 3; do $SONDE export r$i; done | sum); "
        "b=$(get $P/groups/$N/export | sum); [ $a = $b ] || echo \"$a, not $b\"; "
        "get \"$P/groups/$N/export?format=text\" | "
        "grep -o 'group [0-9]*: 3 of 3 events, from the newest 3 reports' | cut -d: -f2; "
        "get \"$P/groups/$N/export?format=xml\" | grep -c 'one of these is expected'",
        " 3 of 3 events, from the newest 3 reports\n1\n");
    collector_stop(&run);
}
