// SPDX-License-Identifier: Apache-2.0
/* Hooks, against a receiver that checks signatures with Python's HMAC, and that fails in each way.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"

enum { KILLS = 4, GROUPS = 10 /* between two kills */ };

/* `receiver`: start it; `add NAME OPTION...`: a hook to its path /NAME; `events FIRST COUNT`: send
 * events of new groups; `told PATTERN COUNT`: wait for so many lines of the log. */
#define RECEIVER                                                                                   \
    "receiver() { timeout 200 python3 $HOOKS log >port 2>receiver.err & echo $! >receiver; "       \
    "for i in $(seq 600); do [ -s port ] && return; sleep 0.05; done; exit 1; }; "
#define HELPERS                                                                                    \
    "add() { name=$1; shift; $COLLECTOR hook --data data --project default \"$@\" add "            \
    "http://127.0.0.1:$(cat port)/$name >made || exit 1; "                                         \
    "sed -n 's/^secret *//p' made >secret.$name; }; "                                              \
    "events() { python3 $EVENTS $URL $INGEST $1 $2 >/dev/null || exit 1; }; "                      \
    "told() { for i in $(seq 1200); do [ $(grep -c \"$1\" log) -ge $2 ] && return; sleep 0.05; "   \
    "done; cat log; $COLLECTOR hook --data data; exit 1; }; "                                      \
    "is() { for i in $(seq 1200); do $COLLECTOR hook --data data | grep -q \"$1\" && return; "     \
    "sleep 0.05; done; $COLLECTOR hook --data data; exit 1; }; "

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

static struct collector_run start(const char *const options[])
{
    struct collector_run run = collector_start(options);
    free(collector_script(&run, RECEIVER "touch log; receiver"));
    return run;
}

static void stop(struct collector_run *run)
{
    collector_stop(run);
    check_script(run, "kill $(cat receiver); grep -c ' bad ' log; cat receiver.err; true", "0\n");
}

TEST_TIMEOUT(hooks_are_told_of_new_and_regressed_groups, 120)
{
    struct collector_run run = start(NULL);
    check_script(&run,
                 HELPERS "add ok; add ok-back --events regressed; add ok-calls --kinds call; "
                         "events 0 3; told '^ok ' 3; cut -d' ' -f1,3- log | sort; "
                         "cut -d' ' -f2 log | sort -u | wc -l",
                 "ok group.new E0 1 ok 200\nok group.new E1 1 ok 200\n"
                 "ok group.new E2 1 ok 200\n3\n");
    check_script(&run,
                 HELPERS
                 "curl -s -o answer -H \"Authorization: Bearer $ADMIN\" -d state=resolved "
                 "$URL/api/projects/default/groups/2; "
                 "sed 's/number + 1/number + 101/' $EVENTS >again.py; "
                 "python3 again.py $URL $INGEST 1 1 >/dev/null; told '^ok-back ' 1; "
                 "told '^ok ' 4; grep regressed log | cut -d' ' -f1,3- | sort; "
                 "is '^ *of stall,finding,error; new.* 4 sent, 0 waiting.* last: status 200'",
                 "ok group.regressed E1 1 ok 200\n"
                 "ok-back group.regressed E1 1 ok 200\n");
    stop(&run);
}

/* A message that is not taken is sent again with its id; an answer may ask for a later try. */
TEST_TIMEOUT(hook_that_fails_is_told_again, 120)
{
    const char *const options[] = {"--hooks-retry=0,0,0", NULL};
    struct collector_run run = start(options);
    check_script(
        &run,
        HELPERS "add fail; add busy; events 0 2; told '^fail .* 200' 2; told '^busy .* 200' "
                "2; cut -d' ' -f1,4- log | sort; for name in fail busy; do "
                "grep \"^$name \" log | cut -d' ' -f2 | sort -u | wc -l; done; "
                "is ' 2 sent, 0 waiting, 0 given up'; "
                "get /metrics | grep -E '^sonde_collector_hook_(messages_s|f|messages_w)'",
        "busy E0 1 ok 503\nbusy E0 2 ok 200\nbusy E1 1 ok 503\n"
        "busy E1 2 ok 200\nfail E0 1 ok 500\nfail E0 2 ok 500\n"
        "fail E0 3 ok 200\nfail E1 1 ok 500\nfail E1 2 ok 500\n"
        "fail E1 3 ok 200\n2\n2\n"
        "sonde_collector_hook_messages_sent_total 4\nsonde_collector_hook_failures_total 6\n"
        "sonde_collector_hook_messages_waiting 0\n");
    stop(&run);
}

/* It holds up no other hook and no report, and is disabled after its last try. */
TEST_TIMEOUT(hook_that_hangs_is_disabled, 120)
{
    const char *const options[] = {"--hooks-retry=0", "--hooks-time=1", NULL};
    struct collector_run run = start(options);
    check_script(&run,
                 HELPERS "add hang; add ok; events 0 20; told '^ok ' 20; told '^hang ' 2; "
                         "is '^1 *disabled'; cut -d' ' -f2 log | sort | uniq -d | wc -l; "
                         "grep -c '^hang .* 1 ok' log; $COLLECTOR hook --data data list | "
                         "grep -c ' 0 sent, 0 waiting, 20 given up'; "
                         "$COLLECTOR log --data data | grep -o 'hook 1: disabled.*'; "
                         "$COLLECTOR hook --data data enable 1; $COLLECTOR hook --data data enable "
                         "9 2>&1; echo $?; is '^1 *enabled'; events 20 21; told '^hang ' 3; "
                         "$COLLECTOR log --data data | grep -o 'default: hook 1: enabled'",
                 "1\n1\n1\nhook 1: disabled, it took no message until all tries were over\n"
                 "sonde-collector hook: hook: there is none\n3\ndefault: hook 1: enabled\n");
    stop(&run);
}

/* 410 ends a hook; a redirect is not followed; an answer without an end is not read to it. */
TEST_TIMEOUT(hooks_that_are_gone_lead_elsewhere_or_talk_on, 120)
{
    const char *const retry[] = {"--hooks-retry=600", NULL};
    struct collector_run run = start(retry);
    check_script(
        &run,
        HELPERS
        "add gone; add redirect; add big; events 0 1; told . 3; "
        "is '^1 *disabled'; is 'last: status 302'; is '1 sent.*last: status 200'; "
        "events 1 1; told '^big ' 2; told '^redirect ' 2; cut -d' ' -f1,7 log | sort | uniq -c | "
        "tr -s ' '; $COLLECTOR log --data data | grep -o 'hook 1: disabled.*'",
        " 2 big 200\n 1 gone 410\n 2 redirect 302\n"
        "hook 1: disabled, its server answered 410 Gone\n");
    stop(&run);
}

TEST_TIMEOUT(hook_command_adds_tests_and_removes, 120)
{
    const char *const options[] = {"--hooks-to=public", "--hooks-retry=0", NULL};
    struct collector_run run = start(options);
    check_script(
        &run,
        HELPERS "hook() { $COLLECTOR hook --data data \"$@\" 2>err; echo $?; cat err; }; "
                "add ok; hook test 1; cut -d' ' -f1,3- log; add fail; hook test 2; hook test 9; "
                "hook remove 2; hook remove 2; hook add http://a/; hook add -p default ftp://a; "
                "hook add -p default -e old http://a; hook add -p none http://a/; "
                "events 0 1; is 'disabled'; is 'this address is not sent to'; wc -l <log",
        "status 200\n0\nok test - 1 ok 200\nstatus 500\n1\n"
        "3\nsonde-collector hook: hook: there is none\n0\n"
        "3\nsonde-collector hook: hook: there is none\n"
        "2\nsonde-collector hook: a hook is for one --project (see sonde-collector hook --help)\n"
        "2\nsonde-collector hook: an address as https://host/path is expected, without a user: "
        "ftp://a (see sonde-collector hook --help)\n"
        "2\nsonde-collector hook: --events: not of new, regressed, spiking: old (see "
        "sonde-collector hook --help)\n"
        "3\nsonde-collector hook: project none: there is none\n2\n");
    stop(&run);
}

/* Killed again and again: each group is told, with one id. */
TEST_TIMEOUT(each_group_is_told_with_one_id_over_kills, 180)
{
    char script[1024];
    struct collector_run run = start(NULL);
    free(collector_script(&run, HELPERS "add slow"));
    for (unsigned i = 0; i < KILLS; i++) {
        snprintf(script, sizeof script,
                 HELPERS
                 "events %u %u & for i in $(seq 1200); do [ $(wc -l <log) -ge %u ] && break; "
                 "sleep 0.02; done; wait",
                 i * GROUPS, GROUPS, i * GROUPS + GROUPS / 2);
        free(collector_script(&run, script));
        kill(run.program.pid, SIGKILL);
        CHECK_EQ(program_end(&run.program, 30), 128 + SIGKILL);
        collector_again(&run);
    }
    snprintf(script, sizeof script,
             HELPERS "is ' 0 waiting'; cut -d' ' -f4 log | sort -u | wc -l; "
                     "cut -d' ' -f2,4 log | sort -u | wc -l; cut -d' ' -f2 log | sort -u | wc -l; "
                     "$COLLECTOR hook --data data | grep -o ' 0 given up, 0 lost'");
    check_script(&run, script, "40\n40\n40\n 0 given up, 0 lost\n");
    stop(&run);
}
