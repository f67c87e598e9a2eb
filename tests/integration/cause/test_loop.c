// SPDX-License-Identifier: Apache-2.0
/* `sonde run` of an event loop that stalls: the stall says who has what the thread waits for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"
#include "test.h"

/* The program's own words: "TID RESOURCE OWNER". */
static struct test_run watch(const char *how, char tid[16], char resource[32], char owner[16])
{
    char line[1200];
    snprintf(line, sizeof line,
             "$SONDE run --stall 200ms --timeout 4s --timeout-action abort %s %s %u",
             test_program("cause", "cause_loop"), how, test_slack());
    struct test_run run = shell(line);
    if (sscanf(run.out, "%15s %31s %15s", tid, resource, owner) != 3) {
        FAIL("no truth in: %s%s", run.out, run.err);
    }
    return run;
}

/* The stack next to the cause is the owner's. */
static void check_owner(const char *text, const char *owner, const char *function)
{
    char expected[64];
    snprintf(expected, sizeof expected, "\n  its stack, thread %s \"", owner);
    CHECK_CONTAINS(text, expected);
    const char *stack = strstr(text, expected), *end = strstr(stack, "\n  phases");
    CHECK(end != NULL);
    char *shown = strndup(stack, (size_t)(end - stack));
    CHECK_CONTAINS(shown, function);
    free(shown);
}

TIMED_TEST(a_stall_by_a_lock, 60)
{
    char tid[16], resource[32], owner[16], expected[200];
    struct test_run run = watch("lock", tid, resource, owner);
    snprintf(expected, sizeof expected, "  waits     thread %s for mutex %s, held by thread %s\n",
             tid, resource, owner);
    CHECK_CONTAINS(run.err, "\nstall 1: ");
    CHECK_CONTAINS(run.err, expected);
    CHECK(strstr(run.err, "deadlock") == NULL);
    snprintf(expected, sizeof expected,
             " in futex (mutex %s, held by thread %s) under stall_by_lock", resource, owner);
    CHECK_CONTAINS(run.err, "\n  main blocked ");
    CHECK_CONTAINS(run.err, expected);
    check_owner(run.err, owner, "hold+0x");
    test_run_done(&run);
}

/* The child's stacks stand next to the cause. */
TIMED_TEST(a_stall_by_a_child, 60)
{
    char tid[16], resource[32], owner[16], expected[200];
    struct test_run run = watch("child", tid, resource, owner);
    snprintf(expected, sizeof expected, "  waits     thread %s for ", tid);
    CHECK_CONTAINS(run.err, "\nstall 1: ");
    CHECK_CONTAINS(run.err, expected);
    CHECK_CONTAINS(run.err, " in wait4 (");
    CHECK_CONTAINS(run.err, " under stall_by_child");
    check_owner(run.err, owner, "work_of_the_child+0x");
    test_run_done(&run);
}

TIMED_TEST(a_stall_by_a_pipe, 60)
{
    char tid[16], resource[32], owner[16], expected[200];
    struct test_run run = watch("pipe", tid, resource, owner);
    snprintf(expected, sizeof expected, "  waits     thread %s for fd %s pipe:[", tid, resource);
    CHECK_CONTAINS(run.err, "\nstall 1: ");
    CHECK_CONTAINS(run.err, expected);
    const char *line = strstr(run.err, expected);
    char *rest = strndup(line, strcspn(line, "\n"));
    snprintf(expected, sizeof expected, "process %s", owner);
    CHECK_CONTAINS(rest, expected);
    free(rest);
    test_run_done(&run);
}

/* A condition has no owner. The stall of the second loop says with whose it ended. */
TIMED_TEST(a_stall_that_ends_with_another, 60)
{
    char tid[16], resource[32], other[16], expected[200];
    struct test_run run = watch("place", tid, resource, other);
    CHECK_CONTAINS(run.err, " under stall_in_the_place");
    snprintf(expected, sizeof expected, "  waits     thread %s for condition variable", other);
    CHECK_CONTAINS(run.err, expected);
    const char *line = strstr(run.err, expected);
    char *rest = strndup(line, strcspn(line, "\n"));
    snprintf(expected, sizeof expected, ", until thread %s (cause_loop) went on", tid);
    CHECK_CONTAINS(rest, expected);
    free(rest);
    test_run_done(&run);
}

static void check_deadlock(const char *how)
{
    char tid[16], resource[32], owner[16], expected[200];
    struct test_run run = watch(how, tid, resource, owner);
    snprintf(expected, sizeof expected,
             "sonde run: deadlock: thread %s (cause_loop) waits for mutex %s, held by thread %s (",
             tid, resource, owner);
    CHECK_CONTAINS(run.err, expected);
    const char *said = strstr(run.err, expected), *end = strstr(run.err, "still runs after");
    CHECK(end != NULL && said < end);
    snprintf(expected, sizeof expected, "; thread %s (cause_loop) waits for mutex ", owner);
    CHECK_CONTAINS(said, expected);
    check_owner(run.err, owner, "pthread_mutex_lock");
    test_run_done(&run);
}

/* A deadlock has no end, so the report must come before. */
TIMED_TEST(a_deadlock_of_a_loop, 60)
{
    check_deadlock("deadlock");
}

/* When the stall is confirmed, the owner of the lock does not wait for the other one yet. */
TIMED_TEST(a_deadlock_that_closes_during_the_stall, 60)
{
    check_deadlock("'late deadlock'");
}

/* The libraries of a chroot are the distribution's, although their paths begin with its folder. */
TIMED_TEST(libraries_of_a_chroot_are_not_the_apps, 60)
{
    char line[1200];
    snprintf(line, sizeof line,
             "P=%s R=$DIR/root\n"
             "chroot / true || { echo no chroot; exit 77; }\n"
             "for f in $P $(ldd $P | grep -o '/[^ ]*'); do\n"
             "mkdir -p $R$(dirname $f) && cp -L $f $R$f || exit 1; done\n"
             "chroot $R $P child 99 >/dev/null &\n"
             "while [ \"$(readlink /proc/$!/exe)\" != $R$P ]; do sleep 0.05; done\n"
             "$SONDE stacks --json $! >$DIR/json; kill $!\n"
             "python3 -c 'import json, sys\n"
             "for i in json.load(open(sys.argv[1]))[\"images\"]:\n"
             "    print(i[\"path\"].rsplit(\"/\", 1)[1], i[\"app\"])' $DIR/json\n",
             test_program("cause", "cause_loop"));
    struct test_run run = shell(line);
    if (run.status == 77) {
        SKIP("%s", run.out);
    }
    CHECK_CONTAINS(run.out, "cause_loop True\n");
    CHECK_CONTAINS(run.out, "libc.so.6 False\n");
    test_run_done(&run);
}
