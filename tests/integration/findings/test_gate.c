// SPDX-License-Identifier: Apache-2.0
/* The gate of docs/guide/ci.md (ci/audit-gate.sh) over the builds of a program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "test.h"

/* Run a line of shell in the test's folder, with `build OPTIONS`, and `gate`, which is as in CI. */
static struct test_run run_line(const char *line)
{
    static char command[8192];
    const char *const argv[] = {"bash", "-c", command, NULL};
    snprintf(command, sizeof command,
             "cd %s; export SONDE=%s XDG_CACHE_HOME=$PWD/cache; echo getenv >list; "
             "build() { cp %s app.c && gcc -g -O2 \"$@\" -o app app.c; }; "
             "gate() { sh %s/docs/guide/ci/audit-gate.sh list main.sonde accepted ./app; }; %s",
             test_folder(), program_sonde(), program_source("diff/optimized.c"), test_source_dir(),
             line);
    return test_run(argv, NULL, NULL, 100);
}

static void check(const char *line, int status, const char *err)
{
    struct test_run run = run_line(line);
    if (run.status != status || strstr(run.err, err) == NULL) {
        FAIL("%s\n%d instead of %d\n%s%s", line, run.status, status, run.out, run.err);
    }
    test_run_done(&run);
}

TEST_TIMEOUT(gate_fails_a_build_with_a_new_call, 100)
{
    check("build && gate && test -s audit.sarif && mv audit.sonde main.sonde", 0, "");
    check("build && gate", 0, "");
    check("build -DUNRELATED && gate", 0, "");
    check("build -DADDED && gate", 8, "");
    /* the finding is in the file for the code scanning service, with a relative path */
    check("grep -q '\"baselineState\": \"new\"' audit.sarif && grep -q '\"uri\": \"app.c\"' "
          "audit.sarif && test $(grep -c '\"baselineState\": \"new\"' audit.sarif) = 1",
          0, "");
}

TEST_TIMEOUT(gate_lets_accepted_calls_pass_until_their_last_day, 100)
{
    check("build && gate && mv audit.sonde main.sonde", 0, "");
    check("echo 'getenv by added until 2999-12-31 settings, reviewed' >accepted; build -DADDED && "
          "gate && grep -q 'settings, reviewed' audit.sarif",
          0, "");
    check("echo 'getenv by added until 2020-12-31 settings, reviewed' >accepted; gate", 8,
          "accepted:1: expired on 2020-12-31 and suppresses nothing: settings, reviewed");
    check("echo 'getenv by other until 2999-12-31 x' >accepted; gate", 8, "");
    check("id=$(\"$SONDE\" diff --no-network main.sonde audit.sonde | sed -n 's/^ *fingerprint  "
          "//p'); echo \"$id until 2999-12-31 x\" >accepted; gate",
          0, "");
    check("echo 'getenv by added' >accepted; gate", 5, "accepted:1:16: expected until DATE REASON");
}

/* A build without debug information may inline a caller: then it is not known whether it is new. */
TEST_TIMEOUT(gate_says_what_it_does_not_know, 100)
{
    check("build -g0 -fno-inline && gate && mv audit.sonde main.sonde", 0, "");
    check("build -g0 && gate", 7, "");
}

TEST_TIMEOUT(gate_passes_the_status_of_the_program_on, 100)
{
    check("printf '#include <stdlib.h>\\nint main(void) { return getenv(\"A\") == NULL ? 3 : 4; "
          "}\\n' "
          ">app.c; gcc -o app app.c && gate",
          3, "");
}
