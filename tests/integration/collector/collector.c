// SPDX-License-Identifier: Apache-2.0
#include "collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_key(const char *output, const char *name, char *ret_key, size_t size)
{
    const char *at = strstr(output, name);
    if (at != NULL) {
        at += strlen(name) + strspn(at + strlen(name), " ");
        snprintf(ret_key, size, "%.*s", (int)strcspn(at, " \n"), at);
    }
}

static void start(struct collector_run *run, const char *const options[])
{
    static char data[256], address[64];
    const char *argv[24] = {NULL};
    const char *const first[] = {program_built("../../collector/sonde-collector"),
                                 "serve",
                                 "--data",
                                 data,
                                 "--listen",
                                 address};
    unsigned count = 0;
    for (; run->before != NULL && run->before[count] != NULL; count++) {
        argv[count] = run->before[count];
    }
    memcpy(argv + count, first, sizeof first);
    count += sizeof first / sizeof *first;
    run->port = program_free_port();
    snprintf(data, sizeof data, "%s/%s", test_folder(), run->folder != NULL ? run->folder : "data");
    snprintf(address, sizeof address, "127.0.0.1:%d", run->port);
    if (run->database != NULL) {
        argv[count++] = "--database";
        argv[count++] = run->database;
    }
    for (; options != NULL && *options != NULL && count < 23; options++) {
        argv[count++] = *options;
    }
    run->program = program_start(argv);
    program_await(&run->program, "listening on port", 30);
}

void collector_begin(struct collector_run *run, const char *const options[])
{
    start(run, options);
    char *output = program_output(&run->program);
    set_key(output, "admin key", run->admin, sizeof run->admin);
    set_key(output, "ingest key", run->ingest, sizeof run->ingest);
    free(output);
}

struct collector_run collector_start_by(const char *const before[], const char *const options[])
{
    struct collector_run run = {.before = before};
    collector_begin(&run, options);
    return run;
}

struct collector_run collector_start(const char *const options[])
{
    return collector_start_by(NULL, options);
}

void collector_again(struct collector_run *run)
{
    start(run, NULL);
}

void collector_stop(struct collector_run *run)
{
    CHECK_EQ(program_stop(&run->program, 30), 0);
}

const char *collector_report(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/report.sonde", test_folder());
    if (access(path, R_OK) != 0) {
        const char *const argv[] = {program_built("run/run_loop"), "20", "sleep:300", "idle:10",
                                    NULL};
        struct test_run run = program_watch(NULL, path, argv, 60);
        CHECK_EQ(run.status, 0);
        test_run_done(&run);
    }
    return path;
}

char *collector_script(const struct collector_run *run, const char *script)
{
    char url[64], text[8192];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", run->port);
    int size = snprintf(
        text, sizeof text,
        "set -u; cd '%s'; URL=%s ADMIN=%s INGEST=%s REPORT='%s' SONDE='%s' "
        "COLLECTOR='%s' LOOP='%s' SENDERS='%s' HOOKS='%s' EVENTS='%s' POWERCUT='%s' "
        "CI='%s/docs/guide/ci'; "
        "export URL INGEST; "
        "post() { curl -s -m 20 -o answer -w '%%{http_code}' -X POST \"$@\" "
        "$URL/api/reports; echo; }; "
        "get() { curl -s -m 20 -H \"Authorization: Bearer $ADMIN\" \"$URL$1\"; }; "
        "lock() { mkfifo hold; (sh -c 'echo .timeout 20000; echo \"BEGIN IMMEDIATE;\"; "
        "cat hold' | sqlite3 data/collector.db) >/dev/null 2>&1 & while sqlite3 "
        "data/collector.db 'BEGIN IMMEDIATE; ROLLBACK' 2>/dev/null; do sleep 0.02; done; }; "
        "unlock() { echo >hold; sleep 0.2; }; "
        /* `stalled REPORT ARGUMENT...`: run $SONDE until its report has samples of the stall, which
         * a loaded machine may not leave time for; at most ten times */
        "stalled() { for try in 1 2 3 4 5 6 7 8 9 10; do $SONDE run -q -o \"$@\" >/dev/null 2>&1; "
        "! $SONDE show $1 2>/dev/null | grep -q '^  samples   [1-9]' || break; done; }; %s",
        test_folder(), url, run->admin, run->ingest, collector_report(), program_sonde(),
        program_built("../../collector/sonde-collector"), program_built("run/run_loop"),
        program_source("collector/senders.py"), program_source("collector/hooks.py"),
        program_source("collector/hook_events.py"), program_source("collector/powercut.py"),
        test_source_dir(), script);
    CHECK(size > 0 && (size_t)size < sizeof text);
    const char *const argv[] = {"sh", "-c", text, NULL};
    struct test_run result = test_run(argv, NULL, NULL, 100);
    if (result.status != 0) {
        FAIL("the script ended with %d: %s%s", result.status, result.out, result.err);
    }
    char *out = result.out;
    result.out = NULL;
    test_run_done(&result);
    return out;
}

void collector_settle(const struct collector_run *run)
{
    free(collector_script(run, "for i in $(seq 600); do "
                               "get /metrics | grep -q '^sonde_collector_journal_behind_bytes 0$' "
                               "&& exit 0; sleep 0.05; done; get /metrics; exit 1"));
}

struct json *collector_get(const struct collector_run *run, const char *path)
{
    char script[512];
    snprintf(script, sizeof script, "get '%s'", path);
    char *text = collector_script(run, script);
    struct json *json = json_parse(text);
    free(text);
    return json;
}
