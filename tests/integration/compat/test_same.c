// SPDX-License-Identifier: Apache-2.0
/* A program cannot tell that `sonde run --` started it: same output, same exit status, same view
 * of its process. Each program is run plain and watched, from the same parent. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "same.h"

/* A check of the probe: its output does not change from run to run. */
TEST(probe_prints_the_same_twice)
{
    const char *const argv[] = {program_built("compat/compat_probe"), "a", "b c", NULL};
    struct test_run first = test_run(argv, NULL, NULL, 30);
    struct test_run second = test_run(argv, NULL, NULL, 30);
    CHECK_EQ(first.status, 7);
    CHECK_STR(second.out, first.out);
    CHECK_CONTAINS(first.out, "argv 2 b c\n");
    CHECK_CONTAINS(first.out, "status SigCgt:\t0000000000000000\n");
    test_run_done(&first);
    test_run_done(&second);
}

TEST(process_looks_the_same)
{
    check_same((const char *[]){program_built("compat/compat_probe"), "a", "b c", NULL}, NULL, 7);
}

TEST(child_of_a_shell_looks_the_same)
{
    check_same((const char *[]){"dash", "-c", "\"$0\" x | sed s/^parent.*session/session/",
                                program_built("compat/compat_probe"), NULL},
               NULL, 0);
}

TEST(environment_is_the_same_and_in_order)
{
    check_same((const char *[]){"env", NULL}, NULL, 0);
    check_same((const char *[]){"dash", "-c", "env; env -i env", NULL}, NULL, 0);
    check_same((const char *[]){"/usr/bin/python3", "-c", "import os; print(os.environ)", NULL},
               NULL, 0);
}

/* A preload of the user's stays in place. */
TEST(own_preload_is_kept)
{
    char *out = NULL;
    check_script(
        "LD_PRELOAD=libm.so.6 \"$@\" dash -c 'echo $LD_PRELOAD; grep -c libm.so.6 /proc/$$/maps'"
        " && \"$@\" dash -c 'echo [$LD_PRELOAD]'",
        NULL, 0, &out);
    CHECK_CONTAINS(out, "libm.so.6\n");
    CHECK_CONTAINS(out, "[]\n");
    free(out);
}

/* The kernel's copy of the environment, which ps -e shows, has empty entries at its end ($(...)
 * drops them) and no others. */
TEST(environment_in_proc_is_the_same)
{
    check_script("export A= LD_PRELOAD=libm.so.6 B=b; unset _\n"
                 "x=$(\"$@\" cat /proc/self/environ | tr '\\0' '\\n' | sed 's/^_=.*/_=/'); "
                 "echo \"$x\"",
                 NULL, 0, NULL);
}

TEST(standard_input_goes_through)
{
    char *text = malloc(300001);
    memset(text, 'x', 300000);
    for (size_t i = 99; i < 300000; i += 100) {
        text[i] = '\n';
    }
    text[300000] = '\0';
    check_same((const char *[]){"cat", NULL}, text, 0);
    check_same((const char *[]){"dash", "-c", "read a; read b; echo \"$b\"; wc -c", NULL}, text, 0);
    free(text);
}

TEST(closed_standard_files_stay_closed)
{
    char *out = NULL;
    const char *script =
        "\"$@\" $PROGRAMS/compat_probe <&- | grep -E '^fd [012]|FDSize'\n"
        "\"$@\" $PROGRAMS/compat_probe 2>&- | grep -E '^fd [012]'\n"
        "\"$@\" $PROGRAMS/compat_probe <&- 2>&- | grep -E '^fd [012]'\n"
        "\"$@\" dash -c 'ls -l /proc/$$/fd >$FOLDER/list; exit 3' >&- <&- 2>&-; echo $?\n"
        "grep -c . $FOLDER/list\n";
    check_script(script, NULL, 0, &out);
    CHECK_CONTAINS(out, "fd 0");
    free(out);
}

TEST(pipes_end_as_they_should)
{
    check_script("\"$@\" yes | head -2; echo ${PIPESTATUS[*]}\n"
                 "yes | \"$@\" head -2; echo ${PIPESTATUS[*]}\n"
                 "echo abc | \"$@\" cat | \"$@\" cat; echo ${PIPESTATUS[*]}\n"
                 "trap '' PIPE; \"$@\" yes 2>/dev/null | head -1; echo ${PIPESTATUS[*]}\n"
                 "x=$(\"$@\" echo captured); echo \"[$x]\"\n",
                 NULL, 0, NULL);
}

TEST(exit_statuses_are_the_same)
{
    const char *const codes[] = {"0", "1", "2", "77", "98", "126", "127", "128", "255"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        check_same((const char *[]){"dash", "-c", "exit $0", codes[i], NULL}, NULL, atoi(codes[i]));
    }
    check_same((const char *[]){program_built("compat/compat_behave"), "exits", NULL}, NULL, 9);
}

TEST(ends_by_each_signal_are_the_same)
{
    static const int kept[] = {SIGCHLD, SIGURG,  SIGWINCH, SIGCONT,
                               SIGSTOP, SIGTSTP, SIGTTIN,  SIGTTOU};
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (int number = 1; number < 32; number++) {
        char text[16];
        bool ends = true;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
            ends = ends && kept[i] != number;
        }
        if (ends) {
            snprintf(text, sizeof text, "%d", number);
            check_same((const char *[]){"dash", "-c", "kill -$0 $$", text, NULL}, NULL,
                       128 + number);
        }
    }
}

/* Another process sends the signal to the pid that the shell started. */
TEST(signals_from_outside_arrive)
{
    check_script("for s in TERM HUP USR1 KILL; do\n"
                 "  \"$@\" sleep 100 & p=$!\n"
                 "  until grep -q sleep /proc/$p/comm; do sleep 0.02; done; sleep 0.1\n"
                 "  kill -$s $p; wait $p 2>/dev/null; echo $s $?\n"
                 "done 2>/dev/null\n"
                 "\"$@\" dash -c 'trap \"echo got it; exit 6\" TERM; echo ready >$FOLDER/ready;"
                 " while :; do sleep 0.05; done' & p=$!\n"
                 "until [ -s $FOLDER/ready ]; do sleep 0.02; done\n"
                 "kill $p; wait $p; echo $?\n",
                 NULL, 0, NULL);
}

TEST(programs_that_cannot_start_are_reported)
{
    struct test_run run = program_watch(NULL, NULL, (const char *[]){"/no/such/program", NULL}, 30);
    CHECK_EQ(run.status, 127);
    CHECK_CONTAINS(run.err, "/no/such/program");
    CHECK_STR(run.out, "");
    test_run_done(&run);
    run = program_watch(NULL, NULL, (const char *[]){"no-such-program-on-path", NULL}, 30);
    CHECK_EQ(run.status, 127);
    CHECK_CONTAINS(run.err, "no-such-program-on-path");
    test_run_done(&run);
    run = program_watch(NULL, NULL, (const char *[]){"/", NULL}, 30);
    CHECK_EQ(run.status, 126);
    test_run_done(&run);
    char path[256];
    snprintf(path, sizeof path, "%s/data", test_folder());
    test_write_file(path, "no program\n", 11);
    run = program_watch(NULL, NULL, (const char *[]){path, NULL}, 30);
    CHECK_EQ(run.status, 126);
    CHECK_CONTAINS(run.err, "data");
    test_run_done(&run);
}

/* A script with an interpreter line, one without permission, a program found on PATH. */
TEST(scripts_start_as_usual)
{
    check_script(
        "printf '#!/bin/dash\\necho script $0 $*\\nexit 12\\n' >$FOLDER/script; chmod 755 "
        "$FOLDER/script\n"
        "\"$@\" $FOLDER/script a b; echo $?\n"
        "cd $FOLDER; \"$@\" ./script c; echo $?; PATH=$FOLDER:$PATH \"$@\" script d; echo $?\n",
        NULL, 0, NULL);
}

static void behave(const char *what, int status)
{
    check_same((const char *[]){program_built("compat/compat_behave"), what, NULL}, NULL, status);
}

TEST(closing_all_descriptors)
{
    behave("close-all", 0);
}
TEST(clearing_the_environment)
{
    behave("clear-environment", 0);
}
TEST(leading_a_session)
{
    behave("lead-session", 0);
}
TEST(being_undumpable)
{
    behave("undumpable", 0);
}
TEST(waits_that_fail)
{
    behave("failing-waits", 0);
}
TEST(only_thread_cancels_itself)
{
    behave("cancel-epoll", 5);
    behave("cancel-poll", 5);
}
TEST(starting_many_children)
{
    behave("many-children", 0);
}
TEST(starting_many_threads)
{
    behave("many-threads", 0);
}
TEST(getting_no_foreign_signals)
{
    behave("signals", 0);
}
TEST(timed_waits_are_in_time)
{
    behave("waits", 0);
}
TEST(running_out_of_limits)
{
    behave("limits", 0);
}

/* Wait for the file: the program that writes it has left its parent. */
TEST(daemons_and_orphans_go_on)
{
    char *out = NULL;
    check_script("\"$@\" $PROGRAMS/compat_behave daemonise $FOLDER/daemon; echo $?\n"
                 "for i in $(seq 100); do [ -s $FOLDER/daemon ] && break; sleep 0.05; done; cat "
                 "$FOLDER/daemon\n"
                 "\"$@\" $PROGRAMS/compat_behave orphan $FOLDER/orphan; echo $?\n"
                 "for i in $(seq 100); do [ -s $FOLDER/orphan ] && break; sleep 0.05; done; cat "
                 "$FOLDER/orphan\n",
                 NULL, 0, &out);
    CHECK_CONTAINS(out, "daemon: session 1");
    CHECK_CONTAINS(out, "5\norphan\n");
    free(out);
}

TEST(two_hundred_threads_at_once)
{
    behave("threads", 0);
}

TEST(executing_itself)
{
    static const char script[] = "\"$@\" $PROGRAMS/compat_behave execute-itself 3; echo $?";
    check_script(script, NULL, 0, NULL);
    check_followed(script, 0, NULL);
}

/* The program is static: the new root contains nothing else. */
TEST(changing_the_root)
{
    static const char script[] =
        "mkdir $FOLDER/jail; echo 'int main(void) { return 9; }' >$FOLDER/p.c; "
        "gcc -static -o $FOLDER/jail/program $FOLDER/p.c\n"
        "\"$@\" $PROGRAMS/compat_behave change-root $FOLDER/jail; echo $?";
    char *out = NULL;
    if (geteuid() != 0) {
        SKIP("only root can change the root");
    }
    check_script(script, NULL, 0, &out);
    CHECK_STR(out, "chroot 1\nold root gone\n9\n");
    free(out);
    check_followed(script, 0, NULL);
}

TEST(strict_seccomp)
{
    check_same((const char *[]){program_built("compat/compat_confined"), "strict", NULL}, "x", 4);
}

TEST(seccomp_that_denies)
{
    check_same((const char *[]){program_built("compat/compat_confined"), "deny", NULL}, NULL, 5);
}

TEST(seccomp_that_kills)
{
    check_same((const char *[]){program_built("compat/compat_confined"), "kill", NULL}, NULL, 5);
}
