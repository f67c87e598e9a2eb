// SPDX-License-Identifier: Apache-2.0
/* Two collectors with one PostgreSQL database: one is killed again and again, the server goes and
 * comes; every report that was acknowledged is there, exactly once. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "postgres.h"

/* A database of a loaded machine stores some hundred reports a second, a collector takes more. */
enum { KILLS = 6, SENT_MOST = 60 /* by each of six threads */ };

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* The second one has the keys of the first. */
static void start_two(const struct postgres_server *server, struct collector_run *one,
                      struct collector_run *two)
{
    *one = (struct collector_run){.folder = "one", .database = server->where};
    *two = (struct collector_run){.folder = "two", .database = server->where};
    collector_begin(one, NULL);
    collector_begin(two, NULL);
    CHECK_STR(two->admin, "");
    memcpy(two->admin, one->admin, sizeof two->admin);
    memcpy(two->ingest, one->ingest, sizeof two->ingest);
}

/* Senders to both; wait until so many reports were acknowledged by each. */
static void send_to_both(const struct collector_run *one, const struct collector_run *two,
                         unsigned count)
{
    char script[1024];
    snprintf(script, sizeof script,
             "timeout 100 python3 $SENDERS $URL $INGEST $REPORT sent_one %u >>out 2>&1 & "
             "echo $! >sender_one; "
             "timeout 100 python3 $SENDERS http://127.0.0.1:%d $INGEST $REPORT sent_two %u "
             ">>out 2>&1 & echo $! >sender_two; for i in $(seq 800); do "
             "[ $(cat sent_one 2>/dev/null | wc -l) -ge %u ] && "
             "[ $(cat sent_two 2>/dev/null | wc -l) -ge %u ] && exit 0; sleep 0.02; done; "
             "cat out; exit 1",
             SENT_MOST, two->port, SENT_MOST, count, count);
    free(collector_script(one, script));
}

/* Each acknowledged report is stored once, its event is counted once, and each collector has its
 * file. */
static void check_all(const struct postgres_server *server, const struct collector_run *run,
                      unsigned least)
{
    char path[300], script[1024];
    char *stored = postgres_ask(server, "SELECT encode(id, 'hex') FROM report ORDER BY 1");
    snprintf(path, sizeof path, "%s/stored", test_folder());
    test_write_file(path, stored, strlen(stored));
    free(stored);
    snprintf(script, sizeof script,
             "sort sent_* >sent; sort -u sent | cmp - sent && echo sent once; "
             "comm -13 stored sent | wc -l; uniq -d stored | wc -l; "
             "for id in $(head -3 sent); do get /api/projects/default/reports/$id >got; "
             "cmp got $REPORT; done; [ $(wc -l <sent) -ge %u ] && echo enough",
             least);
    check_script(run, script, "sent once\n0\n0\nenough\n");
    char *equal = postgres_ask(
        server, "SELECT (SELECT sum(count) FROM cause) = (SELECT count(*) FROM report)");
    CHECK_STR(equal, "t\n");
    free(equal);
}

TEST_TIMEOUT(nothing_is_lost_by_two_collectors, 180)
{
    struct postgres_server server = postgres_start();
    struct collector_run one, two;
    start_two(&server, &one, &two);
    for (unsigned i = 0; i < KILLS; i++) {
        send_to_both(&one, &two, (i + 1) * 30);
        kill(one.program.pid, SIGKILL);
        CHECK_EQ(program_end(&one.program, 30), 128 + SIGKILL);
        free(collector_script(&two, "kill $(cat sender_one sender_two) 2>/dev/null; sleep 0.1"));
        collector_again(&one);
    }
    collector_settle(&one);
    collector_settle(&two);
    check_all(&server, &one, 2 * KILLS * 30);
    check_all(&server, &two, 2 * KILLS * 30);
    collector_stop(&one);
    collector_stop(&two);
    postgres_stop(&server);
}

/* The same report, sent to both at once, counts once, and both have it. */
TEST_TIMEOUT(report_that_both_get_counts_once, 120)
{
    struct postgres_server server = postgres_start();
    struct collector_run one, two;
    char script[1024];
    start_two(&server, &one, &two);
    snprintf(script, sizeof script,
             "to() { curl -s -m 20 -o /dev/null -w '%%{http_code}\\n' "
             "-H \"Authorization: Bearer $INGEST\" -H \"Idempotency-Key: $1\" --data-binary "
             "@$REPORT $2/api/reports; }; for i in $(seq 10 39); do "
             "id=000000000000000000000000000000$i; to $id $URL >>a & to $id "
             "http://127.0.0.1:%d >>b & wait; echo $id >>sent_both; done; "
             "sort a b | uniq | grep -v '^20[01]$'; true",
             two.port);
    check_script(&one, script, "");
    collector_settle(&one);
    collector_settle(&two);
    check_all(&server, &one, 30);
    check_all(&server, &two, 30);
    collector_stop(&one);
    collector_stop(&two);
    postgres_stop(&server);
}

/* The server goes while senders send. What was acknowledged meanwhile is in the journal; who cannot
 * be known is told when to come back. When it is there again, all is stored once. */
TEST_TIMEOUT(server_goes_and_comes, 180)
{
    struct postgres_server server = postgres_start();
    struct collector_run one, two;
    start_two(&server, &one, &two);
    send_to_both(&one, &two, 30);
    postgres_stop(&server);
    check_script(&one,
                 "for i in $(seq 300); do post -D head -H \"Authorization: Bearer $INGEST\" "
                 "--data-binary @$REPORT >status; grep -q 503 status && break; sleep 0.1; done; "
                 "cat status; sed -n 's/^Retry-After: [0-9]*.$/later/p' head; "
                 "curl -s -o /dev/null -w '%{http_code}\\n' $URL/healthz; "
                 "curl -s -o /dev/null -w '%{http_code}\\n' $URL/readyz; "
                 "kill $(cat sender_one sender_two) 2>/dev/null; true",
                 "503\nlater\n200\n503\n");
    kill(one.program.pid, SIGKILL);
    CHECK_EQ(program_end(&one.program, 30), 128 + SIGKILL);
    postgres_again(&server);
    collector_again(&one);
    collector_settle(&one);
    collector_settle(&two);
    /* that which was posted by hand has the id of its content, and counts once */
    check_script(&one,
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT >status; "
                 "grep -qE '20[01]' status && sha256sum <$REPORT | cut -c1-32 >sent_hand",
                 "");
    collector_settle(&one);
    check_all(&server, &two, 61);
    collector_stop(&one);
    collector_stop(&two);
    postgres_stop(&server);
}

/* A folder, and the wrong or no server: what, and why. */
TEST_TIMEOUT(database_that_cannot_be_used_is_named, 90)
{
    struct test_run run;
    char folder[300];
    snprintf(folder, sizeof folder, "%s/data", test_folder());
    const char *const argv[] = {
        program_built("../../collector/sonde-collector"), "serve", "--data", folder, "--database",
        "postgresql://nobody@127.0.0.1:1/none",           NULL};
    run = test_run(argv, NULL, NULL, 30);
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.err, "--database: connection to server at \"127.0.0.1\", port 1 failed");
    test_run_done(&run);
}

/* A server that is stopped closes no connection. Who asks is told so after a while, and what needs
 * no database is answered. */
TEST_TIMEOUT(server_that_hangs_holds_up_nothing, 120)
{
    struct postgres_server server = postgres_start();
    struct collector_run run = {.folder = "one", .database = server.where};
    char script[512];
    collector_begin(&run, NULL);
    snprintf(script, sizeof script,
             "PIDS=\"%d $(pgrep -P %d | tr '\\n' ' ')\"; kill -STOP $PIDS; "
             "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT; "
             "curl -s -m 5 -o /dev/null -w '%%{http_code}\\n' $URL/healthz; kill -CONT $PIDS",
             (int)server.pid, (int)server.pid);
    check_script(&run, script, "503\n200\n");
    collector_stop(&run);
    postgres_stop(&server);
}

/* A password that is not written as a URI needs it is read as a host, a port or a name. */
TEST_TIMEOUT(failures_show_no_password, 90)
{
    static const char *const passwords[] = {"tik@tak", "tik%tak", "tik/tak", "tik@tak/tok"};
    char folder[300], where[100];
    snprintf(folder, sizeof folder, "%s/data", test_folder());
    for (unsigned i = 0; i < sizeof passwords / sizeof *passwords; i++) {
        snprintf(where, sizeof where, "postgresql://nobody:%s@127.0.0.1:1/none", passwords[i]);
        const char *const argv[] = {program_built("../../collector/sonde-collector"),
                                    "serve",
                                    "--data",
                                    folder,
                                    "--database",
                                    where,
                                    NULL};
        struct test_run run = test_run(argv, NULL, NULL, 30);
        CHECK_EQ(run.status, 1);
        CHECK_CONTAINS(run.err, "are written as %XX");
        CHECK(strstr(run.err, "tik") == NULL && strstr(run.err, "tak") == NULL);
        test_run_done(&run);
    }
}

/* Both send, one is killed and comes again: each group is told, with one id. */
TEST_TIMEOUT(each_group_is_told_by_one_collector, 180)
{
    struct postgres_server server = postgres_start();
    struct collector_run one, two;
    char script[1200];
    start_two(&server, &one, &two);
    snprintf(script, sizeof script,
             "timeout 200 python3 $HOOKS log >port 2>receiver.err & echo $! >receiver; touch log; "
             "for i in $(seq 600); do [ -s port ] && break; sleep 0.05; done; "
             "$COLLECTOR hook --database '%s' --project default add "
             "http://127.0.0.1:$(cat port)/slow >made; sed -n 's/^secret *//p' made >secret.slow; "
             "[ -s secret.slow ]",
             server.where);
    free(collector_script(&one, script));
    snprintf(script, sizeof script,
             "python3 $EVENTS $URL $INGEST 0 20 >/dev/null & "
             "python3 $EVENTS http://127.0.0.1:%d $INGEST 20 20 >/dev/null; wait; "
             "for i in $(seq 600); do [ $(wc -l <log) -ge 5 ] && break; sleep 0.02; done",
             two.port);
    free(collector_script(&one, script));
    kill(one.program.pid, SIGKILL);
    CHECK_EQ(program_end(&one.program, 30), 128 + SIGKILL);
    collector_again(&one);
    snprintf(script, sizeof script,
             "for i in $(seq 1200); do $COLLECTOR hook --database '%s' | grep -q ' 40 sent' && "
             "break; sleep 0.05; done; cut -d' ' -f4 log | sort -u | wc -l; cut -d' ' -f2,4 log | "
             "sort -u | wc -l; cut -d' ' -f2 log | sort | uniq -d | wc -l | sed 's/^[01]$/once/'; "
             "kill $(cat receiver); grep -c ' bad ' log; cat receiver.err; true",
             server.where);
    check_script(&two, script, "40\n40\nonce\n0\n");
    collector_stop(&one);
    collector_stop(&two);
    postgres_stop(&server);
}
