// SPDX-License-Identifier: Apache-2.0
/* What the collector refuses: callers without the right key, and bodies that are no reports. */
#include <stdlib.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* Each route x {no key, a wrong one, ingest, read of another project, revoked}. */
TEST_TIMEOUT(nobody_gets_in, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        "$COLLECTOR project --data data add other >/dev/null; "
        "OTHER=$($COLLECTOR key --data data add --project other --role read); "
        "GONE=$($COLLECTOR key --data data add --role admin); "
        "$COLLECTOR key --data data revoke $($COLLECTOR key --data data list | tail -1 | "
        "cut -d' ' -f1); "
        "for path in /api/projects/default/groups /api/projects/default/groups/1 "
        "/api/projects/default/reports "
        "/api/projects/default/reports/00112233445566778899aabbccddeeff "
        "/api/projects/default/builds /api/projects/default/builds/1/calls "
        "/api/projects/default/builds/1/diff /api/projects/default/builds/1/undeclared "
        "/api/projects/default/builds/1/manifests /api/projects/default/builds/1/manifests/a "
        "/projects/default/builds/1 "
        "/projects/default /projects/default/groups/1 /metrics /; do "
        "for key in '' snt_wrong $INGEST $GONE $OTHER; do "
        "curl -s -o answer -w '%{http_code} ' -H \"Authorization: Bearer $key\" $URL$path; done; "
        "echo $path; done",
        "401 401 403 401 404 /api/projects/default/groups\n"
        "401 401 403 401 404 /api/projects/default/groups/1\n"
        "401 401 403 401 404 /api/projects/default/reports\n"
        "401 401 403 401 404 /api/projects/default/reports/00112233445566778899aabbccddeeff\n"
        "401 401 403 401 404 /api/projects/default/builds\n"
        "401 401 403 401 404 /api/projects/default/builds/1/calls\n"
        "401 401 403 401 404 /api/projects/default/builds/1/diff\n"
        "401 401 403 401 404 /api/projects/default/builds/1/undeclared\n"
        "401 401 403 401 404 /api/projects/default/builds/1/manifests\n"
        "401 401 403 401 404 /api/projects/default/builds/1/manifests/a\n"
        "401 401 403 401 404 /projects/default/builds/1\n"
        "401 401 403 401 404 /projects/default\n"
        "401 401 403 401 404 /projects/default/groups/1\n"
        "401 401 403 401 403 /metrics\n"
        "401 401 403 401 200 /\n");
    /* changes: no key, a wrong one, ingest, read, write of another project, revoked */
    check_script(&run,
                 "READ=$($COLLECTOR key --data data add --role read); "
                 "OTHER=$($COLLECTOR key --data data add --project other --role write); "
                 "GONE=$($COLLECTOR key --data data add --role write); "
                 "$COLLECTOR key --data data revoke $($COLLECTOR key --data data list | tail -1 | "
                 "cut -d' ' -f1); "
                 "for path in /api/projects/default/groups/1 /api/projects/default/groups/1/join "
                 "/api/projects/default/groups/1/leave /api/projects/default/baseline "
                 "/projects/default/groups/1 "
                 "/projects/default/groups/1/join /projects/default/groups/1/leave; do "
                 "for key in '' snt_wrong $INGEST $READ $OTHER $GONE; do "
                 "curl -s -o answer -w '%{http_code} ' -H \"Authorization: Bearer $key\" "
                 "-d state=resolved -d with=1 -d build=1 $URL$path; done; echo $path; done",
                 "401 401 403 403 404 401 /api/projects/default/groups/1\n"
                 "401 401 403 403 404 401 /api/projects/default/groups/1/join\n"
                 "401 401 403 403 404 401 /api/projects/default/groups/1/leave\n"
                 "401 401 403 403 404 401 /api/projects/default/baseline\n"
                 "401 401 403 403 404 401 /projects/default/groups/1\n"
                 "401 401 403 403 404 401 /projects/default/groups/1/join\n"
                 "401 401 403 403 404 401 /projects/default/groups/1/leave\n");
    /* manifests: the same; the one that was given before stays */
    check_script(
        &run,
        "echo '<plist><dict/></plist>' >m; WRITE=$($COLLECTOR key --data data add --role "
        "write); READ=$($COLLECTOR key --data data add --role read); "
        "OTHER=$($COLLECTOR key --data data add --project other --role write); "
        "GONE=$($COLLECTOR key --data data add --role write); "
        "$COLLECTOR key --data data revoke $($COLLECTOR key --data data list | tail -1 | "
        "cut -d' ' -f1); give() { curl -s -o answer -w '%{http_code} ' "
        "-H \"Authorization: Bearer $1\" -X $2 --data-binary @m "
        "$URL/api/projects/default/builds/1/manifests/$3; }; give $WRITE POST a; "
        "for how in 'POST b' 'POST a' 'DELETE a'; do "
        "for key in none snt_wrong $INGEST $READ $OTHER $GONE; do "
        "give $key $how; done; echo $how; done; "
        "get /api/projects/default/builds/1/manifests | grep -c name; give $WRITE DELETE a",
        "201 401 401 403 403 404 401 POST b\n401 401 403 403 404 401 POST a\n"
        "401 401 403 403 404 401 DELETE a\n1\n200 ");
    /* filters: no key, a wrong one, ingest, write, admin of another project, revoked */
    check_script(&run,
                 "WRITE=$($COLLECTOR key --data data add --role write); "
                 "OTHER=$($COLLECTOR key --data data add --project other --role admin); "
                 "GONE=$($COLLECTOR key --data data add --role admin); "
                 "$COLLECTOR key --data data revoke $($COLLECTOR key --data data list | tail -1 | "
                 "cut -d' ' -f1); $COLLECTOR filter --data data --project default add idle; "
                 "for how in 'GET filters' 'POST filters' 'DELETE filters/1'; do "
                 "for key in '' snt_wrong $INGEST $WRITE $OTHER $GONE; do "
                 "d='-d drops=system'; [ ${how%% *} = POST ] || d=; "
                 "curl -s -o answer -w '%{http_code} ' -H \"Authorization: Bearer $key\" "
                 "-X ${how%% *} $d $URL/api/projects/default/${how#* }; done; echo $how; done; "
                 "$COLLECTOR filter --data data | head -1",
                 "filter  1\n401 401 403 403 404 401 GET filters\n"
                 "401 401 403 403 404 401 POST filters\n"
                 "401 401 403 403 404 401 DELETE filters/1\n1    default  idle\n");
    check_script(&run,
                 "READ=$($COLLECTOR key --data data add --project default --role read); "
                 "for key in '' sni_wrong $READ $ADMIN; do "
                 "post -H \"Authorization: Bearer $key\" --data-binary @$REPORT; done; "
                 "get /api/projects/default/reports | grep -c received || true; "
                 "curl -s $URL/healthz $URL/readyz",
                 "401\n401\n403\n403\n0\nok\nready\n");
    collector_stop(&run);
}

/* What a proxy before the collector may read otherwise is refused, and nothing behind it is read.
 */
TEST_TIMEOUT(heads_with_two_meanings_are_refused, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, "python3 $(dirname $SENDERS)/heads.py $URL $INGEST",
                 "422 200 one length\n422 200 one coding\n400 two lengths\n400 equal lengths\n"
                 "400 length and coding\n400 two codings\n501 another coding\n"
                 "501 list of codings\n400 space in the name\n400 two hosts\n"
                 "200 /healthz\n200 /health%7a\n404 /healthz%00\n404 /%00\n404 /healthz%2500\n");
    check_script(&run,
                 "for path in /healthz /api/reports /api/projects/x/hooks /api/projects/x/hooks/1; "
                 "do curl -s -D - -o /dev/null -X PATCH $URL$path | tr -d '\\r' | grep -E "
                 "'^(HTTP|Allow)' | cut -d' ' -f2-; done",
                 "405 Method Not Allowed\nGET, HEAD\n405 Method Not Allowed\nPOST\n"
                 "405 Method Not Allowed\nGET, HEAD, POST\n405 Method Not Allowed\nDELETE\n");
    collector_stop(&run);
}

TEST_TIMEOUT(bodies_that_are_no_reports_are_refused, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "H=\"Authorization: Bearer $INGEST\"; p() { post -H \"$H\" \"$@\"; }; "
                 "echo no report >text; : >empty; gzip -c $REPORT >gz; head -c 100 gz >cutgz; "
                 "head -c 100000000 /dev/zero | gzip >bomb; head -c 30000000 /dev/urandom >large; "
                 "p --data-binary @text; p --data-binary @empty; "
                 "p -H 'Content-Encoding: gzip' --data-binary @cutgz; "
                 "p -H 'Content-Encoding: gzip' --data-binary @text; "
                 "p -H 'Content-Encoding: zstd' --data-binary @gz; "
                 "p -H 'Content-Encoding: br' --data-binary @gz; "
                 "p -H 'Content-Encoding: gzip' --data-binary @bomb; p --data-binary @large; "
                 "p -H 'Expect:' -H 'Transfer-Encoding: chunked' --data-binary @large; "
                 "p -H 'Idempotency-Key: x' --data-binary @$REPORT; "
                 "p -H 'Sonde-Protocol: 0' --data-binary @$REPORT; "
                 "p -H 'Content-Encoding: gzip' --data-binary @gz; "
                 "curl -s -o answer -w '%{http_code}\\n' -X PUT -H \"$H\" $URL/api/reports; "
                 "curl -s -o answer -w '%{http_code}\\n' $URL/no/such/thing",
                 "422\n422\n400\n400\n400\n415\n413\n413\n413\n400\n426\n201\n405\n404\n");
    collector_stop(&run);
}

/* Sixteen bodies of 18 MB at once are more than may be in memory: some are refused until there is
 * room, and none of them stays. */
TEST_TIMEOUT(bodies_in_memory_are_bounded, 90)
{
    struct collector_run run = collector_start(NULL);
    char *out = collector_script(
        &run, "head -c 18000000 /dev/urandom >large; for i in $(seq 16); do "
              "curl -s -o /dev/null -w '%{http_code}\\n' --limit-rate 12M -H 'Expect:' "
              "-H \"Authorization: Bearer $INGEST\" --data-binary @large $URL/api/reports "
              ">code.$i & done; wait; cat code.* | sort -u; "
              "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT");
    CHECK_STR(out, "422\n503\n201\n");
    free(out);
    collector_stop(&run);
}

/* Clients that read slowly hold large answers; then others get small ones only, until they end. */
TEST_TIMEOUT(answers_in_memory_are_bounded, 90)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "python3 -c 'print(\"{\\\"usedImages\\\":[],\\\"bug_type\\\":\\\"309\\\"}\\n{\" + "
                 "\" \" * (67108864 - 37))' | gzip -1 >large.gz; "
                 "post -H \"Authorization: Bearer $INGEST\" -H 'Content-Encoding: gzip' "
                 "--data-binary @large.gz",
                 "201\n");
    collector_settle(&run);
    check_script(
        &run,
        "ID=$(grep -o '[0-9a-f]\\{32\\}' answer); P=/api/projects/default/reports; "
        "for i in 1 2 3 4; do curl -s -m 60 --limit-rate 1K -o /dev/null -D head.$i "
        "-H \"Authorization: Bearer $ADMIN\" $URL$P/$ID & echo $! >reader.$i; done; "
        "for i in $(seq 400); do [ $(cat head.* 2>/dev/null | grep -c '^HTTP/1.1 200') = 4 ] && "
        "break; sleep 0.05; done; "
        "ask() { curl -s -m 20 -o /dev/null -D head -w '%{http_code} %{size_download}\\n' "
        "-H \"Authorization: Bearer $ADMIN\" $URL$P$1; }; "
        "ask /$ID | cut -c1-4; grep -c '^Retry-After' head; ask '' | cut -c1-4; "
        "kill $(cat reader.*); wait; "
        "for i in $(seq 400); do ask /$ID >asked; grep -q ^200 asked && break; sleep 0.05; done; "
        "cat asked",
        "503 \n1\n200 \n200 67108864\n");
    collector_stop(&run);
}
