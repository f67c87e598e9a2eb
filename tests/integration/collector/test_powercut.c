// SPDX-License-Identifier: Apache-2.0
/* The power is cut: only what was synced is left (powercut.c). Every report that was acknowledged
 * is there, exactly once, and so are the keys that were shown. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector.h"

enum { CUTS = 4 };

/* Start a collector whose syncs are followed. */
static struct collector_run start_followed(void)
{
    static char preload[512], from[300], to[300];
    static const char *const before[] = {"env", preload, from, to, NULL};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s",
             program_built("collector/libcollector_powercut.so"));
    snprintf(from, sizeof from, "POWERCUT_FROM=%s/data", test_folder());
    snprintf(to, sizeof to, "POWERCUT_TO=%s/kept", test_folder());
    free(collector_script(&(struct collector_run){0}, "mkdir data"));
    return collector_start_by(before, NULL);
}

/* Replace the data folder by what a cut leaves of it. */
static void cut(const struct collector_run *run)
{
    free(collector_script(run, "rm -rf data; python3 $POWERCUT kept data && rm -rf kept"));
}

static void check_stored(const struct collector_run *run)
{
    char *out = collector_script(
        run, "sqlite3 data/collector.db 'SELECT lower(hex(id)) FROM report' | sort >stored; "
             "sort acknowledged | comm -13 stored - | wc -l; uniq -d stored | wc -l; "
             "sqlite3 data/collector.db 'SELECT (SELECT sum(count) FROM cause) = "
             "(SELECT count(*) FROM report WHERE kind <> 0), "
             "(SELECT count(*) FROM report WHERE length(blob) <> 32)'; "
             "sqlite3 data/collector.db 'SELECT DISTINCT lower(hex(blob)) FROM report' | "
             "while read b; do [ -s data/blobs/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-) ] || "
             "echo no file $b; done");
    CHECK_STR(out, "0\n0\n1|0\n");
    free(out);
}

TEST_TIMEOUT(power_cut_loses_nothing_acknowledged, 300)
{
    char script[512];
    struct collector_run run = start_followed();
    for (unsigned i = 0; i < CUTS; i++) {
        snprintf(script, sizeof script,
                 "timeout 100 python3 $SENDERS $URL $INGEST $REPORT acknowledged >>out 2>&1 & "
                 "echo $! >sender; for i in $(seq 1500); do "
                 "[ $(cat acknowledged 2>/dev/null | wc -l) -ge %u ] && exit 0; sleep 0.02; done; "
                 "cat out; exit 1",
                 (i + 1) * 40);
        free(collector_script(&run, script));
        kill(run.program.pid, SIGKILL);
        CHECK_EQ(program_end(&run.program, 30), 128 + SIGKILL);
        free(collector_script(&run, "kill $(cat sender) 2>/dev/null; sleep 0.1"));
        cut(&run);
        collector_again(&run);
        collector_settle(&run);
    }
    collector_stop(&run); /* the end syncs all */
    cut(&run);
    check_stored(&run);
}

/* A journal file is removed when the database and the files of its reports are on the disk, not
 * before: reports of 15 MB fill several. */
TEST_TIMEOUT(power_cut_after_journal_files_are_removed, 300)
{
    struct collector_run run = start_followed();
    char *out = collector_script(
        &run,
        "for i in 0 1 2 3 4 5 6 7 8 9; do head -c 15000000 /dev/urandom | cat $REPORT - >big; "
        "post -H \"Authorization: Bearer $INGEST\" -H 'Expect:' "
        "-H \"Idempotency-Key: 0000000000000000000000000000000$i\" --data-binary @big | "
        "grep -q 201 && echo 0000000000000000000000000000000$i >>acknowledged; done; "
        "wc -l <acknowledged; for i in $(seq 600); do "
        "[ -e data/journal/0000000000000001.journal ] || break; sleep 0.05; done; "
        "ls data/journal | grep -c 0000000000000001 || true");
    CHECK_STR(out, "10\n0\n");
    free(out);
    kill(run.program.pid, SIGKILL);
    CHECK_EQ(program_end(&run.program, 30), 128 + SIGKILL);
    cut(&run);
    run.before = NULL;
    collector_again(&run);
    collector_settle(&run);
    collector_stop(&run);
    check_stored(&run);
}
