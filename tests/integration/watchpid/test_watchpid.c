// SPDX-License-Identifier: Apache-2.0
/* `sonde watch PID` finds stalls of running programs from outside, with the durations that the
 * programs print, and blames the injected function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

static struct test_run watch(int pid, const char *report)
{
    char number[16];
    snprintf(number, sizeof number, "%d", pid);
    return test_run((const char *[]){program_sonde(), "watch", "--stall", zoo_stall(), "--report",
                                     report, number, NULL},
                    NULL, NULL, 90);
}

/* Run the program, watch it until it ends, and read both accounts. */
static void run_watched(struct zoo *zoo, const char *const argv[])
{
    char report[128], after[32];
    const char *list[16] = {"env", after};
    for (size_t n = 0; argv[n] != NULL; n++) {
        list[n + 2] = strcmp(argv[n], "400") == 0 ? zoo_ms(400) : argv[n];
    }
    snprintf(after, sizeof after, "INJECT_AFTER=%u", 4 + test_slack());
    snprintf(report, sizeof report, "%s/report", test_folder());
    memset(zoo, 0, sizeof *zoo);
    struct program program = program_start(list);
    program_await(&program, "started", 30);
    struct test_run run = watch(program.pid, report);
    if (run.status != 0 || run.timed_out) {
        FAIL("sonde watch ended with %d: %s", run.status, run.err);
    }
    int status = program_end(&program, 30);
    char *output = program_output(&program);
    if (status != 0) {
        FAIL("%s ended with %d: %s", argv[0], status, output);
    }
    CHECK_CONTAINS(run.err, "sonde watch: watched ");
    zoo_read(zoo, output, report);
    free(output);
    test_run_done(&run);
}

static const char *expected_loop;
static bool main_has_ended, has_libc_inside;

static void check(const struct zoo_truth *truth, const struct json *stall)
{
    int64_t ms = json_int(stall, "duration_ns") / 1000000;
    int64_t error = ms > truth->ms ? ms - truth->ms : truth->ms - ms;
    CHECK_STR(json_text(stall, "loop"), expected_loop);
    CHECK_EQ(json_bool(stall, "main"), !main_has_ended);
    if (error > (int64_t)(20 + truth->ms / 20) * test_slack()) {
        FAIL("%s took %u ms, %lld ms were reported", truth->kind, truth->ms, (long long)ms);
    }
    if (strncmp(truth->kind, "inject_", 7) == 0) {
        zoo_need_on_path(stall, truth->kind);
    }
    /* the functions that make the call are libc's */
    if (has_libc_inside) {
        CHECK_CONTAINS(json_text(stall, "summary"), truth->kind);
    }
}

static void find(const char *const argv[], const char *loop)
{
    struct zoo zoo;
    expected_loop = loop;
    run_watched(&zoo, argv);
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
}

/* Each of these takes some seconds, alone on the machine. */
#define NEED_LONG()                                                                                \
    if (!test_long()) {                                                                            \
        SKIP("with --long only");                                                                  \
    }

#define STALLS "burn", "sleep", "read", "poll", "flock", "mutex", "cond", "child"

TIMED_TEST(epoll, 60)
{
    find((const char *[]){program_built("watchpid/watchpid_epoll"), "400", STALLS, NULL}, "epoll");
}

TIMED_TEST(a_static_program, 60)
{
    has_libc_inside = true;
    find((const char *[]){program_built("watchpid/watchpid_static"), "400", "burn", "sleep",
                          "mutex", "read", NULL},
         "epoll");
}

/* The number of the process shows no memory then; those of its other threads do. */
TIMED_TEST(a_program_whose_main_thread_has_ended, 60)
{
    const char *path = program_built("watchpid/watchpid_main_ends");
    struct zoo zoo;
    main_has_ended = true;
    find((const char *[]){path, "400", "burn", "sleep", NULL}, "epoll");
    zoo_run(&zoo, (const char *[]){path, "400", "burn", "sleep", NULL}, 60);
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
    struct program program = program_start((const char *[]){path, "100000", "idle", NULL});
    char number[16];
    program_await(&program, "started", 30);
    program_pause_ms(200);
    snprintf(number, sizeof number, "%d", (int)program.pid);
    struct test_run stacks =
        test_run((const char *[]){program_sonde(), "stacks", number, NULL}, NULL, NULL, 30);
    struct test_run doctor =
        test_run((const char *[]){program_sonde(), "doctor", number, NULL}, NULL, NULL, 30);
    (void)program_stop(&program, 20);
    CHECK_CONTAINS(stacks.out, " (main)  exited");
    CHECK_CONTAINS(stacks.out, " loop_beside+0x");
    CHECK_CONTAINS(doctor.out, "watchpid_main_ends, 4 threads");
    CHECK_CONTAINS(doctor.out, "its threads and memory can be read");
    test_run_done(&stacks);
    test_run_done(&doctor);
}

TIMED_TEST(a_program_of_musl, 60)
{
    NEED_LONG();
    const char *musl = program_built("watchpid/watchpid_musl");
    if (access(musl, X_OK) != 0) {
        SKIP("no musl-gcc");
    }
    has_libc_inside = true;
    find((const char *[]){musl, "400", "burn", "sleep", "read", NULL}, "epoll");
}

TIMED_TEST(io_uring_without_a_library, 60)
{
    NEED_LONG();
    struct program program = program_start(
        (const char *[]){program_built("watchpid/watchpid_uring"), "1", "idle", NULL});
    if (program_end(&program, 20) == 77) {
        SKIP("no io_uring here");
    }
    find((const char *[]){program_built("watchpid/watchpid_uring"), "400", "burn", "sleep", "poll",
                          NULL},
         "other");
}

TIMED_TEST(node, 60)
{
    if (!program_on_path("node")) {
        SKIP("no node on PATH");
    }
    find((const char *[]){"node", program_source("zoo/node_loop.js"), "400", "burn", "spawn",
                          "atomics", NULL},
         "epoll");
}

TIMED_TEST(asyncio, 60)
{
    find((const char *[]){"/usr/bin/python3", program_source("zoo/asyncio_loop.py"), "400", "sleep",
                          "burn", "flock", "child", NULL},
         "epoll");
}

TIMED_TEST(glib_and_libuv, 60)
{
    NEED_LONG();
    find((const char *[]){program_built("zoo/zoo_glib"), "400", "burn", "cond", "poll", NULL},
         "poll");
    find((const char *[]){program_built("zoo/zoo_uv"), "400", "burn", "mutex", NULL}, "epoll");
}

/* The program runs in its own namespaces, as in a container; sonde watches it from outside by its
 * outer pid. */
TIMED_TEST(another_pid_and_mount_namespace, 60)
{
    char report[128], after[32];
    struct zoo zoo = {0};
    struct test_run can = test_run(
        (const char *[]){"unshare", "--pid", "--mount", "--fork", "true", NULL}, NULL, NULL, 20);
    if (can.status != 0) {
        SKIP("no namespaces here: %s", can.err);
    }
    test_run_done(&can);
    snprintf(report, sizeof report, "%s/report", test_folder());
    snprintf(after, sizeof after, "INJECT_AFTER=%u", 4 + test_slack());
    struct program program = program_start((const char *[]){
        "unshare", "--pid", "--mount", "--fork", "env", after,
        program_built("watchpid/watchpid_static"), zoo_ms(400), "sleep", "burn", NULL});
    program_await(&program, "started", 30);
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)program.pid, (int)program.pid);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    fclose(file);
    struct test_run run = watch(atoi(text), report);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(program_end(&program, 30), 0);
    char *output = program_output(&program);
    CHECK_CONTAINS(output, "started 1\n");
    zoo_read(&zoo, output, report);
    expected_loop = "epoll";
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
    free(output);
    test_run_done(&run);
}

/* --- silence --- */

/* Holds more paths at once than program_built() keeps. */
static const char *kept(const char *path)
{
    static char paths[16][512];
    static unsigned next;
    char *copy = paths[next++ % 16];
    snprintf(copy, sizeof paths[0], "%s", path);
    return copy;
}

#define BUILT(name)  kept(program_built(name))
#define SOURCE(name) kept(program_source(name))

/* Watch idle programs, all at once, with --follow's lines for each. */
static void silent(const char *const programs[][6], unsigned count)
{
    struct program started[16];
    char numbers[16][16];
    const char *argv[32] = {program_sonde(), "watch", "--stall",
                            zoo_stall(),     "--for", test_long() ? "600s" : "6s"};
    size_t n = 6;
    unsigned running = 0;
    CHECK(count <= 16);
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(programs[i][0], "true") == 0) {
            continue; /* not installed here */
        }
        started[running] = program_start(programs[i]);
        snprintf(numbers[running], sizeof numbers[0], "%d", (int)started[running].pid);
        argv[n++] = numbers[running++];
    }
    argv[n] = NULL;
    program_pause_ms(1000);
    struct test_run run = test_run(argv, NULL, NULL, 700);
    CHECK_EQ(run.status, 0);
    for (unsigned i = 0; i < running; i++) {
        (void)program_stop(&started[i], 20);
    }
    /* a program that got no processor is the machine's fault: the harness repeats the test with
     * more slack */
    if (strstr(run.err, "stalled:") != NULL) {
        FAIL("a stall of an idle program: %s", run.err);
    }
    CHECK_CONTAINS(run.err, " turns, ");
    test_run_done(&run);
}

TIMED_TEST(idle_programs, 700)
{
    static const char erlang[] = "F = fun(F) -> receive after 40 -> F(F) end end, F(F).";
    static const char threads[] = "import threading, time, queue\n"
                                  "q = queue.Queue()\n"
                                  "def work():\n"
                                  "    while True: [x for x in range(q.get())]\n"
                                  "for i in range(4): threading.Thread(target=work).start()\n"
                                  "while True: q.put(20000); time.sleep(0.03)\n";
    const char *const programs[][6] = {
        {BUILT("watchpid/watchpid_epoll"), "1000000", "idle", NULL},
        {BUILT("zoo/zoo_glib"), "1000000", "idle", NULL},
        {BUILT("zoo/zoo_stdcond"), "1000000", "idle", NULL},
        {"/usr/bin/python3", SOURCE("zoo/asyncio_loop.py"), "1000000", "idle", NULL},
        {"/usr/bin/python3", "-c", threads, NULL},
        {program_on_path("tclsh") ? "tclsh" : "true", SOURCE("zoo/tcl_loop.tcl"), "1000000", "idle",
         NULL},
        {program_on_path("erl") ? "erl" : "true", "-noshell", "-eval", erlang, NULL},
        {program_on_path("ruby") ? "ruby" : "true", "-e", "loop { sleep 0.05 }", NULL},
    };
    silent(programs, sizeof programs / sizeof programs[0]);
}

/* A loop is busy at every look and turns every 5 ms without a wait that takes time. Only root's
 * watch counts its turns. */
TIMED_TEST(a_loop_that_is_busy_and_turns, 60)
{
    NEED_LONG();
    static const char busy[] = "const busy = () => { const e = Date.now() + 5;"
                               " while (Date.now() < e); setImmediate(busy); };\n"
                               "let n = 0; const t = setInterval(() => { if (++n == 50) {"
                               " clearInterval(t); busy(); } }, 20);\n"
                               "console.log('started');";
    if (!program_on_path("node") || geteuid() != 0) {
        SKIP("no node on PATH, or not root");
    }
    struct program program = program_start((const char *[]){"node", "-e", busy, NULL});
    char number[16], busy_for[24];
    snprintf(busy_for, sizeof busy_for, "%sms", zoo_ms(5000));
    program_await(&program, "started", 30);
    snprintf(number, sizeof number, "%d", (int)program.pid);
    struct test_run run = test_run((const char *[]){program_sonde(), "watch", "--stall",
                                                    zoo_stall(), "--for", busy_for, number, NULL},
                                   NULL, NULL, 60);
    (void)program_stop(&program, 20);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "watched 1 loop from outside");
    if (strstr(run.err, "may have turned") != NULL) {
        SKIP("calls may not be counted here");
    }
    CHECK_CONTAINS(run.err, ", 0 stalls");
    test_run_done(&run);
}

/* Many short waits, and reads, in one turn. */
TIMED_TEST(a_stall_of_many_short_calls, 60)
{
    NEED_LONG();
    struct zoo zoo;
    if (geteuid() != 0) {
        SKIP("not root: turns are not counted");
    }
    expected_loop = "epoll";
    run_watched(&zoo, (const char *[]){"/usr/bin/python3",
                                       program_source("watchpid/short_calls.py"), "400", NULL});
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
}

/* --- ends --- */

TIMED_TEST(a_process_that_executes_another_program, 60)
{
    char report[128], line[512];
    struct zoo zoo = {0};
    snprintf(report, sizeof report, "%s/report", test_folder());
    snprintf(line, sizeof line, "echo started; sleep %u; INJECT_AFTER=4 exec %s %s sleep",
             1 + test_slack(), program_built("watchpid/watchpid_static"), zoo_ms(400));
    struct program program = program_start((const char *[]){"sh", "-c", line, NULL});
    program_await(&program, "started", 20);
    struct test_run run = watch(program.pid, report);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "the process has executed another program, which is watched now");
    CHECK_EQ(program_end(&program, 30), 0);
    char *output = program_output(&program);
    zoo_read(&zoo, output, report);
    expected_loop = "epoll";
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
    free(output);
    test_run_done(&run);
}

static struct test_run watch_with(const char *const options[])
{
    const char *argv[16] = {program_sonde(), "watch"};
    for (size_t n = 0; options[n] != NULL; n++) {
        argv[n + 2] = options[n];
    }
    return test_run(argv, NULL, NULL, 60);
}

TEST(what_cannot_be_watched)
{
    struct test_run none = watch_with((const char *[]){"999999999", NULL});
    CHECK_EQ(none.status, 3);
    CHECK_CONTAINS(none.err, "no such process");
    test_run_done(&none);
    struct test_run kernel = watch_with((const char *[]){"2", NULL});
    CHECK(kernel.status != 0);
    CHECK_CONTAINS(kernel.err, "sonde watch: ");
    test_run_done(&kernel);
    struct test_run wrong = watch_with((const char *[]){"nginx", NULL});
    CHECK_EQ(wrong.status, 2);
    CHECK_CONTAINS(wrong.err, "not a process id: nginx");
    test_run_done(&wrong);
    struct test_run signal = watch_with((const char *[]){"--sampler=signal", "1", NULL});
    CHECK_EQ(signal.status, 2);
    test_run_done(&signal);
}

TEST(a_process_of_another_user)
{
    struct program program = program_start((const char *[]){"sleep", "100", NULL});
    char number[16];
    snprintf(number, sizeof number, "%d", (int)program.pid);
    struct test_run run = test_run((const char *[]){"setpriv", "--reuid=65534", "--clear-groups",
                                                    program_sonde(), "watch", number, NULL},
                                   NULL, NULL, 60);
    (void)program_stop(&program, 20);
    if (run.status == 127 || strstr(run.err, "setpriv:") != NULL) {
        SKIP("setpriv does not work here");
    }
    CHECK_EQ(run.status, 4);
    test_run_done(&run);
}
