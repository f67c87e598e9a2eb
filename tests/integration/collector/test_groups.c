// SPDX-License-Identifier: Apache-2.0
/* People change groups: over the API, and by the forms of the pages. */
#include <stdlib.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* `send BUILD PHASE`: run the program with a stall of this kind, and post its report. */
#define SEND                                                                                       \
    "send() { stalled r --build $1 --tag kind=$2 -- $LOOP 20 $2:300 idle:10; "                     \
    "post -H \"Authorization: Bearer $INGEST\" --data-binary @r; }; "
/* `change PATH FIELD...`: POST a form with the key of a person who may write. */
#define CHANGE                                                                                     \
    "WRITE=$($COLLECTOR key --data data add --role write); "                                       \
    "change() { p=$1; shift; curl -s -m 20 -o answer -w '%{http_code}\\n' -H "                     \
    "\"Authorization: Bearer $WRITE\" \"$@\" $URL/api/projects/default/groups/$p; }; "             \
    "member() { grep -o \"^ *\\\"$1\\\": [^,]*\" answer | head -1 | tr -d ' '; }; "

TEST_TIMEOUT(resolved_group_regresses_in_a_later_build, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, SEND "send 1.9 sleep", "201\n");
    collector_settle(&run);
    check_script(&run,
                 CHANGE "change 1 -d state=resolved -d build=1.10 -d assignee=ann; member state; "
                        "member assignee; change 1 -d state=wrong; change 1 -d x=y; "
                        "change 9 -d state=open",
                 "200\n\"state\":\"resolved\"\n\"assignee\":\"ann\"\n400\n400\n404\n");
    check_script(&run, SEND "send 1.9 sleep", "201\n");
    collector_settle(&run);
    struct json *group = collector_get(&run, "/api/projects/default/groups/1");
    CHECK_STR(json_text(group, "state"), "resolved");
    CHECK_STR(json_text(group, "resolved_in"), "1.10");
    json_free(group);
    check_script(&run, SEND "send 1.10 sleep", "201\n");
    collector_settle(&run);
    group = collector_get(&run, "/api/projects/default/groups?state=regressed");
    CHECK_EQ(json_need(group, "groups")->count, 1);
    json_free(group);
    group = collector_get(&run, "/api/projects/default/groups/1");
    CHECK_STR(json_text(group, "state"), "regressed");
    CHECK_EQ(json_need(group, "builds")->count, 2);
    CHECK_STR(json_text(json_need(group, "tags")->first, "value"), "sleep");
    CHECK_EQ(json_int(json_need(group, "tags")->first, "count"), 3);
    json_free(group);
    collector_stop(&run);
}

TEST_TIMEOUT(groups_of_one_cause_are_joined_and_parted, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, SEND "send 1 sleep; send 1 burn", "201\n201\n");
    collector_settle(&run);
    struct json *groups = collector_get(&run, "/api/projects/default/groups");
    CHECK_EQ(json_need(groups, "groups")->count, 2);
    json_free(groups);
    check_script(&run,
                 CHANGE "change 1/join -d with=2; member number; member count; "
                        "get /api/projects/default/groups | grep -c '\"number\"'; "
                        "change 1/join -d with=2; change 1/join -d with=x; "
                        "change 1/leave -X POST; member count; change 1/leave -X POST; "
                        "get /api/projects/default/groups | grep -c '\"number\"'; "
                        "get /api/projects/default/groups/3 >answer; member number; "
                        "get /api/projects/default/actions | grep -o 'group.*joined.*3'",
                 "200\n\"number\":3\n\"count\":2\n1\n409\n400\n200\n\"count\":1\n409\n2\n"
                 "\"number\":2\ngroup 1: joined with 2 to 3\n");
    collector_stop(&run);
}

/* A field that cannot be kept as it is is refused, and nothing of its form is done. */
TEST_TIMEOUT(fields_that_do_not_fit_change_nothing, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, SEND "send 1 sleep", "201\n");
    collector_settle(&run);
    check_script(&run,
                 CHANGE "long=$(printf %0200d 1); change 1 -d state=resolved -d build=$long; "
                        "change 1 -d state=resolved -d assignee=$long; "
                        "change 1 -d state=resolved -d next=1%00; "
                        "change 1 -d state=ignored -d until=2262-04-12; "
                        "change 1 -d state=ignored -d until=2026-02-30; "
                        "change 1 -d state=ignored -d until=2031-02-29; cat answer; "
                        "change 1 -d state=ignored -d until=2020-01-02; cat answer; "
                        "change 1 -d state=ignored -d until_count=-1; "
                        "change 1 -d state=ignored -d until_count=1x; "
                        "change 1 -d assignee=a%0akey; change 1 -d assignee=a%1b; "
                        "change 1 -d assignee=%ff; cat answer; change 1x -d state=resolved; "
                        "change 01 -d state=resolved; change 1/join -d with=1x; "
                        "get /api/projects/default/groups/1 >answer; member state; "
                        "member assignee; get /api/projects/default/groups/1x | cut -d: -f1; "
                        "change 1 -d state=ignored -d until=2262-04-11 -d assignee=%c3%bc; "
                        "member assignee; member until",
                 "400\n400\n400\n400\n400\n400\n{\"error\": \"until: a time is expected, as "
                 "2026-12-01T08:00Z\"}\n400\n{\"error\": \"until: a time to come is expected\"}\n"
                 "400\n400\n400\n400\n400\n{\"error\": \"assignee: at most 199 "
                 "bytes of UTF-8 without control characters are expected\"}\n404\n404\n400\n"
                 "\"state\":\"open\"\n\"assignee\":\"\"\n{\"error\"\n200\n\"assignee\":\"\u00fc\"\n"
                 "\"until\":\"2262-04-11T00:00:00.000000000Z\"\n");
    collector_stop(&run);
}

/* A form of the page changes the group and shows it again; one of another site does not. */
TEST_TIMEOUT(page_changes_groups, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, SEND "send 1 sleep", "201\n");
    collector_settle(&run);
    check_script(&run,
                 "page() { curl -s -m 20 -o answer -w '%{http_code} %{redirect_url}\\n' -u "
                 "me:$ADMIN \"$@\" $URL/projects/default/groups/1 | sed 's|http://[^/]*||'; }; "
                 "page -H 'Origin: http://example.org' -d state=resolved; "
                 "page -H 'Origin: null' -d state=resolved; "
                 "page; grep -c '<p>open' answer; "
                 "page -H \"Origin: $URL\" -d state=ignored -d until=2030-01-02T03:04 "
                 "-d until_count=; page; grep -o '<p>ignored' answer; grep -o '2030-01-02 03:04' "
                 "answer; grep -c '<pre>stall loop' answer; "
                 "page -d 'assignee=%3Cscript%3E'; page; grep -c '<script' answer || true",
                 "403 \n403 \n200 \n1\n303 /projects/default/groups/1\n200 \n<p>ignored\n"
                 "2030-01-02 03:04\n1\n303 /projects/default/groups/1\n200 \n0\n");
    collector_stop(&run);
}
