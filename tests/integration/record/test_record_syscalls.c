// SPDX-License-Identifier: Apache-2.0
/* The recorder counts system calls that a program makes itself: against the program's source and
 * against strace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "raw_forms.h"

static struct test_run record(const char *list_text, const char *option, const char *more)
{
    static char list[512];
    const char *argv[] = {
        program_sonde(), "run", "--verbose", "--record", list, "--", NULL, NULL, NULL, NULL, NULL};
    unsigned count = 5;
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, list_text, strlen(list_text));
    if (option != NULL) {
        argv[count++] = option;
        argv[count] = "--";
    }
    argv[++count] = program_built("record/raw_forms");
    argv[++count] = program_built("record/libraw_loaded.so");
    argv[++count] = more;
    return test_run(argv, NULL, NULL, 60);
}

/* The count of a listed name in its heading. */
static unsigned long long count_of(const char *text, const char *function)
{
    char heading[128];
    unsigned long long count = 0;
    snprintf(heading, sizeof heading, "\n%s  ", function);
    const char *at = strstr(text, heading);
    if (at != NULL) {
        CHECK_EQ(sscanf(at + strlen(heading), "%llu call", &count), 1);
    }
    return count;
}

/* Calls from stacks whose frame 0 is `caller` under `function`. */
static unsigned long long count_from(const char *text, const char *function, const char *caller)
{
    unsigned long long sum = 0, count = 0;
    char heading[128], frame[128];
    snprintf(heading, sizeof heading, "\n%s  ", function);
    snprintf(frame, sizeof frame, "    #0  %s+", caller);
    const char *line = strstr(text, heading);
    for (line = line != NULL ? strchr(line + 1, '\n') : NULL; line != NULL && line[1] == ' ';
         line = strchr(line + 1, '\n')) {
        if (strncmp(line + 1, "    ", 4) != 0) {
            CHECK_EQ(sscanf(line + 1, "  %llu call", &count), 1);
        } else if (strncmp(line + 1, frame, strlen(frame)) == 0) {
            sum += count;
        }
    }
    return sum;
}

static unsigned long long count_strace(const char *call, const char *more)
{
    char path[512], trace[64];
    const char *argv[] = {"strace",
                          "-f",
                          "-c",
                          "-o",
                          path,
                          "-e",
                          trace,
                          program_built("record/raw_forms"),
                          program_built("record/libraw_loaded.so"),
                          more,
                          NULL};
    unsigned long long count = 0;
    if (!program_on_path("strace")) {
        SKIP("strace is not installed");
    }
    snprintf(path, sizeof path, "%s/strace", test_folder());
    snprintf(trace, sizeof trace, "trace=%s", call);
    struct test_run run = test_run(argv, NULL, NULL, 120);
    FILE *file = fopen(path, "r");
    char line[256];
    if (run.status != 0 || file == NULL) {
        SKIP("strace may not trace here: %s", run.err);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        double percent, seconds;
        unsigned long long each;
        if (strstr(line, call) != NULL) {
            CHECK_EQ(sscanf(line, "%lf %lf %llu %llu", &percent, &seconds, &each, &count), 4);
        }
    }
    fclose(file);
    test_run_done(&run);
    return count;
}

enum {
    RAW_ALL = RAW_CONSTANT + RAW_VARIABLE + RAW_JUMPED + RAW_AGAIN + RAW_KEPT + RAW_TABLE +
              RAW_HANDLER + 2 * RAW_THREAD + RAW_LOADED,
    RAW_NOT = RAW_NO_ROOM + RAW_PADS + RAW_FORKED + 1 /* the program's own use */
};

TEST(each_form_of_system_call_is_recorded)
{
    static const char *const list = "syscall:getppid\nopenat\nsyscall:vfork\nsyscall:fork\n"
                                    "syscall:exit_group\n";
    static const char name[] = "syscall:getppid";
    struct test_run run = record(list, "--raw-syscalls", NULL);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "right\n");
    CHECK_EQ(count_from(run.err, name, "raw_constant"), RAW_CONSTANT + 2 * RAW_THREAD);
    CHECK_EQ(count_from(run.err, name, "raw_variable"), RAW_VARIABLE + RAW_HANDLER);
    CHECK_EQ(count_from(run.err, name, "raw_jumped"), RAW_JUMPED);
    CHECK_EQ(count_from(run.err, name, "raw_again"), RAW_AGAIN);
    CHECK_EQ(count_from(run.err, name, "raw_kept"), RAW_KEPT);
    CHECK_EQ(count_from(run.err, name, "raw_table"), RAW_TABLE);
    CHECK_EQ(count_from(run.err, name, "raw_loaded"), RAW_LOADED);
    CHECK_EQ(count_from(run.err, name, "main"), RAW_NAMED);
    CHECK_EQ(count_from(run.err, name, "raw_no_room"), 0);
    CHECK_EQ(count_of(run.err, name), RAW_ALL + RAW_NAMED);
    CHECK_EQ(count_from(run.err, "syscall:openat", "raw_relative"), RAW_RELATIVE);
    CHECK_EQ(count_from(run.err, "syscall:vfork", "raw_vfork"), RAW_TWICE);
    CHECK_EQ(count_from(run.err, "syscall:exit_group", "raw_vfork"), RAW_TWICE);
    CHECK_EQ(count_from(run.err, "syscall:fork", "raw_variable"), 1);
    CHECK_CONTAINS(run.err, "of its own, at raw_no_room+");
    CHECK_CONTAINS(run.err, ": branches target the instructions around it");
    CHECK_EQ(count_from(run.err, name, "raw_pads"), 0);
    CHECK_CONTAINS(run.err, "of its own, at raw_pads+");
    CHECK_CONTAINS(run.err, ": branch targets of its function are unknown");
    CHECK_CONTAINS(run.err, "/raw_forms: 10 system calls of its own are recorded");
    CHECK_CONTAINS(run.err, "/libraw_loaded.so: 1 system call of its own is recorded");
    test_run_done(&run);
    CHECK_EQ(count_strace("getppid", NULL), RAW_ALL + RAW_NAMED + RAW_NOT);
}

/* Threads that use another thread's TLS while that runs. */
TEST(a_thread_without_tls)
{
    struct test_run run = record("syscall:getppid\nsyscall:clone\n", "--raw-syscalls", "x");
    CHECK_EQ(run.status, 0);
    unsigned long long beside = 0;
    CHECK_EQ(sscanf(run.out, "%llu", &beside), 1);
    CHECK_CONTAINS(run.out, " right\n");
    CHECK_EQ(count_from(run.err, "syscall:getppid", "raw_stranger"), RAW_STRANGER);
    CHECK_EQ(count_from(run.err, "syscall:getppid", "raw_variable"),
             RAW_VARIABLE + RAW_HANDLER + beside);
    CHECK_EQ(count_from(run.err, "syscall:clone", "raw_clone"), 1);
    test_run_done(&run);
}

/* A plain name selects only the C library's function; no code is changed. */
TEST(system_calls_by_the_function)
{
    struct test_run run = record("syscall:getppid\n", NULL, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(count_of(run.err, "syscall:getppid"), RAW_NAMED);
    CHECK_EQ(count_of(run.err, "syscall"), 0);
    CHECK_CONTAINS(run.err, "/raw_forms: system call getppid of its own, at raw_constant+");
    CHECK(strstr(run.err, "are recorded") == NULL);
    CHECK(strstr(run.err, "syscall:getppid: ") == NULL); /* no missing symbol is reported */
    test_run_done(&run);
    run = record("syscall:getppid\nsyscall\n", NULL, NULL);
    CHECK_EQ(count_of(run.err, "syscall:getppid"), RAW_NAMED);
    CHECK_EQ(count_of(run.err, "syscall"), RAW_NAMED);
    test_run_done(&run);
    run = record("getppid\n", "--raw-syscalls", NULL);
    CHECK_EQ(count_of(run.err, "getppid"), 1);
    CHECK_EQ(count_of(run.err, "syscall:getppid"), RAW_ALL + RAW_NAMED);
    test_run_done(&run);
    run = record("no_such_function\nsyscall:nope\n", NULL, NULL);
    CHECK_EQ(run.status, 125);
    CHECK_CONTAINS(run.err, "list:2: column 9: no system call of this name here: syscall:nope");
    test_run_done(&run);
}
