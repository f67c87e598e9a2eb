// SPDX-License-Identifier: Apache-2.0
/* A program that writes over the memory that it shares with sonde goes on as without sonde, and
 * sonde says that what it recorded may be wrong. */
#include <stdio.h>
#include <string.h>

#include "programs.h"

static void check(const char *what)
{
    char list[512];
    const char *argv[] = {program_sonde(),
                          "run",
                          "--record",
                          list,
                          "--",
                          program_built("record/wild_writes"),
                          what,
                          "libm.so.6",
                          "libutil.so.1",
                          NULL};
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, "getppid\ndlsym\n", 14);
    struct test_run run = test_run(argv, NULL, NULL, 150);
    if (run.status != 0 || strstr(run.out, "went on") == NULL ||
        strstr(run.err, "the program has damaged the memory that it shares with sonde") == NULL) {
        FAIL("%s: ended with %d, said %s%s", what, run.status, run.out, run.err);
    }
    test_run_done(&run);
}

TEST_TIMEOUT(programs_that_write_over_shared_memory_go_on, 600)
{
    check("zeros");
    check("ones");
    check("small");
    check("random");
    check("rising");
}
