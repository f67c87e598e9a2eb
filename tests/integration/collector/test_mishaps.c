// SPDX-License-Identifier: Apache-2.0
/* What may happen to the machine (mishap.c): the disk is full, a page of the database is damaged,
 * somebody sets the clock. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#ifdef SONDE_TEST_POSTGRES
#    include "postgres.h"
#endif

/* Start a collector to whose machine things may happen, as files of the test's folder say. */
static struct collector_run start_with_mishaps(const char *const options[])
{
    static char preload[512], folder[300];
    static const char *const before[] = {"env", preload, folder, NULL};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s",
             program_built("collector/libcollector_mishap.so"));
    snprintf(folder, sizeof folder, "MISHAP=%s", test_folder());
    return collector_start_by(before, options);
}

/* The script may call `report N`: send the report with this digit in its id. */
static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char all[2048];
    snprintf(all, sizeof all,
             "report() { post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT "
             "-H \"Idempotency-Key: 0000000000000000000000000000000$1\"; }; %s",
             script);
    char *out = collector_script(run, all);
    CHECK_STR(out, expected);
    free(out);
}

/* --- the disk is full --- */

TEST_TIMEOUT(full_disk_refuses_reports_and_loses_none, 120)
{
    struct collector_run run = start_with_mishaps(NULL);
    check_script(&run, "report 1", "201\n");
    collector_settle(&run);
    check_script(&run,
                 "touch full; report 2; "
                 "grep -c disk answer; get /healthz; "
                 "get /api/projects/default/reports | grep -c '\"id\"'; rm full; "
                 "report 3",
                 "507\n1\nok\n1\n201\n");
    collector_settle(&run);
    check_script(&run, "get /metrics | grep 'reports_stored_total [0-9]'; get /readyz",
                 "sonde_collector_reports_stored_total 2\nready\n");
    collector_stop(&run);
    check_script(&run,
                 "sqlite3 data/collector.db 'PRAGMA integrity_check; "
                 "SELECT sum(count) FROM cause'",
                 "ok\n2\n");
}

/* It was acknowledged before the disk was full, and is not in the database yet. */
TEST_TIMEOUT(acknowledged_report_waits_until_the_disk_has_room, 120)
{
    struct collector_run run = start_with_mishaps(NULL);
    check_script(&run,
                 "lock; report 4; touch full; "
                 "unlock; for i in $(seq 600); do get /metrics | "
                 "grep -q 'store_failures_total [1-9]' && break; sleep 0.05; done; "
                 "get /metrics | grep 'reports_stored_total [0-9]'; rm full",
                 "201\nsonde_collector_reports_stored_total 0\n");
    collector_settle(&run);
    check_script(&run, "get /metrics | grep 'reports_stored_total [0-9]'; get /readyz",
                 "sonde_collector_reports_stored_total 1\nready\n");
    collector_stop(&run);
}

/* --- a damaged page --- */

/* The root of a table: all of its rows are behind it. */
#define DAMAGE(table)                                                                              \
    "page=$(sqlite3 data/collector.db \"SELECT rootpage FROM sqlite_master WHERE name = "          \
    "'" table "'\"); size=$(sqlite3 data/collector.db 'PRAGMA page_size'); "                       \
    "head -c $size /dev/zero | tr '\\0' '\\377' | "                                                \
    "dd of=data/collector.db bs=$size seek=$((page - 1)) conv=notrunc status=none"

TEST_TIMEOUT(damaged_database_is_said_and_loses_no_report, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, "report 5", "201\n");
    collector_settle(&run);
    collector_stop(&run);
    free(collector_script(&run, "cp -r data whole; " DAMAGE("cause")));
    collector_again(&run);
    check_script(
        &run,
        "get /api/projects/default/groups >/dev/null; "
        "curl -s -o /dev/null -w '%{http_code}\\n' -H \"Authorization: Bearer $ADMIN\" "
        "$URL/api/projects/default/groups; get /readyz; "
        "get /metrics | grep '^sonde.*damaged [0-9]'; "
        "report 6; "
        "curl -s -o /dev/null -w '%{http_code}\\n' -H \"Authorization: Bearer $ADMIN\" "
        "$URL/api/projects; $COLLECTOR backup --data data copy >/dev/null 2>&1 || echo no backup",
        "503\nthe database is damaged: see the log\nsonde_collector_database_damaged 1\n"
        "201\n200\nno backup\n");
    collector_stop(&run);
    /* the database of before, with the journal of now */
    free(collector_script(&run, "rm data/collector.db*; cp whole/collector.db data/"));
    collector_again(&run);
    collector_settle(&run);
    check_script(&run,
                 "get /readyz; get /metrics | grep '^sonde.*damaged [0-9]'; "
                 "sqlite3 data/collector.db 'SELECT count(*) FROM report'",
                 "ready\nsonde_collector_database_damaged 0\n2\n");
    collector_stop(&run);
}

TEST_TIMEOUT(file_that_is_no_database_is_refused, 60)
{
    struct collector_run run = collector_start(NULL);
    collector_stop(&run);
    check_script(&run,
                 "head -c 50000 /dev/urandom >data/collector.db; rm -f data/collector.db-*; "
                 "timeout 20 $COLLECTOR serve --data data --listen 127.0.0.1:0 2>said; echo $?; "
                 "grep -c 'serve:.*not a database' said",
                 "1\n1\n");
}

/* --- the clock --- */

enum { DAY_S = 86400 };

/* By a clock that is a year ahead, all that is kept for ten days would be old. */
TEST_TIMEOUT(clock_that_is_set_forward_removes_nothing, 120)
{
    static const char *const options[] = {"--keep-days", "10", "--keep-every", "1", NULL};
    char script[1024];
    struct collector_run run = start_with_mishaps(options);
    check_script(&run, "report 7", "201\n");
    collector_settle(&run);
    snprintf(script, sizeof script,
             "echo %d >clock.part; mv clock.part clock; sleep 4; "
             "report 8; sleep 2; "
             "get /metrics | grep 'files_removed_total [0-9]'; get /readyz",
             365 * DAY_S);
    check_script(&run, script, "201\nsonde_collector_files_removed_total 0\nready\n");
    collector_settle(&run);
    check_script(&run,
                 "find data/blobs -type f | wc -l; "
                 "sqlite3 data/collector.db 'SELECT count(*) FROM report'",
                 "1\n2\n");
    collector_stop(&run);
    char *log = program_output(&run.program);
    CHECK(strstr(log, "the clock was set forward by 3153") != NULL); /* a year, in seconds */
    free(log);
}

#ifdef SONDE_TEST_POSTGRES
/* A collector that starts with a clock that is a year ahead removes nothing of the others. */
TEST_TIMEOUT(clock_of_one_collector_removes_nothing_of_others, 120)
{
    static const char *const options[] = {"--keep-days", "10", "--keep-every", "1", NULL};
    char preload[512], folder[300];
    const char *const before[] = {"env", preload, folder, NULL};
    struct postgres_server server = postgres_start();
    struct collector_run one = {.folder = "one", .database = server.where};
    struct collector_run two = {.folder = "two", .database = server.where, .before = before};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s",
             program_built("collector/libcollector_mishap.so"));
    snprintf(folder, sizeof folder, "MISHAP=%s", test_folder());
    collector_begin(&one, NULL);
    check_script(&one, "report 7; echo 31536000 >clock", "201\n");
    collector_settle(&one);
    collector_begin(&two, options);
    memcpy(two.admin, one.admin, sizeof two.admin);
    check_script(&two,
                 "sleep 3; get /metrics | grep 'files_removed_total [0-9]'; "
                 "get /api/projects/default/reports | grep -c '\"has_file\": true'",
                 "sonde_collector_files_removed_total 0\n1\n");
    collector_stop(&two);
    char *log = program_output(&two.program);
    CHECK(strstr(log, "the clock is ahead of the database's by 315") != NULL);
    free(log);
    collector_stop(&one);
    postgres_stop(&server);
}
#endif

/* A failure is tried again, and what is old is removed, after as long as before. */
TEST_TIMEOUT(clock_that_is_set_back_stops_nothing, 120)
{
    static const char *const options[] = {"--keep-days", "1", "--keep-every", "1", NULL};
    char script[1024];
    struct collector_run run = start_with_mishaps(options);
    snprintf(script, sizeof script,
             "echo %d >clock.part; mv clock.part clock; "
             "report 9",
             -400 * DAY_S);
    check_script(&run, script, "201\n");
    collector_settle(&run);
    check_script(&run,
                 "sleep 3; rm clock; for i in $(seq 400); do get /metrics | "
                 "grep -q 'files_removed_total 1$' && break; sleep 0.05; done; "
                 "get /metrics | grep 'files_removed_total [0-9]'",
                 "sonde_collector_files_removed_total 1\n");
    check_script(
        &run,
        "lock; report a; touch full; "
        "unlock; for i in $(seq 600); do get /metrics | "
        "grep -q 'store_failures_total [1-9]' && break; sleep 0.05; done; echo -99999999 >clock; "
        "rm full",
        "201\n");
    collector_settle(&run);
    collector_stop(&run);
}
