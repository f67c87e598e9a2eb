// SPDX-License-Identifier: Apache-2.0
/* `sonde stacks` of a program with known functions, and its options. (tests/integration/stacks
 * compares the frames with gdb's.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

/* Run sonde stacks PID with the words of `options`. */
static struct test_run stacks(pid_t pid, const char *options)
{
    char pid_text[16];
    char words[300];
    const char *argv[20] = {sonde_program(), "stacks", pid_text};
    unsigned argc = 3;
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    snprintf(words, sizeof words, "%s", options);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return test_run(argv, NULL, NULL, 60);
}

static pid_t start_waiter(const char *depth)
{
    const char *const program[] = {test_program("support", "waiter"), depth, NULL};
    pid_t pid = start_program(program);
    wait_blocked(pid);
    return pid;
}

/* The text has each of the names, in this order. */
static void check_order(const char *text, const char *const names[])
{
    const char *at = text;
    for (unsigned i = 0; names[i] != NULL; i++) {
        at = strstr(at, names[i]);
        if (at == NULL) {
            FAIL("%s (number %u) is missing, or not in its place in: %s", names[i], i, text);
        }
        at += strlen(names[i]);
    }
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) {
        n++;
    }
    return n;
}

TEST(all_threads_with_the_names_of_their_functions)
{
    static const char *const order[] = {"read",          "wait_in_main", "deeper",       "deeper",
                                        "main",          "__libc_start", "_start",       "lock",
                                        "wait_for_lock", "lock_thread",  "sleep_thread", NULL};
    pid_t pid = start_waiter("1");
    struct test_run run = stacks(pid, "");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    check_order(run.out, order);
    CHECK_CONTAINS(run.out, "waits-for-lock");
    CHECK_CONTAINS(run.out, "sleeps \\x1b[31m\"");
    CHECK(strchr(run.out, '\033') == NULL);
    test_run_done(&run);
    stop_program(pid);
}

TEST(json_parses_and_has_the_same)
{
    pid_t pid = start_waiter("1");
    struct test_run run = stacks(pid, "--json");
    CHECK_EQ(run.status, 0);
    check_json(run.out);
    CHECK_CONTAINS(run.out, "\"wait_in_main\"");
    CHECK_CONTAINS(run.out, "\"waits-for-lock\"");
    test_run_done(&run);
    stop_program(pid);
}

/* A blocked read shows its descriptor and what that leads to; a lock shows its address. A report
 * shows both, too. */
TEST(what_a_blocked_call_waits_for)
{
    pid_t pid = start_waiter("1");
    char link[64], path[256], expected[400];
    struct test_run run = stacks(pid, "");
    const char *at = strstr(run.out, "blocked in read  fd ");
    int fd = at != NULL ? atoi(at + strlen("blocked in read  fd ")) : -1;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) {
        FAIL("no descriptor in: %s", run.out);
    }
    path[size] = '\0';
    CHECK(strncmp(path, "pipe:[", 6) == 0);
    /* the process has both ends */
    snprintf(expected, sizeof expected,
             "blocked in read  fd %d %s, written by this process itself\n", fd, path);
    CHECK_CONTAINS(run.out, expected);
    CHECK_CONTAINS(run.out, "blocked in futex  mutex 0x");
    snprintf(expected, sizeof expected, ", held by thread %d (waiter)\n", (int)pid);
    CHECK_CONTAINS(run.out, expected);
    test_run_done(&run);
    run = stacks(pid, "--json");
    snprintf(expected, sizeof expected,
             "\"waits_for\": \"fd %d %s, written by this process itself\"", fd, path);
    CHECK_CONTAINS(run.out, expected);
    test_run_done(&run);
    run = stacks(pid, "--stop"); /* the same, read from its registers */
    snprintf(expected, sizeof expected, "in read  fd %d %s, written by this process itself\n", fd,
             path);
    CHECK_CONTAINS(run.out, expected);
    test_run_done(&run);
    stop_program(pid);
}

TEST(one_thread_by_name_and_by_id)
{
    pid_t pid = start_waiter("0");
    char options[64];
    struct test_run run = stacks(pid, "--thread waits-for-lock");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "wait_for_lock");
    CHECK(strstr(run.out, "wait_in_main") == NULL);
    test_run_done(&run);
    snprintf(options, sizeof options, "--thread %d", (int)pid);
    run = stacks(pid, options);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "wait_in_main");
    CHECK(strstr(run.out, "wait_for_lock") == NULL);
    test_run_done(&run);
    stop_program(pid);
}

/* 1000 calls, of which 10 + 64 are kept. The main thread has some frames more; each is counted. */
TEST(a_deep_stack_says_what_it_left_out)
{
    pid_t pid = start_waiter("1000");
    struct test_run run = stacks(pid, "--depth 10 --unfolded --json");
    struct test_run whole = stacks(pid, "--depth 2000 --unfolded --json");
    CHECK_EQ(run.status, 0);
    CHECK_EQ(whole.status, 0);
    check_json(run.out);
    CHECK_EQ(count(whole.out, "\"deeper\""), 1001);
    CHECK_CONTAINS(run.out, "wait_in_main");
    CHECK_CONTAINS(run.out, "_start");
    CHECK(count(run.out, "\"deeper\"") >= 60 && count(run.out, "\"deeper\"") < 75);
    test_run_done(&run);
    test_run_done(&whole);
    run = stacks(pid, "--depth 10");
    CHECK_CONTAINS(run.out, "left out");
    test_run_done(&run);
    stop_program(pid);
}

TEST(names_are_left_out_on_request)
{
    pid_t pid = start_waiter("0");
    struct test_run run = stacks(pid, "--no-names");
    CHECK_EQ(run.status, 0);
    CHECK(strstr(run.out, "wait_in_main") == NULL);
    CHECK_CONTAINS(run.out, "waiter+0x");
    CHECK_CONTAINS(run.out, "libc.so.6+0x");
    test_run_done(&run);
    stop_program(pid);
}

/* Stopping the program gives the same stacks and reports the stop time. The threads go on
 * afterwards. */
TEST(stopped_all_together)
{
    static const char *const order[] = {
        "stopped for", "blocked in read", "read", "wait_in_main", "main", "wait_for_lock",
        "lock_thread", "sleep_thread",    NULL};
    pid_t pid = start_waiter("0");
    struct test_run run = stacks(pid, "--stop");
    CHECK_EQ(run.status, 0);
    check_order(run.out, order);
    test_run_done(&run);
    wait_blocked(pid);
    stop_program(pid);
}

/* A sleep that was stopped before has another number in the thread's registers. On a busy machine
 * the thread may not be back in time: look again. */
TEST(a_second_stop_names_the_call_of_the_first)
{
    pid_t pid = start_waiter("0");
    struct test_run first = stacks(pid, "--stop"), second = {0};
    CHECK_CONTAINS(first.out, "blocked in clock_nanosleep");
    for (int i = 0; i < 20 && (i == 0 || strstr(second.out, "restart_syscall") != NULL); i++) {
        test_run_done(&second);
        wait_blocked(pid);
        second = stacks(pid, "--stop");
    }
    CHECK_CONTAINS(second.out, "blocked in clock_nanosleep");
    CHECK(strstr(second.out, "restart_syscall") == NULL);
    test_run_done(&first);
    test_run_done(&second);
    stop_program(pid);
}

/* A report shows the same as the screen. */
TEST(a_report_shows_the_same_later)
{
    pid_t pid = start_waiter("3");
    char options[300];
    char path[256];
    struct test_run run;
    struct test_run shown;
    const char *const show[] = {sonde_program(), "show", path, NULL};
    const char *const show_json[] = {sonde_program(), "show", "--json", path, NULL};
    snprintf(path, sizeof path, "%s/r.sonde", test_folder());
    snprintf(options, sizeof options, "--report %s", path);
    run = stacks(pid, options);
    stop_program(pid);
    CHECK_EQ(run.status, 0);
    shown = test_run(show, NULL, NULL, 60);
    CHECK_EQ(shown.status, 0);
    CHECK_STR(shown.err, "");
    CHECK_STR(shown.out, run.out);
    test_run_done(&shown);
    shown = test_run(show_json, NULL, NULL, 60);
    check_json(shown.out);
    test_run_done(&shown);
    test_run_done(&run);
}

/* Folded stacks equal those of the JSON view: each thread's frames, outermost first, and one line
 * per thread. */
TEST(a_report_exported)
{
    static const char program[] =
        "import json,subprocess,sys\n"
        "def sonde(*a): return subprocess.run([sys.argv[1],*a,sys.argv[2]],check=True,"
        "capture_output=True,text=True).stdout\n"
        "def shown(f):\n"
        "    if 'function' in f: return f['function'] + ('@plt' if f.get('plt') else '')\n"
        "    return '%s+%s' % (images[f['image']], f['offset'])\n"
        "d = json.loads(sonde('show','--json'))\n"
        "images = {i['id']: i['path'].split('/')[-1] for i in d['images']}\n"
        "want = {}\n"
        "for t in d['threads']:\n"
        "    parts = [''.join(c if c >= ' ' else '\\\\x%02x' % ord(c) for c in t['name'])]\n"
        "    for f in reversed(t['frames']):\n"
        "        parts.append(shown(f))\n"
        "        parts += [i['function'] + '_[i]' for i in reversed(f.get('inlined', []))]\n"
        "    line = ';'.join(parts); want[line] = want.get(line, 0) + 1\n"
        "got = dict((l.rsplit(' ',1)[0], int(l.rsplit(' ',1)[1]))"
        " for l in sonde('export').splitlines())\n"
        "assert got == want, (got, want)\n"
        "assert len(d['threads']) >= 3 and any('wait_in_main' in l for l in got), got\n"
        "assert json.loads(sonde('export','--style','json')) == d\n"
        "for s in ('sonde','bs','callstack','glibc'):\n"
        "    assert sonde('export','--style',s) == sonde('show','--style',s) != '', s\n";
    pid_t pid = start_waiter("3");
    char options[300], path[256];
    snprintf(path, sizeof path, "%s/r.sonde", test_folder());
    snprintf(options, sizeof options, "--report %s", path);
    struct test_run run = stacks(pid, options);
    const char *const argv[] = {"python3", "-c", program, sonde_program(), path, NULL};
    stop_program(pid);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    run = test_run(argv, NULL, NULL, 60);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST(a_report_through_a_pipe)
{
    pid_t pid = start_waiter("3");
    char line[600];
    const char *const argv[] = {"sh", "-c", line, NULL};
    struct test_run run;
    snprintf(line, sizeof line, "%s stacks %d -o - | %s show -", sonde_program(), (int)pid,
             sonde_program());
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "wait_in_main");
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_report_that_cannot_be_written)
{
    pid_t pid = start_waiter("0");
    struct test_run run = stacks(pid, "--report /dev/full");
    CHECK_EQ(run.status, 1);
    check_one_line(run.err, "/dev/full: No space left on device");
    CHECK_CONTAINS(run.out, "wait_in_main");
    test_run_done(&run);
    run = stacks(pid, "--report /nonexistent/r.sonde");
    CHECK_EQ(run.status, 1);
    check_one_line(run.err, "/nonexistent/r.sonde: No such file or directory");
    test_run_done(&run);
    stop_program(pid);
}

/* A thread that never blocks is read, too, and goes on. Its registers and stack are of one moment:
 * each of many stacks reaches the program's entry. */
TEST(a_running_thread)
{
    const char *const program[] = {"sh", "-c", "echo ready; while :; do :; done", NULL};
    pid_t pid = start_program(program);
    int status;
    for (unsigned i = 0; i < 40; i++) {
        struct test_run run = stacks(pid, "");
        if (run.status != 0 || strstr(run.out, "__libc_start") == NULL) {
            FAIL("look %u ended with %d: %s%s", i, run.status, run.out, run.err);
        }
        test_run_done(&run);
    }
    CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
    stop_program(pid);
}

/* sonde cannot trace a thread that another tracer (this test) holds, and reads it as it stands. */
TEST(a_thread_that_a_debugger_holds)
{
    pid_t pid = start_waiter("0");
    struct test_run run;
    CHECK_EQ(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    CHECK_EQ(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
    CHECK_EQ(waitpid(pid, NULL, __WALL), pid);
    run = stacks(pid, "");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "stopped by a tracer in read");
    CHECK_CONTAINS(run.out, "wait_in_main");
    test_run_done(&run);
    run = stacks(pid, "--stop");
    CHECK_EQ(run.status, 1);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "cannot stop the threads: process ");
    CHECK_CONTAINS(run.err, ") traces it already: detach that");
    test_run_done(&run);
    stop_program(pid);
}

/* Columns of a line of UTF-8 without color. */
static unsigned columns_of(const char *line, size_t size)
{
    unsigned columns = 0;
    for (size_t i = 0; i < size; i++) {
        columns += ((unsigned char)line[i] & 0xc0) != 0x80 && line[i] != '\r';
    }
    return columns;
}

/* Lines are cut to the terminal's width. The ends of names and the text after them stay. Without a
 * terminal lines are whole. */
TEST(lines_are_fitted_to_a_terminal)
{
    static const char script[] =
        "cd $DIR && printf '#include <unistd.h>\n__attribute__((noinline)) int "
        "begin_of_a_name_%080d_end_of_it(int n) { return n + pause(); }\n"
        "int main(void) { return 1 + begin_of_a_name_%080d_end_of_it(1); }\n' 0 0 >long.c && "
        "cc -O0 -fno-omit-frame-pointer long.c -o long && { ./long & } && P=$! && sleep 0.2 && "
        "script -qc \"stty cols 100; $SONDE stacks --color=never $P\" /dev/null >fitted "
        "</dev/null; "
        "script -qc \"stty cols 300; $SONDE stacks --color=never $P\" /dev/null >wide </dev/null; "
        "$SONDE stacks $P >piped; kill $P; tr -d '\\r' <wide | cmp - piped && cat fitted";
    struct test_run run = shell(script);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "  begin_of_a_name_0");
    CHECK_CONTAINS(run.out, "\xe2\x80\xa6");
    CHECK_CONTAINS(run.out, "_end_of_it+0x");
    CHECK_CONTAINS(run.out, " long+0x");
    unsigned frames = 0;
    for (const char *line = run.out; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (strncmp(line, "  #", 3) == 0) {
            frames++;
            CHECK(columns_of(line, size) <= 100);
        }
        line += size + (line[size] == '\n');
    }
    CHECK(frames >= 4);
    test_run_done(&run);
}
