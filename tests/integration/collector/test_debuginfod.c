// SPDX-License-Identifier: Apache-2.0
/* Debug files of debuginfod servers: a stripped program's report is named without an upload;
 * servers that fail in each way. The server is a script: its path says how it answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"

/* What scripts of this file begin with. `serve`: start the server. `make`: a stripped program, its
 * report without names, and its debug file, which the server has. `asked HOW COUNT`: wait until the
 * server got so many questions for the program; `number HOW`: how many there were. `metric NAME
 * PATTERN`: wait for its value. */
#define HELPERS                                                                                    \
    "export XDG_CACHE_HOME=$PWD/kept; "                                                            \
    "serve() { timeout 110 python3 $SERVER $PORT log >ready 2>server.err & echo $! >server; "      \
    "for i in $(seq 600); do [ -s ready ] && return; sleep 0.05; done; cat server.err; exit 1; "   \
    "}; "                                                                                          \
    "ID=$(cat id 2>/dev/null || true); "                                                           \
    "make() { mkdir -p named kept; cp $LOOP named/prog; strip -o prog named/prog; "                \
    "ID=$(readelf -n prog | sed -n 's/.*Build ID: //p'); echo $ID >id; touch log; "                \
    "objcopy --only-keep-debug named/prog $ID.debug; "                                             \
    "stalled bare.sonde -- $PWD/prog 20 sleep:300 idle:10; }; "                                    \
    "send() { post -H \"Authorization: Bearer $INGEST\" --data-binary @$1; }; "                    \
    "number() { grep -c \"^$1 $ID\" log || true; }; "                                              \
    "asked() { for i in $(seq 1200); do [ $(number $1) -ge $2 ] && return; sleep 0.05; done; "     \
    "cat log; get /metrics | grep debuginfod; exit 1; }; "                                         \
    "metric() { for i in $(seq 1200); do get /metrics | "                                          \
    "grep -q \"^sonde_collector_debuginfod_$1_total $2\\$\" && return; sleep 0.05; done; "         \
    "get /metrics | grep debuginfod; cat log; exit 1; }; "                                         \
    "named() { for i in $(seq 600); do get /api/projects/default/groups >groups; "                 \
    "grep -q stall_sleep groups && break; sleep 0.1; done; grep -o 'stall_sleep, blocked[^\"]*' "  \
    "groups | head -1; }; "

struct servers_run {
    struct collector_run run;
    int port; /* of the script */
};

/* A collector that asks the script at the paths `how`, "absent file", with times of a test. */
static struct servers_run start(const char *how, const char *retry)
{
    struct servers_run s = {.port = program_free_port()};
    char list[512] = "--debuginfod=", retry_option[64];
    char words[256], *save = NULL;
    snprintf(words, sizeof words, "%s", how);
    for (char *word = strtok_r(words, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        size_t size = strlen(list);
        snprintf(list + size, sizeof list - size, "http://127.0.0.1:%d/%s/,", s.port, word);
    }
    snprintf(retry_option, sizeof retry_option, "--debuginfod-retry=%s", retry);
    const char *const options[] = {list, retry_option, "--debuginfod-size=8", "--debuginfod-time=3",
                                   NULL};
    s.run = collector_start(options);
    return s;
}

static void check_script(const struct servers_run *s, const char *script, const char *expected)
{
    char text[6144];
    int size = snprintf(text, sizeof text, "PORT=%d SERVER='%s'; %s%s", s->port,
                        program_source("collector/debuginfod.py"), HELPERS, script);
    CHECK(size > 0 && (size_t)size < sizeof text);
    char *out = collector_script(&s->run, text);
    CHECK_STR(out, expected);
    free(out);
}

static void stop(struct servers_run *s)
{
    collector_stop(&s->run);
    check_script(s, "kill $(cat server); cat server.err", "");
}

/* It is named and grouped, kept for all projects, given on, and asked for once; also by way of a
 * redirect, after a server that does not have it; the next server is not asked. */
TEST_TIMEOUT(report_gets_names_of_a_debuginfod_server, 120)
{
    struct servers_run s = start("absent moved broken", "60");
    check_script(
        &s,
        "make; serve; $SONDE show --json bare.sonde | grep -c stall_sleep; send bare.sonde; "
        "named; ls data/symbols/0 | sed \"s/$ID/ID/\"; "
        "get /buildid/$ID/debuginfo | cmp - $ID.debug && echo equal; "
        "get /api/projects/default/symbols/waiting | grep -c $ID; "
        "sleep 2.5; number absent; number moved; number file; number broken",
        "0\n201\nstall_sleep, blocked in sleep\nID.debug\nID.sndidx\nequal\n0\n1\n1\n1\n0\n");
    check_script(&s, "metric found 1; metric failed 0; metric refused 0", "");
    stop(&s);
}

/* A failure is no answer: the same server is asked again, and one that said 404 is not. */
TEST_TIMEOUT(debuginfod_server_that_fails_is_asked_again, 120)
{
    struct servers_run s = start("absent fail", "1");
    check_script(&s,
                 "make; serve; send bare.sonde; named; number absent; number fail; "
                 "metric failed '[2-9][0-9]*'; metric found 1",
                 "201\nstall_sleep, blocked in sleep\n1\n3\n");
    stop(&s);
}

/* Before the server is there, questions fail; when it comes, the report is named. Meanwhile and
 * after it reports are taken. */
TEST_TIMEOUT(debuginfod_server_may_come_later, 120)
{
    struct servers_run s = start("file", "1");
    check_script(&s,
                 "make; send bare.sonde; metric failed '[1-9][0-9]*'; serve; named; number file",
                 "201\nstall_sleep, blocked in sleep\n1\n");
    stop(&s);
}

/* What is not the file that was asked for is not kept, and asked for once. */
TEST_TIMEOUT(files_that_were_not_asked_for_are_left, 120)
{
    struct servers_run s = start("other text large endless absent", "1");
    check_script(&s,
                 "make; objcopy --only-keep-debug $SONDE other.debug; serve; send bare.sonde; "
                 "asked absent 1; sleep 3.5; "
                 "for how in other text large endless absent; do number $how; done; "
                 "ls data/symbols/0; get /api/projects/default/symbols/waiting | grep -c $ID",
                 "201\n1\n1\n1\n1\n1\n1\n");
    check_script(&s, "metric found 0; metric failed 0", "");
    stop(&s);
    char *log = program_output(&s.run.program);
    CHECK(strstr(log, "its build-id is not the one that was claimed") != NULL);
    CHECK(strstr(log, "not a symbol file") != NULL);
    CHECK(strstr(log, "it is larger than --debuginfod-size") != NULL);
    free(log);
}

/* Servers that send nothing, too slowly, less than they say, or lead elsewhere: each question ends,
 * no file of this machine is read, and the last server has it. */
TEST_TIMEOUT(servers_that_hang_or_lead_elsewhere_hold_up_nothing, 120)
{
    struct servers_run s = start("hang slow cut local loop broken busy file", "600");
    check_script(&s,
                 "make; serve; send bare.sonde; asked hang 1; "
                 "echo no report >bad; send bad; get /healthz; named; "
                 "for how in hang slow cut local loop broken busy; do number $how; done; "
                 "metric failed 7; metric found 1; metric refused 0",
                 "201\n422\nok\nstall_sleep, blocked in sleep\n1\n1\n1\n1\n5\n1\n1\n");
    stop(&s);
}

/* An upload is answered while a server keeps the collector waiting, which then ends at once. */
TEST_TIMEOUT(uploads_do_not_wait_for_debuginfod_servers, 120)
{
    int port = program_free_port();
    char list[128];
    snprintf(list, sizeof list, "--debuginfod=http://127.0.0.1:%d/slow", port);
    const char *const options[] = {list, "--debuginfod-time=3600", "--debuginfod-size=8", NULL};
    struct servers_run s = {.run = collector_start(options), .port = port};
    check_script(&s,
                 "make; serve; send bare.sonde; asked slow 1; "
                 "curl -s -m 60 -o answer -w '%{http_code}\\n' -H \"Authorization: Bearer $ADMIN\" "
                 "--data-binary @$ID.debug $URL/api/symbols; named; metric asked 1; metric found 0",
                 "201\n201\nstall_sleep, blocked in sleep\n");
    stop(&s);
}

/* Only ELF build-ids that are a SHA-1 are asked for. */
TEST_TIMEOUT(other_ids_are_not_asked_for, 120)
{
    struct servers_run s = start("file", "1");
    check_script(&s,
                 "make; serve; "
                 "sqlite3 -cmd '.timeout 20000' data/collector.db \"INSERT INTO want "
                 "VALUES(x'00112233445566778899aabb"
                 "ccddeeff', 1000), (x'0011', 1000), (zeroblob(32), 1000)\"; "
                 "send bare.sonde; named; cut -d' ' -f2 log | awk '{print length($1)}' | sort -u",
                 "201\nstall_sleep, blocked in sleep\n40\n");
    stop(&s);
}

TEST_TIMEOUT(addresses_of_debuginfod_servers_are_checked, 120)
{
    const char *const bad[] = {
        "file:///etc",  "ftp://a",
        "http://",      "http://a?b",
        "https://x:y@", "http://1,http://2,http://3,http://4,http://5,http://6,http://7,8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char option[256];
        snprintf(option, sizeof option, "--debuginfod=%s", bad[i]);
        const char *const argv[] = {program_built("../../collector/sonde-collector"),
                                    "serve",
                                    "--data",
                                    "never",
                                    option,
                                    NULL};
        struct test_run result = test_run(argv, NULL, NULL, 30);
        CHECK_EQ(result.status, 2);
        CHECK(strstr(result.err, "--debuginfod: ") != NULL);
        test_run_done(&result);
    }
}
