// SPDX-License-Identifier: Apache-2.0
/* What is bounded: reports of a project, slow clients, and what is kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* Two reports a day, also over a restart; another project is not concerned, nor is a known id. */
TEST_TIMEOUT(quota_answers_429, 90)
{
    static const char post[] =
        "H=\"Authorization: Bearer $INGEST\"; "
        "p() { post -D head -H \"$H\" -H \"Idempotency-Key: 0000000000000000000000000000000$1\" "
        "--data-binary @$REPORT; }; "
        "after() { sed -n 's/^Retry-After: \\([0-9]*\\).*/\\1/p' head | "
        "awk '{ print ($1 >= 1 && $1 <= 86400) ? \"later\" : $1 }'; }; ";
    char script[1600];
    struct collector_run run = collector_start(NULL);
    snprintf(script, sizeof script,
             "$COLLECTOR project --data data limit default --per-day=2 && %s p 1; p 2; p 3; after",
             post);
    check_script(&run, script, "201\n201\n429\nlater\n");
    collector_settle(&run);
    collector_stop(&run);
    collector_again(&run);
    snprintf(script, sizeof script,
             "%s p 4; after; p 1; "
             "INGEST=$($COLLECTOR project --data data add other | sed -n 's/ingest key *//p'); "
             "H=\"Authorization: Bearer $INGEST\"; p 5; get /metrics | grep ^sonde.*limited; "
             "$COLLECTOR project --data data",
             post);
    check_script(&run, script,
                 "429\nlater\n200\n201\nsonde_collector_reports_limited_total 1\n"
                 "1  default  2 a day\n2  other\n");
    collector_stop(&run);
}

/* A client that sends a byte now and then, of a head or a body, loses its connection; others are
 * answered meanwhile. */
TEST_TIMEOUT(slow_client_is_dropped, 90)
{
    const char *const options[] = {"--slow", "1", "--idle", "1", NULL};
    struct collector_run run = collector_start(options);
    check_script(
        &run,
        "cat >drip.py <<'EOF'\n"
        "import os, socket, sys, time, urllib.parse\n"
        "to = urllib.parse.urlparse(os.environ['URL'])\n"
        "s = socket.create_connection((to.hostname, to.port))\n"
        "s.sendall(sys.argv[1].encode().decode('unicode_escape').encode() % "
        "os.environ['INGEST'].encode())\n"
        "s.settimeout(0.2)\n"
        "for i in range(400):\n"
        "    try:\n"
        "        s.sendall(b'x')\n"
        "        if not s.recv(4096):\n"
        "            break\n"
        "    except TimeoutError:\n"
        "        continue\n"
        "    except OSError:\n"
        "        break\n"
        "print('dropped' if i < 399 else 'never')\n"
        "EOF\n"
        "python3 drip.py 'POST /api/reports HTTP/1.1\\r\\nAuthorization: Bearer %s\\r\\nX: ' >head "
        "& "
        "python3 drip.py 'POST /api/reports HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer "
        "%s\\r\\nContent-Length: 90000\\r\\n\\r\\n' >body & "
        "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT; wait; cat head body",
        "201\ndropped\ndropped\n");
    collector_stop(&run);
}

static void count_files(const struct collector_run *run, unsigned *ret_rows, unsigned *ret_files)
{
    struct json *reports = collector_get(run, "/api/projects/default/reports");
    *ret_rows = *ret_files = 0;
    for (const struct json *row = json_need(reports, "reports")->first; row != NULL;
         row = row->next) {
        ++*ret_rows;
        *ret_files += json_bool(row, "has_file");
    }
    json_free(reports);
}

/* Of eight reports a group keeps four; all count, and what is gone is said. */
TEST_TIMEOUT(group_keeps_some_reports, 120)
{
    const char *const options[] = {"--keep-per-group", "4", "--keep-every", "1", NULL};
    unsigned rows, files;
    struct collector_run run = collector_start(options);
    check_script(
        &run,
        "for i in 1 2 3 4 5 6 7 8; do stalled r$i --device m$i -- $LOOP 20 sleep:300 idle:10; "
        "post -H \"Authorization: Bearer $INGEST\" "
        "--data-binary @r$i | grep -v 201; done; true",
        "");
    collector_settle(&run);
    check_script(
        &run,
        "removed() { get /metrics | sed -n 's/^sonde_collector_files_removed_total //p'; }; "
        "for i in $(seq 600); do [ \"$(removed)\" -ge 3 ] && break; sleep 0.1; done; "
        "find data/blobs -type f | wc -l | awk '{ print ($1 <= 5) ? \"few\" : $1 }'",
        "few\n");
    count_files(&run, &rows, &files);
    CHECK_EQ(rows, 8);
    CHECK(files >= 4 && files <= 5);
    struct json *group = collector_get(&run, "/api/projects/default/groups/1");
    CHECK_EQ(json_int(group, "count"), 8);
    CHECK_EQ(json_int(group, "devices"), 8);
    json_free(group);
    check_script(&run,
                 "get /api/projects/default/reports | grep -B9 'has_file\": false' | "
                 "sed -n 's/.*\"id\": \"\\(.*\\)\",/\\1/p' | head -1 >id; "
                 "curl -s -o answer -w '%{http_code}\\n' -H \"Authorization: Bearer $ADMIN\" "
                 "$URL/api/projects/default/reports/$(cat id)",
                 "410\n");
    collector_stop(&run);
}
