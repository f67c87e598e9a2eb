// SPDX-License-Identifier: Apache-2.0
/* Envelopes as Sentry's own SDK reads them (check_envelope.js, @sentry/core of the npm registry),
 * of stalls of a program with known functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upload.h"

/* The package in the cache of ./dev setup test. */
static const char *sentry_core(void)
{
    static char path[700];
    const char *cache = getenv("SONDE_CACHE"), *base = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    static const char name[] = "npm/@sentry+core@9.47.1/build/cjs";
    if (cache != NULL) {
        snprintf(path, sizeof path, "%s/%s", cache, name);
    } else if (base != NULL) {
        snprintf(path, sizeof path, "%s/sonde/%s", base, name);
    } else {
        snprintf(path, sizeof path, "%s/.cache/sonde/%s", home != NULL ? home : "", name);
    }
    if (access(path, R_OK) != 0) {
        SKIP("no @sentry/core (./dev setup test)");
    }
    return path;
}

#define WATCH(turns)                                                                               \
    "$SONDE run -q --spool $DIR/spool --tag suite=upload -- $LOOP $TURNS " turns                   \
    " idle:10 >run.out 2>&1; "

TEST_TIMEOUT(stalls_are_events_as_sentrys_sdk_reads_them, 90)
{
    char line[2048];
    snprintf(
        line, sizeof line,
        WATCH("sleep:400 idle:10 burn:400") "$SONDE upload --to $DSN spool; ls spool | grep -c "
                                            "sonde; "
                                            "$SONDE stacks --report stacks.sonde $$ >out; $SONDE "
                                            "upload --to $DSN stacks.sonde; "
                                            "grep -c zstd srv/log; "
                                            "node %s/tests/integration/upload/check_envelope.js %s "
                                            "srv/*.envelope",
        test_source_dir(), sentry_core());
    EXPECT("ok", line, "stored\n0\n", "\n0\n", "App Hanging: main blocked ", "frames _start ... ",
           "app _start main take_turn stall_sleep\n", "app _start main take_turn stall_burn",
           "level error, fingerprint 34, tags "
           "{\"suite\":\"upload\"}\n",
           ", 1 threads\n", "the same shape\n", "stored: 3", "asked: 3");
}

TEST_TIMEOUT(a_stall_that_a_signal_ended_is_fatal, 90)
{
    char line[2048];
    snprintf(
        line, sizeof line,
        WATCH("kill:500") "for i in $(seq 400); do { ls spool | grep -q sonde && ! ls spool | "
                          "grep -q live; } && break; sleep 0.05; done; $SONDE upload --to $DSN "
                          "spool; "
                          "node %s/tests/integration/upload/check_envelope.js %s srv/*.envelope",
        test_source_dir(), sentry_core());
    EXPECT("ok", line, "Fatal App Hang: ", "level fatal", "the same shape\n", "stored: 1");
}

/* One envelope per stall: stored ones are not sent again. */
TEST_TIMEOUT(what_is_left_of_a_report_is_sent_later, 90)
{
    EXPECT(
        "ok 429:Retry-After:1 ok",
        WATCH(
            "sleep:300 idle:10 burn:300 idle:10 poll:300") "$SONDE upload --to $DSN spool; "
                                                           "cat spool/*.upload | grep part; sleep "
                                                           "1; $SONDE upload --to $DSN spool; "
                                                           "grep -c '\"new\": false' srv/log; ls "
                                                           "spool | grep -c sonde",
        "later: 429: ", "part 1\n", "stored\n0\n0\n", "stored: 3", "asked: 4");
}

TEST_TIMEOUT(what_sentry_has_no_event_for_is_refused, 60)
{
    EXPECT("ok",
           "echo getenv >list; $SONDE run --record list --report calls.sonde -- ls >out 2>&1; "
           "$SONDE upload --to $DSN calls.sonde; echo exit $?; "
           "$SONDE upload --to $URL calls.sonde",
           "refused: a DSN takes stalls and stacks only", "exit 1\n", "stored\n", "stored: 1",
           "asked: 1");
}

/* Sentry's limits, in a header that any answer may have. */
TEST_TIMEOUT(rate_limits_of_sentry_are_obeyed, 60)
{
    EXPECT("'429:X-Sentry-Rate-Limits:500:error:key' ok",
           WATCH("sleep:300") "$SONDE upload --to $DSN spool; $SONDE upload --to $DSN spool; "
                              "ls spool | grep -c sonde",
           "(not before 8 min)", "nothing was sent: 429", "\n1\n", "asked: 1");
}
