// SPDX-License-Identifier: Apache-2.0
/* Snapshots of Go programs: main.go says what is at stake. */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

struct counts {
    unsigned held, burning, called, consistent, collections;
};

static void check(const struct counts *counts)
{
    CHECK(counts->held >= counts->burning);
    CHECK(counts->burning > 10);
    CHECK(counts->called * 10 >= counts->burning * 9);
    CHECK(counts->consistent > 0);
    CHECK(counts->collections > 0);
}

/* Run shell commands with Go, in the test's folder and with all sources there. */
static struct test_run build_and_run(const char *commands)
{
    char command[16384];
    const char *cache = getenv("SONDE_CACHE");
    snprintf(
        command, sizeof command,
        "command -v go >/dev/null || exit 77\n"
        "cd '%s'; cp -r '%s'/tests/integration/go/. .; rm -f test_go.c\n"
        "export GO111MODULE=off GOFLAGS= GOCACHE=\"%s/go-build\" CGO_CFLAGS='-O2 -I%s/include'\n"
        "export CGO_LDFLAGS='-L%s/src -lsonde -Wl,-rpath,%s/src'\n%s",
        test_folder(), test_source_dir(),
        cache != NULL ? cache : "${XDG_CACHE_HOME:-$HOME/.cache}/sonde", test_source_dir(),
        test_build_dir(), test_build_dir(), commands);
    const char *const argv[] = {"sh", "-ec", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 380);
    if (run.status == 77) {
        test_run_done(&run);
        SKIP("no Go here");
    }
    return run;
}

TEST_TIMEOUT(goroutines_are_still_stopped, 400)
{
    struct counts n;
    struct test_run run = build_and_run("go build -o program; ./program");
    if (run.status != 0 ||
        sscanf(run.out, "held %u burning %u called %u consistent %u collections %u", &n.held,
               &n.burning, &n.called, &n.consistent, &n.collections) != 5) {
        FAIL("ended with %d: %s%s", run.status, run.out, run.err);
    }
    check(&n);
    test_run_done(&run);
}

/* With C, so it is linked dynamically and carries the probe; but its waits are made by Go's
 * runtime. */
TEST_TIMEOUT(a_watch_says_why_nothing_is_watched, 400)
{
    char commands[1024];
    snprintf(commands, sizeof commands, "go build -o program; '%s/cli/sonde' run ./program 2>&1",
             test_build_dir());
    struct test_run run = build_and_run(commands);
    CHECK_CONTAINS(run.out, "nothing was watched: the process is a Go program");
    test_run_done(&run);
}

/* Go's runtime in a C program: its threads in snapshots, and C that it calls, on a thread of ours
 * and on one of its own. */
static void check_library(const char *commands)
{
    struct counts n;
    unsigned here = 0, elsewhere = 0, changed = 0;
    struct test_run run = build_and_run(commands);
    if (run.status != 0 || sscanf(run.out,
                                  "held %u burning %u called %u consistent %u collections %u "
                                  "here %u elsewhere %u changed %u",
                                  &n.held, &n.burning, &n.called, &n.consistent, &n.collections,
                                  &here, &elsewhere, &changed) != 8) {
        FAIL("ended with %d: %s%s", run.status, run.out, run.err);
    }
    check(&n);
    if (here != 1 || elsewhere != 1) {
        FAIL("here %u, elsewhere %u: %s", here, elsewhere, run.err);
    }
    test_run_done(&run);
}

TEST_TIMEOUT(goroutines_of_an_archive, 400)
{
    check_library("(cd library; CGO_LDFLAGS= go build -buildmode=c-archive -o ../libwork.a)\n"
                  "cc -D_GNU_SOURCE -O2 $CGO_CFLAGS -I. host/host.c take.c libwork.a -o program "
                  "$CGO_LDFLAGS -lpthread -ldl; ./program");
}

TEST_TIMEOUT(goroutines_of_a_shared_library, 400)
{
    check_library("(cd library; CGO_LDFLAGS= go build -buildmode=c-shared -o ../libwork.so)\n"
                  "cc -D_GNU_SOURCE -DHOST_LOADS -O2 $CGO_CFLAGS -I. host/host.c take.c "
                  "-o program $CGO_LDFLAGS -lpthread -ldl; ./program");
}
