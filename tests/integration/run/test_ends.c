// SPDX-License-Identifier: Apache-2.0
/* Faults around a watched program: killed supervisors, unwritable reports, stalls at the very end,
 * limits, other tracers. The program never notices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"
#include "test.h"

/* Run a bash script with $SONDE, $LOOP and $FOLDER set. */
static struct test_run run_script(const char *script)
{
    char sonde[512], loop[512], folder[512];
    snprintf(sonde, sizeof sonde, "SONDE=%s", program_sonde());
    snprintf(loop, sizeof loop, "LOOP=%s", program_built("run/run_loop"));
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    return test_run((const char *[]){"bash", "-c", script, NULL},
                    (const char *[]){sonde, loop, folder, NULL}, NULL, 60);
}

/* exit() waits at most two seconds for the report's end, and not for a dead supervisor. */
TIMED_TEST(supervisor_is_killed, 60)
{
    struct test_run run =
        run_script("$SONDE run -v --report $FOLDER/report -- $LOOP idle:50 burn:1000 "
                   "2>$FOLDER/said & p=$!\n"
                   "until grep -q 'not been back' $FOLDER/said; do sleep 0.02; done\n"
                   "kill -KILL $(sed -n 's/.*supervisor \\([0-9]*\\) .*/\\1/p' $FOLDER/said)\n"
                   "date +%s%N >$FOLDER/killed; wait $p; echo $?\n"
                   "echo $((($(date +%s%N) - $(cat $FOLDER/killed)) / 1000000)) ms\n"
                   "$SONDE show $FOLDER/report >/dev/null");
    int status = -1, ms = -1;
    CHECK_EQ(sscanf(run.out, "idle 50\nburn 1000\n%d\n%d ms", &status, &ms), 2);
    CHECK_EQ(status, 0);
    CHECK(ms < 2300 * (int)test_slack()); /* the program takes at most 750 ms of it */
    CHECK_CONTAINS(run.err, "the report has no end");
    test_run_done(&run);
}

/* A program that confined itself cannot sleep in exit(): it may be allowed no call for that. It
 * burns 400 ms itself, and at most 200 ms for the wait. */
TEST(a_confined_program_does_not_spin_for_long)
{
    char script[1024];
    snprintf(script, sizeof script,
             "cd $FOLDER; TIMEFORMAT='%%U'\n"
             "{ time $SONDE run -v --report report -- %s deny >printed 2>said; } 2>used & p=$!\n"
             "until grep -q rested printed; do sleep 0.02; done\n"
             "kill -KILL $(sed -n 's/.*supervisor \\([0-9]*\\) .*/\\1/p' said)\n"
             "wait $p; echo $?; cat printed used\n",
             program_built("compat/compat_confined"));
    struct test_run run = run_script(script);
    double used_s = 9;
    if (sscanf(run.out, "5\nturned\nrested\nburnt\n%lf", &used_s) != 1) {
        FAIL("unexpected: %s%s", run.out, run.err);
    }
    CHECK(used_s < 1);
    test_run_done(&run);
}

/* With --record the supervisor has a spare, which takes over when it is killed. Here one signal
 * kills both, while a ptrace stop of the program is due: it comes when the program's system call
 * ends. Nobody reaps them, as in a container whose first process does not. */
TIMED_TEST(supervisor_and_its_spare_are_killed_together, 100)
{
    CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    char script[1024];
    snprintf(
        script, sizeof script,
        "cd $FOLDER; echo getenv >list\n"
        "$SONDE run -v --sampler ptrace --record list --report report -- $LOOP populate:%u "
        ">printed 2>said & p=$!\n"
        "until grep -q 'supervisor [0-9]' said; do sleep 0.01; done\n"
        "s=$(sed -n 's/.*supervisor \\([0-9]*\\) .*/\\1/p' said); read -r a b c d g e "
        "</proc/$s/stat\n"
        "until grep -q 'TracerPid:.[1-9]' /proc/$p/status; do kill -QUIT $s; sleep 0.02; done\n"
        "kill -KILL -- -$g; begin=$(date +%%s%%N)\n"
        "until [ \"$(echo $(cut -d' ' -f3 /proc/$s/stat /proc/$g/stat))\" = 'Z Z' ]; do sleep "
        "0.01; "
        "done\n"
        "until grep -q 'TracerPid:.0' /proc/$p/status; do sleep 0.01; done\n"
        "grep -q ' t .tracing' /proc/$p/status && echo stopped\n"
        "wait $p; echo $? $((($(date +%%s%%N) - begin) / 1000000)) ms; cat printed\n",
        2500 * test_slack());
    struct test_run run = run_script(script);
    int status = -1, ms = -1, took = -1;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    if (sscanf(run.out, "%d %d ms\ntook %d", &status, &ms, &took) != 3) {
        FAIL("the program did not end: %s%s", run.out, run.err);
    }
    CHECK_ALWAYS(status == 0);
    CHECK(ms < took + 5000 * (int)test_slack()); /* it would wait 30 s for a supervisor */
    test_run_done(&run);
}

TEST(report_on_a_full_disk)
{
    struct test_run run =
        run_script("$SONDE run --quiet --report /dev/full -- $LOOP burn:10; echo $?");
    CHECK_STR(run.out, "burn 10\n0\n");
    CHECK_STR(run.err, "sonde run: /dev/full: the report could not be written: No space left on "
                       "device\n");
    test_run_done(&run);
}

/* The shared page is a file, too: the limit must give an error, not a signal. */
TEST(limit_on_the_size_of_files)
{
    struct test_run run =
        run_script("(ulimit -f 0; $SONDE run -- echo ran 2>&1; echo $?) | cat\n"
                   "(ulimit -f 600; $SONDE run --report $FOLDER/report -- $LOOP burn:600) | cat");
    CHECK_CONTAINS(run.out, "File too large\n125\nburn 600\n");
    CHECK_CONTAINS(run.err, "\nstall 1: ");
    test_run_done(&run);
}

TEST(report_in_a_folder_or_over_a_file)
{
    struct test_run run = run_script("$SONDE run --report $FOLDER -- echo ran; echo $?\n"
                                     "echo old >$FOLDER/report\n"
                                     "$SONDE run --report $FOLDER/report -- echo ran; echo $?\n"
                                     "$SONDE show $FOLDER/report | grep -c old\n"
                                     "echo kept >$FOLDER/report\n"
                                     "$SONDE run --report $FOLDER/report no-such; echo $?\n"
                                     "cat $FOLDER/report\n");
    CHECK_STR(run.out, "125\nran\n0\n0\n127\nkept\n");
    CHECK_CONTAINS(run.err, "the report cannot be written: Is a directory");
    test_run_done(&run);
}

/* The program ends before the supervisor looks again: the stall has ended all the same. */
TEST(stall_just_before_the_end)
{
    struct test_run run = run_script("$SONDE run --report $FOLDER/report -- $LOOP burn:600\n"
                                     "$SONDE show $FOLDER/report");
    CHECK_CONTAINS(run.out, "\nstall 1: ");
    CHECK(strstr(run.out, "not over") == NULL);
    test_run_done(&run);
}

/* A stall ended by a signal is fatal; one ended by _exit() is not known to be. */
TIMED_TEST(ended_in_a_stall, 60)
{
    static const struct {
        const char *turn, *status, *text, *not_text;
    } ways[] = {
        {"crash:%u", "139\n", ", in which the program was killed", "not over"},
        {"kill:%u", "137\n", ", in which the program was killed", "not over"},
        {"leave:%u", "0\n", " and not over", "killed"},
    };
    for (unsigned i = 0; i < 3; i++) {
        char turn[32], script[512];
        snprintf(turn, sizeof turn, ways[i].turn, 1000 * test_slack());
        snprintf(script, sizeof script,
                 "ulimit -c 0; $SONDE run --equal=1 --report $FOLDER/report -- $LOOP sleep:600 %s\n"
                 "echo $?\n$SONDE show $FOLDER/report",
                 turn);
        struct test_run run = run_script(script);
        const char *last = strstr(run.out, "\nstall 2: ");
        CHECK_CONTAINS(run.out, ways[i].status);
        CHECK(last != NULL);
        /* before, the signal's number is lost if the parent has waited for it first */
        if (test_kernel_is(6, 15)) {
            CHECK_CONTAINS(last, ways[i].text);
            CHECK(strstr(run.out, ways[i].not_text) == NULL);
        }
        test_run_done(&run);
    }
}

/* The program changed who may read it: sonde reports the stall, and why it has no stacks. */
TEST(stacks_that_cannot_be_read)
{
    if (geteuid() != 0) {
        SKIP("only root can become another user");
    }
    struct test_run run = run_script(
        "chmod 755 $FOLDER; cat >$FOLDER/undumpable.py <<'END'\n"
        "import ctypes, os, select, time\n"
        "r, w = os.pipe()\n"
        "for i in range(10): select.select([r], [], [], 0.02)\n"
        "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
        "select.select([r], [], [], 0.02)\n"
        "time.sleep(0.5)\n"
        "for i in range(5): select.select([r], [], [], 0.02)\n"
        "END\n"
        "setpriv --reuid 65534 --regid 65534 --clear-groups $SONDE run -- /usr/bin/python3 "
        "$FOLDER/undumpable.py; echo $?");
    CHECK_STR(run.out, "0\n");
    /* an event that was set up before may have sampled the thread once more */
    CHECK(strstr(run.err, "stacks cannot be read: process ") != NULL ||
          strstr(run.err, "a part of the samples is missing: process ") != NULL);
    CHECK_CONTAINS(run.err, "is not dumpable");
    test_run_done(&run);
}

/* The environment and the folder lack all that sonde could need, and memory is limited. */
TEST(poor_surroundings)
{
    struct test_run run = run_script(
        "env -i $SONDE run -- $LOOP burn:600; echo $?\n"
        "(ulimit -v 36000; $SONDE run -- $LOOP burn:600); echo $?\n"
        "(ulimit -n 16; ulimit -c 0; ulimit -f 1000; $SONDE run -- $LOOP burn:600); echo $?\n"
        "mkdir $FOLDER/gone; cd $FOLDER/gone; rmdir $FOLDER/gone; "
        "$SONDE run -- $LOOP burn:600; echo $?\n"
        "umask 777; $SONDE run -- $LOOP burn:600; echo $?\n");
    CHECK_STR(run.out, "burn 600\n0\nburn 600\n0\nburn 600\n0\nburn 600\n0\nburn 600\n0\n");
    unsigned stalls = 0;
    for (const char *at = run.err; (at = strstr(at, "\nstall 1: ")) != NULL; at++) {
        stalls++;
    }
    CHECK_EQ(stalls, 5);
    test_run_done(&run);
}

/* With too little memory a stall is shown, or said to be there. */
TEST(no_stall_is_lost_without_a_word_for_want_of_memory)
{
    struct test_run run =
        run_script("for n in 16000 20000 22000 24000 26000 28000 30000 32000; do\n"
                   "(ulimit -v $n; $SONDE run -- $LOOP burn:400 2>&1) > $FOLDER/out\n"
                   "case $(cat $FOLDER/out) in\n"
                   "*'stall 1: '*|*'cannot be shown: out of memory'*) ;;\n"
                   "*', 1 stall'*) echo \"$n:\"; cat $FOLDER/out;; esac; done");
    CHECK_STR(run.out, "");
    test_run_done(&run);
}

/* A command line may be as long as without sonde, less the words for sonde. */
TEST(long_command_lines)
{
    struct test_run run = run_script("$SONDE run -- echo $(seq 100000) | md5sum\n"
                                     "echo $(seq 100000) | md5sum\n"
                                     "x=$(head -c 131000 /dev/zero | tr '\\0' x)\n"
                                     "$SONDE run --follow -- echo $x | wc -c\n"
                                     "$SONDE run -- echo $x$x; echo $?\n");
    char first[64] = "", second[64] = "";
    CHECK_EQ(sscanf(run.out, "%63s -\n%63s -\n", first, second), 2);
    CHECK_STR(first, second);
    CHECK_CONTAINS(run.out, "\n131001\n126\n"); /* the shell could not start sonde itself */
    test_run_done(&run);
}

TEST(not_a_folder)
{
    struct test_run run = run_script("$SONDE run /etc/passwd/x; echo $?");
    CHECK_STR(run.out, "126\n");
    CHECK_CONTAINS(run.err, "Not a directory");
    test_run_done(&run);
}

/* strace and gdb run sonde, and gdb runs the program: they see the program's own end. A traced
 * program has no stalls. */
TEST(other_tracers)
{
    if (!program_on_path("gdb")) {
        SKIP("no gdb");
    }
    struct test_run run = run_script(
        "gdb -nx -batch -ex run --args $SONDE run -- $LOOP burn:600 2>&1 | grep -E 'exited|burn'\n"
        "$SONDE run -- gdb -nx -batch -ex run --args $LOOP burn:600 2>&1 | grep -E 'exited|burn'\n"
        "command -v strace >/dev/null || exit 0\n"
        "strace -f -o $FOLDER/trace $SONDE run -- $LOOP burn:600; echo $?; "
        "grep -c 'exited with 0' $FOLDER/trace\n");
    unsigned normal = 0;
    for (const char *at = run.out; (at = strstr(at, "burn 600\n")) != NULL; at++) {
        normal++;
    }
    CHECK(normal >= 2);
    CHECK_CONTAINS(run.out, "exited normally");
    CHECK(strstr(run.err, "stall 1: ") == NULL);
    test_run_done(&run);
    run = run_script("$SONDE run --follow -- gdb -nx -batch -ex 'break main' -ex run -ex bt -ex c "
                     "--args $LOOP burn:10");
    CHECK_CONTAINS(run.out, "Breakpoint 1");
    CHECK_CONTAINS(run.out, "#0");
    CHECK_CONTAINS(run.out, "exited normally");
    CHECK_CONTAINS(run.err, "without being followed: a debugger");
    test_run_done(&run);
}
