// SPDX-License-Identifier: Apache-2.0
/* The collector is killed again and again while several senders send: every report that it
 * acknowledged is there, exactly once. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"

enum { KILLS = 6 };

/* A report waits in the journal, because the database is locked, and the program ends: `ends` times
 * it was reading that report. Returns the note of the report after the next start. */
static char *note_after_ends(unsigned ends)
{
    struct collector_run run = collector_start(NULL);
    free(collector_script(&run,
                          "lock; "
                          "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT"));
    kill(run.program.pid, SIGKILL);
    CHECK_EQ(program_end(&run.program, 30), 128 + SIGKILL);
    free(collector_script(&run, "unlock"));
    uint64_t record[3] = {1, 0, ends - 1}; /* the first entry of the first file */
    char path[512];
    snprintf(path, sizeof path, "%s/data/reading", test_folder());
    test_write_file(path, record, sizeof record);
    collector_again(&run);
    collector_settle(&run);
    struct json *reports = collector_get(&run, "/api/projects/default/reports");
    CHECK_EQ(json_need(reports, "reports")->count, 1);
    char *note = strdup(json_text(json_need(reports, "reports")->first, "note"));
    json_free(reports);
    collector_stop(&run);
    return note;
}

TEST_TIMEOUT(report_at_which_it_ended_once_is_read_again, 60)
{
    char *note = note_after_ends(1);
    CHECK_STR(note, "");
    free(note);
}

TEST_TIMEOUT(report_at_which_it_ended_twice_is_kept_aside, 60)
{
    char *note = note_after_ends(2);
    CHECK_STR(note, "the collector ended twice while it read this report");
    free(note);
}

/* SIGTERM while senders send: it answers what has begun, and ends with 0. */
TEST_TIMEOUT(ends_between_requests, 120)
{
    struct collector_run run = collector_start(NULL);
    for (unsigned i = 0; i < KILLS; i++) {
        free(collector_script(&run, "timeout 100 python3 $SENDERS $URL $INGEST $REPORT sent "
                                    ">>out 2>&1 & for i in $(seq 400); do "
                                    "[ -s sent ] && break; sleep 0.02; done; sleep 0.2"));
        collector_stop(&run);
        free(collector_script(&run,
                              "wc -l <sent >>counts; mv sent sent.$(wc -l <counts); sleep 0.1"));
        collector_again(&run);
    }
    collector_settle(&run);
    collector_stop(&run);
    char *out = collector_script(
        &run, "sqlite3 data/collector.db 'SELECT lower(hex(id)) FROM report' | sort >stored; "
              "cat sent.* | sort | comm -13 stored - | wc -l");
    CHECK_STR(out, "0\n");
    free(out);
}

TEST_TIMEOUT(nothing_acknowledged_is_lost, 120)
{
    char script[512];
    struct collector_run run = collector_start(NULL);
    for (unsigned i = 0; i < KILLS; i++) {
        snprintf(script, sizeof script,
                 "timeout 100 python3 $SENDERS $URL $INGEST $REPORT acknowledged >>out 2>&1 & "
                 "echo $! >sender; for i in $(seq 400); do "
                 "[ $(cat acknowledged 2>/dev/null | wc -l) -ge %u ] && exit 0; sleep 0.02; done; "
                 "cat out; exit 1",
                 (i + 1) * 50);
        free(collector_script(&run, script));
        kill(run.program.pid, SIGKILL);
        CHECK_EQ(program_end(&run.program, 30), 128 + SIGKILL);
        free(collector_script(&run, "kill $(cat sender) 2>/dev/null; sleep 0.1"));
        collector_again(&run);
    }
    collector_settle(&run);
    collector_stop(&run);
    char *out = collector_script(
        &run, "sqlite3 data/collector.db 'SELECT lower(hex(id)) FROM report' | sort >stored; "
              "sort acknowledged >sent; sort -u acknowledged | cmp - sent && echo sent once; "
              "comm -13 stored sent | wc -l; uniq -d stored | wc -l; "
              "sqlite3 data/collector.db 'SELECT (SELECT sum(count) FROM cause) = "
              "(SELECT count(*) FROM report)'; [ $(wc -l <sent) -ge 300 ] && echo enough");
    CHECK_STR(out, "sent once\n0\n0\n1\nenough\n");
    free(out);
}
