// SPDX-License-Identifier: Apache-2.0
/* Pictures of a Go program: main.go says what is at stake. */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

TEST_TIMEOUT(goroutines_are_still_stopped, 400)
{
    unsigned held = 0, burning = 0, called = 0, consistent = 0, collections = 0;
    char command[16384];
    const char *cache = getenv("SONDE_CACHE");
    snprintf(
        command, sizeof command,
        "command -v go >/dev/null || exit 77\n"
        "cd '%s'; cp '%s'/tests/integration/go/*.go '%s'/tests/integration/go/take.* .\n"
        "export GO111MODULE=off GOFLAGS= GOCACHE=\"%s/go-build\" CGO_CFLAGS='-O2 -I%s/include'\n"
        "export CGO_LDFLAGS='-L%s/src -lsonde -Wl,-rpath,%s/src'\n"
        "go build -o program; ./program",
        test_folder(), test_source_dir(), test_source_dir(),
        cache != NULL ? cache : "${XDG_CACHE_HOME:-$HOME/.cache}/sonde", test_source_dir(),
        test_build_dir(), test_build_dir());
    const char *const argv[] = {"sh", "-ec", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 380);
    if (run.status == 77) {
        test_run_done(&run);
        SKIP("no Go here");
    }
    if (run.status != 0 ||
        sscanf(run.out, "held %u burning %u called %u consistent %u collections %u", &held,
               &burning, &called, &consistent, &collections) != 5) {
        FAIL("ended with %d: %s%s", run.status, run.out, run.err);
    }
    CHECK(held >= burning);
    CHECK(burning > 10);
    CHECK(called * 10 >= burning * 9); /* no call frame information: by frame pointers */
    CHECK(consistent > 0);
    CHECK(collections > 0);
    test_run_done(&run);
}
