// SPDX-License-Identifier: Apache-2.0
/* The journal's files are damaged, or cannot be read: what was acknowledged and can be read is
 * stored, and the rest is said, counted and kept. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector.h"

/* The journal's file cannot be read for a while: the report that is in it waits, and is stored. */
TEST_TIMEOUT(journal_that_cannot_be_read_is_read_later, 100)
{
    struct collector_run run = collector_start(NULL);
    char *out = collector_script(
        &run, "cd data/journal; mv 0000000000000001.journal other; "
              "mkdir 0000000000000001.journal; cd ../..; "
              "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT; "
              "for i in $(seq 400); do get /readyz | grep 'journal cannot be read' && break; "
              "sleep 0.05; done; "
              "get /metrics | grep -c 'journal_read_failures_total [1-9]'; "
              "get /metrics | grep -c 'journal_damaged_total 0$'; "
              "get /metrics | grep -c 'reports_stored_total 0$'; cd data/journal; "
              "rmdir 0000000000000001.journal; mv other 0000000000000001.journal");
    CHECK_STR(out, "201\nthe journal cannot be read\n1\n1\n1\n");
    free(out);
    collector_settle(&run);
    out = collector_script(&run, "get /readyz; get /metrics | grep -c 'reports_stored_total 1$'");
    CHECK_STR(out, "ready\n1\n");
    free(out);
    collector_stop(&run);
}

/* Five reports wait in the journal when the collector is killed, and the disk damages one. */
TEST_TIMEOUT(damaged_report_costs_no_other, 100)
{
    struct collector_run run = collector_start(NULL);
    free(collector_script(&run, "lock; for i in 1 2 3 4 5; do "
                                "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT "
                                "-H \"Idempotency-Key: 0000000000000000000000000000000$i\"; done"));
    kill(run.program.pid, SIGKILL);
    CHECK_EQ(program_end(&run.program, 30), 128 + SIGKILL);
    /* in the middle of the file: in the third */
    free(collector_script(&run, "unlock; cd data/journal; "
                                "f=0000000000000001.journal; cp $f ../../copy; "
                                "at=$(($(stat -c %s $f) / 2)); printf '\\377\\000\\377' | "
                                "dd of=$f bs=1 seek=$at conv=notrunc status=none; "
                                "! cmp -s $f ../../copy; cp $f ../../copy"));
    collector_again(&run);
    collector_settle(&run);
    char *out = collector_script(
        &run,
        "sqlite3 data/collector.db 'SELECT lower(hex(id)) FROM report' | sort | tail -c 2 -q; "
        "sqlite3 data/collector.db 'SELECT count(*) FROM report'; "
        "get /metrics | grep -c 'journal_damaged_total 1$'; "
        "cmp data/journal/0000000000000001.journal.damaged copy && echo kept");
    CHECK_STR(out, "5\n4\n1\nkept\n");
    free(out);
    collector_stop(&run);
}
