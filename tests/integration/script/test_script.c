// SPDX-License-Identifier: Apache-2.0
/* Script frames of Python programs that are stopped at arbitrary instants are those that the
 * interpreter's faulthandler writes at the same instant (equals_faulthandler.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python.h"

enum { TIMEOUT_S = 120 };

static void compare(const char *version, const char *stops, const char *program,
                    const char *argument)
{
    char script[4096], path[4096], sonde[4096], python[1024];
    const char *argv[] = {PYTHON_OF_DEBIAN, script, sonde, python, stops, path, argument, NULL};
    struct test_run run;
    find_python(version, python);
    snprintf(script, sizeof script, "%s/tests/integration/script/equals_faulthandler.py",
             test_source_dir());
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    snprintf(path, sizeof path, "%s%s%s", program[0] == '/' ? "" : test_source_dir(),
             program[0] == '/' ? "" : "/tests/integration/script/", program);
    run = test_run(argv, NULL, NULL, TIMEOUT_S);
    if (run.status != 0 || run.timed_out) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

TEST_TIMEOUT(frames_equal_faulthandler, TIMEOUT_S + 10)
{
    compare("/usr/bin/python3", "10", "mixed.py", NULL);
}

/* Stacks of which only one is the thread's at a time. */
TEST_TIMEOUT(frames_of_greenlets_equal_faulthandler, TIMEOUT_S + 10)
{
    if (access("/usr/lib/python3/dist-packages/gevent", F_OK) != 0) {
        SKIP("no gevent");
    }
    compare("/usr/bin/python3", "10", "greenlets.py", NULL);
}

/* In 3.8 and 3.9 a frame that was traced keeps a line: taken for the frame's, it was wrong in one
 * of 50 stacks of 3.9. */
static void compare_version(const char *version, const char *stops)
{
    compare(version, stops, "mixed.py", NULL);
}

TEST_TIMEOUT(frames_equal_faulthandler_3_8, TIMEOUT_S + 10)
{
    compare_version("3.8.18", "40");
}

TEST_TIMEOUT(frames_equal_faulthandler_3_9, TIMEOUT_S + 10)
{
    compare_version("3.9.18", "40");
}

TEST_TIMEOUT(frames_equal_faulthandler_3_10, TIMEOUT_S + 10)
{
    compare_version("3.10.13", "4");
}

TEST_TIMEOUT(frames_equal_faulthandler_3_12, TIMEOUT_S + 10)
{
    compare_version("3.12.1", "4");
}

TEST_TIMEOUT(frames_equal_faulthandler_3_13, TIMEOUT_S + 10)
{
    compare_version("3.13.0", "4");
}

/* Debian's 3.14 is stripped, and most code of its loop is in a part without a symbol. */
TEST_TIMEOUT(frames_equal_faulthandler_3_14, TIMEOUT_S + 10)
{
    compare_version("3.14", "10");
}

/* Who has the interpreter's lock, who waits for it, and who is in a call without it. Threads that
 * wait for it wake up each 5 ms: look until one is blocked. start: starts $LOCK; its pid is $P. */
static void check_lock(const char *start)
{
    static const char script[] =
        "eval \"$START\"\n"
        "for i in $(seq 100); do\n"
        "    $SONDE stacks --no-network $P >$OUT\n"
        "    grep -q 'blocked in futex  Python.s lock (GIL), held by thread' $OUT &&\n"
        "        grep -q 'blocked in clock_nanosleep  with Python.s lock' $OUT && break\n"
        "    sleep 0.2\n"
        "done\n"
        "kill -KILL $P; cat $OUT\n";
    char sonde[4096], lock[4096], out[4096], how[512], waits[128];
    if (access("/usr/bin/python3", X_OK) != 0) {
        SKIP("no python3");
    }
    snprintf(sonde, sizeof sonde, "SONDE=%s/cli/sonde", test_build_dir());
    snprintf(lock, sizeof lock, "LOCK=%s/tests/integration/script/lock.py", test_source_dir());
    snprintf(out, sizeof out, "OUT=%s/stacks", test_folder());
    snprintf(how, sizeof how, "START=%s", start);
    const char *env[] = {sonde, lock, out, how, "PATH=/usr/bin:/bin", NULL};
    struct test_run run = test_run((const char *[]){"bash", "-c", script, NULL}, env, NULL, 90);
    const char *holder = strstr(run.out, "with Python's lock (GIL)");
    CHECK(holder != NULL);
    while (holder > run.out && strncmp(holder, "thread ", 7) != 0) {
        holder--;
    }
    snprintf(waits, sizeof waits, "blocked in futex  Python's lock (GIL), held by thread %lu",
             strtoul(holder + 7, NULL, 10));
    CHECK_CONTAINS(run.out, waits);
    char next = strstr(run.out, waits)[strlen(waits)];
    CHECK(next < '0' || next > '9');
    CHECK_CONTAINS(run.out, "blocked in clock_nanosleep  with Python's lock (GIL)\n");
    CHECK_CONTAINS(run.out, "blocked in clock_nanosleep\n");
    CHECK(strstr(strstr(holder, "\n"), "sleeps_with_it") != NULL);
    test_run_done(&run);
}

TEST_TIMEOUT(lock_of_the_interpreter, 100)
{
    check_lock("/usr/bin/python3 $LOCK & P=$!");
}

/* The interpreter has other numbers for its threads than we have. */
TEST_TIMEOUT(lock_in_another_pid_namespace, 100)
{
    struct test_run run =
        test_run((const char *[]){"unshare", "--pid", "--fork", "true", NULL}, NULL, NULL, 20);
    bool may = run.status == 0;
    test_run_done(&run);
    if (!may) {
        SKIP("no pid namespaces");
    }
    check_lock("unshare --pid --fork --kill-child /usr/bin/python3 $LOCK & U=$!\n"
               "until P=$(pgrep -P $U); do sleep 0.05; done");
}

TEST_TIMEOUT(doctor_names_the_interpreter, 60)
{
    static const char script[] =
        "/usr/bin/python3 -c 'import time; print(1, flush=True); time.sleep(60)' >$OUT & P=$!\n"
        "sleep 60 & Q=$!\n"
        "until [ -s $OUT ]; do sleep 0.05; done\n"
        "$SONDE doctor $P; echo then; $SONDE doctor $Q; kill -KILL $P $Q\n"
        "/usr/bin/python3 -c 'import sys; print(\"is\", sys.version.split()[0])'\n";
    char sonde[4096], out[4096], wanted[128];
    if (access("/usr/bin/python3", X_OK) != 0) {
        SKIP("no python3");
    }
    snprintf(sonde, sizeof sonde, "SONDE=%s/cli/sonde", test_build_dir());
    snprintf(out, sizeof out, "OUT=%s/ready", test_folder());
    const char *env[] = {sonde, out, "PATH=/usr/bin:/bin", NULL};
    struct test_run run = test_run((const char *[]){"bash", "-c", script, NULL}, env, NULL, 50);
    const char *version = strstr(run.out, "\nis ");
    CHECK(version != NULL);
    snprintf(wanted, sizeof wanted, "Python %.*s: functions with file and line",
             (int)strcspn(version + 4, "\n"), version + 4);
    CHECK_CONTAINS(run.out, wanted);
    CHECK(strstr(strstr(run.out, "then"), "script frames") == NULL);
    test_run_done(&run);
}

/* --- recorded calls --- */

/* Against the interpreter's own audit hook at the same calls. */
static void check_recorded(const char *version)
{
    char script[4096], sonde[4096], python[1024], runner[4096], program[4096];
    const char *folder = "tests/integration/script";
    const char *argv[] = {PYTHON_OF_DEBIAN, script, sonde, python, runner, program, NULL};
    find_python(version, python);
    snprintf(script, sizeof script, "%s/%s/recorded_equals.py", test_source_dir(), folder);
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    snprintf(runner, sizeof runner, "%s/%s/recorded.py", test_source_dir(), folder);
    snprintf(program, sizeof program, "%s/%s/recorded_calls.py", test_source_dir(), folder);
    struct test_run run = test_run(argv, NULL, NULL, TIMEOUT_S);
    if (run.status != 0) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

#define RECORDED(name, version)                                                                    \
    TEST_TIMEOUT(functions_of_recorded_calls##name, TIMEOUT_S + 10)                                \
    {                                                                                              \
        check_recorded(version);                                                                   \
    }

RECORDED(, "/usr/bin/python3")
RECORDED(_3_8, "3.8.18")
RECORDED(_3_9, "3.9.18")
RECORDED(_3_10, "3.10.13")
RECORDED(_3_12, "3.12.1")
RECORDED(_3_13, "3.13.0")

/* --- asyncio --- */

/* version: of Debian, or one that pyenv has. checker and program: of this folder */
static void check_tasks(const char *version, const char *checker, const char *program)
{
    char python[1024], script[4096], sonde[4096], tasks[4096];
    const char *folder = "tests/integration/script";
    const char *argv[] = {PYTHON_OF_DEBIAN, script, sonde, python, tasks, NULL};
    find_python(version, python);
    snprintf(script, sizeof script, "%s/%s/%s", test_source_dir(), folder, checker);
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    snprintf(tasks, sizeof tasks, "%s/%s/%s", test_source_dir(), folder, program);
    struct test_run run = test_run(argv, NULL, NULL, 50);
    if (run.status != 0) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

/* Names of tasks that await each other by gather, wait_for, shield, wait and a group; all tasks of
 * loops that wait; and what created tasks. */
#define TASKS(name, version)                                                                       \
    TEST_TIMEOUT(tasks_are_named_##name, 60)                                                       \
    {                                                                                              \
        check_tasks(version, "tasks_are_named.py", "tasks.py");                                    \
    }                                                                                              \
    TEST_TIMEOUT(tasks_of_loops_that_wait_##name, 60)                                              \
    {                                                                                              \
        check_tasks(version, "parked_equals.py", "parked.py");                                     \
    }                                                                                              \
    TEST_TIMEOUT(creators_of_tasks_are_named_##name, 60)                                           \
    {                                                                                              \
        check_tasks(version, "created_are_named.py", "created.py");                                \
    }

TASKS(3_8, "3.8.18")
TASKS(3_9, "3.9.18")
TASKS(3_10, "3.10.13")
TASKS(3_11, "/usr/bin/python3")
TASKS(3_12, "3.12.1")
TASKS(3_13, "3.13.0")
TASKS(3_14, "3.14")

/* --- several interpreters --- */

/* The native calls that enter the second interpreter are between the functions of both. */
static void check_interpreters(const char *version)
{
    static const char script[] =
        "$PYTHON $PROGRAM & P=$!\n"
        "for i in $(seq 100); do\n"
        "    $SONDE stacks --no-network $P >$OUT\n"
        "    grep -q inner $OUT && grep -q 'blocked in .*nanosleep' $OUT && break\n"
        "    sleep 0.1\n"
        "done\n"
        "kill -KILL $P; cat $OUT\n";
    char sonde[4096], program[4096], out[4096], python[1032], path[1024];
    find_python(version, path);
    snprintf(python, sizeof python, "PYTHON=%s", path);
    snprintf(sonde, sizeof sonde, "SONDE=%s/cli/sonde", test_build_dir());
    snprintf(program, sizeof program, "PROGRAM=%s/tests/integration/script/interpreters.py",
             test_source_dir());
    snprintf(out, sizeof out, "OUT=%s/stacks", test_folder());
    const char *env[] = {sonde, program, out, python, "PATH=/usr/bin:/bin", NULL};
    struct test_run run = test_run((const char *[]){"bash", "-c", script, NULL}, env, NULL, 50);
    const char *inner = strstr(run.out, " inner "), *outer = strstr(run.out, " outer ");
    CHECK(inner != NULL && outer != NULL);
    const char *call = strstr(inner, "interpreters.cpython");
    CHECK(call != NULL && call < outer);
    test_run_done(&run);
}

TEST_TIMEOUT(functions_of_two_interpreters_3_11, 60)
{
    check_interpreters("/usr/bin/python3");
}
TEST_TIMEOUT(functions_of_two_interpreters_3_12, 60)
{
    check_interpreters("3.12.1");
}
TEST_TIMEOUT(functions_of_two_interpreters_3_13, 60)
{
    check_interpreters("3.13.0");
}
TEST_TIMEOUT(functions_of_two_interpreters_3_14, 60)
{
    check_interpreters("3.14");
}

/* --- states of other threads --- */

/* The interpreter states the number of a thread that is in another process. how: it waits, or spins
 */
static void check_forked(const char *version, const char *how, const char *line)
{
    static const char script[] =
        "cd $FOLDER; mkfifo end; exec 3<>end; $PYTHON $PROGRAM $HOW <end >child & P=$!\n"
        "until [ -s child ]; do sleep 0.05; done; read C <child\n"
        "for i in $(seq 100); do\n"
        "    $SONDE stacks --no-network $C >stacks\n"
        "    grep -q serve stacks && break\n"
        "    sleep 0.1\n"
        "done\n"
        "kill -KILL $C $P; cat stacks\n";
    char sonde[4096], program[4096], folder[4096], python[1032], path[1024], kind[32];
    find_python(version, path);
    snprintf(kind, sizeof kind, "HOW=%s", how);
    snprintf(python, sizeof python, "PYTHON=%s", path);
    snprintf(sonde, sizeof sonde, "SONDE=%s/cli/sonde", test_build_dir());
    snprintf(program, sizeof program, "PROGRAM=%s/tests/integration/script/forked.py",
             test_source_dir());
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    const char *env[] = {sonde, program, folder, python, kind, "PATH=/usr/bin:/bin", NULL};
    struct test_run run = test_run((const char *[]){"bash", "-c", script, NULL}, env, NULL, 50);
    const char *inner = strstr(run.out, " serve "), *outer = strstr(run.out, " main ");
    CHECK(inner != NULL && outer != NULL && inner < outer);
    CHECK_CONTAINS(inner, line);
    CHECK_CONTAINS(outer, "forked.py:28  [Python]");
    test_run_done(&run);
}

#define FORKED(name, version)                                                                      \
    TEST_TIMEOUT(functions_after_a_fork_of_c_##name, 60)                                           \
    {                                                                                              \
        check_forked(version, "waits", "forked.py:22  [Python]");                                  \
    }

FORKED(3_8, "3.8.18")
FORKED(3_10, "3.10.13")
FORKED(3_11, "/usr/bin/python3")
FORKED(3_12, "3.12.1")
FORKED(3_13, "3.13.0")
FORKED(3_14, "3.14")

/* Who holds the lock is known by the state that holds it. */
TEST_TIMEOUT(lock_after_a_fork_of_c, 60)
{
    static const char script[] =
        "cd $FOLDER; mkfifo end; exec 3<>end; /usr/bin/python3 $PROGRAM locks <end >child & P=$!\n"
        "until [ -s child ]; do sleep 0.05; done; read C <child\n"
        "for i in $(seq 100); do\n"
        "    $SONDE stacks --no-network $C >stacks\n"
        "    grep -q 'blocked in futex  Python' stacks && break\n"
        "    sleep 0.1\n"
        "done\n"
        "kill -KILL $C $P; sed \"s/held by thread $C /held by the child /\" stacks\n";
    char sonde[4096], program[4096], folder[4096];
    if (access("/usr/bin/python3", X_OK) != 0) {
        SKIP("no python3");
    }
    snprintf(sonde, sizeof sonde, "SONDE=%s/cli/sonde", test_build_dir());
    snprintf(program, sizeof program, "PROGRAM=%s/tests/integration/script/forked.py",
             test_source_dir());
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    const char *env[] = {sonde, program, folder, "PATH=/usr/bin:/bin", NULL};
    struct test_run run = test_run((const char *[]){"bash", "-c", script, NULL}, env, NULL, 50);
    CHECK_CONTAINS(run.out, "blocked in futex  Python's lock (GIL), held by the child (python3)");
    test_run_done(&run);
}

TEST_TIMEOUT(functions_of_a_child_that_runs, 60)
{
    check_forked("/usr/bin/python3", "spins", "forked.py:1");
}

/* Recorded calls of a second interpreter, on whose thread the first one runs nothing. What a call
 * without the lock runs is not known up to 3.11, and that is said. */
static void check_embedded(const char *library, const char *home, bool knows_all)
{
    static const char script[] = "cd $FOLDER; printf 'getppid\nunlink\n' >list\n"
                                 "$SONDE run --record list -- $PROGRAM $LIBRARY 2>&1\n";
    char sonde[4096], program[4096], folder[4096], path[1100], root[1100];
    snprintf(path, sizeof path, "LIBRARY=%s", library);
    snprintf(root, sizeof root, "PYTHONHOME=%s", home);
    snprintf(sonde, sizeof sonde, "SONDE=%s/cli/sonde", test_build_dir());
    snprintf(program, sizeof program, "PROGRAM=%s/tests/integration/script/script_embedded",
             test_build_dir());
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    const char *env[] = {sonde, program, folder, path, root, "PATH=/usr/bin:/bin", NULL};
    struct test_run run = test_run((const char *[]){"bash", "-c", script, NULL}, env, NULL, 50);
    const char *getppid = strstr(run.out, "\ngetppid  1 call from 1 stack");
    const char *unlink = strstr(run.out, "\nunlink  1 call from 1 stack");
    CHECK(getppid != NULL && unlink != NULL);
    CHECK_CONTAINS(getppid < unlink ? getppid : unlink, "serve");
    CHECK_CONTAINS(getppid, "<string>:3  [Python]");
    CHECK((strstr(run.out, "<string>:5  [Python]") != NULL) == knows_all);
    CHECK((strstr(run.out, "Python functions of 1 call are not shown: no thread that the "
                           "interpreter knows has this stack") != NULL) == !knows_all);
    test_run_done(&run);
}

TEST_TIMEOUT(recorded_calls_of_a_second_interpreter_3_11, 60)
{
    static const char library[] = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0";
    if (access(library, R_OK) != 0) {
        SKIP("no libpython3.11");
    }
    check_embedded(library, "/usr", false);
}

static void check_embedded_of_pyenv(const char *version, bool knows_all)
{
    char library[2048], home[1024], path[1024];
    find_python(version, path);
    snprintf(home, sizeof home, "%.*s", (int)(strlen(path) - strlen("/bin/python3")), path);
    snprintf(library, sizeof library, "%s/lib/libpython%.*s.so.1.0", home,
             (int)(strrchr(version, '.') - version), version);
    check_embedded(library, home, knows_all);
}

TEST_TIMEOUT(recorded_calls_of_a_second_interpreter_3_9, 60)
{
    check_embedded_of_pyenv("3.9.18", false);
}

TEST_TIMEOUT(recorded_calls_of_a_second_interpreter_3_12, 60)
{
    check_embedded_of_pyenv("3.12.1", true);
}

TEST_TIMEOUT(recorded_calls_of_a_second_interpreter_3_13, 60)
{
    check_embedded_of_pyenv("3.13.0", true);
}
