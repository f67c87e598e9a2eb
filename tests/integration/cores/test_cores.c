// SPDX-License-Identifier: Apache-2.0
/* Cores that gdb's gcore wrote: whole, cut, damaged, foreign; and files that are no cores. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static struct test_run stacks(const char *core, const char *program, const char *option)
{
    const char *const argv[] = {sonde_program(),
                                "stacks",
                                "--core",
                                core,
                                program != NULL ? program : option,
                                program != NULL ? option : NULL,
                                NULL};
    return test_run(argv, NULL, NULL, 60);
}

/* A core of the waiter with `depth` calls. The path lives as long as the test. */
static const char *make_core(const char *depth)
{
    static char path[300];
    char prefix[256];
    char pid_text[16];
    const char *const program[] = {test_program("support", "waiter"), depth, NULL};
    const char *const argv[] = {"gcore", "-o", prefix, pid_text, NULL};
    pid_t pid = start_program(program);
    struct test_run run;
    wait_blocked(pid);
    snprintf(prefix, sizeof prefix, "%s/core", test_folder());
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    run = test_run(argv, NULL, NULL, 120);
    stop_program(pid);
    if (run.status == 127) {
        SKIP("no gcore");
    }
    if (run.status != 0) {
        FAIL("gcore: %s%s", run.out, run.err);
    }
    test_run_done(&run);
    snprintf(path, sizeof path, "%s.%s", prefix, pid_text);
    return path;
}

static void check_waiter(const struct test_run *run)
{
    const char *main_function = strstr(run->out, "wait_in_main");
    CHECK(main_function != NULL);
    CHECK_CONTAINS(main_function, "deeper");
    CHECK_CONTAINS(main_function, "main");
    CHECK_CONTAINS(run->out, "wait_for_lock");
    CHECK_CONTAINS(run->out, "lock_thread");
    CHECK_CONTAINS(run->out, "sleep_thread");
}

TEST_TIMEOUT(a_whole_core, 200)
{
    const char *core = make_core("3");
    struct test_run run = stacks(core, NULL, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    check_waiter(&run);
    test_run_done(&run);
    run = stacks(core, test_program("support", "waiter"), NULL);
    CHECK_EQ(run.status, 0);
    check_waiter(&run);
    test_run_done(&run);
    run = stacks(core, NULL, "--json");
    check_json(run.out);
    CHECK_CONTAINS(run.out, "wait_in_main");
    test_run_done(&run);
}

/* Another program than the core's own gives no names of its own, never wrong ones. */
TEST_TIMEOUT(a_core_with_the_wrong_program, 200)
{
    const char *core = make_core("3");
    struct test_run run = stacks(core, "/bin/sh", NULL);
    CHECK(run.status < 8);
    CHECK(strlen(run.err) > 0 || strstr(run.out, "wait_in_main") != NULL ||
          strstr(run.out, "waiter+0x") != NULL || strstr(run.out, "sh+0x") != NULL);
    test_run_done(&run);
    run = stacks(core, "/nonexistent", NULL);
    CHECK(run.status < 8);
    test_run_done(&run);
}

TEST_TIMEOUT(a_core_cut_anywhere, 280)
{
    const char *core = make_core("3");
    size_t size;
    char *bytes = test_read_file(core, &size);
    char path[256];
    snprintf(path, sizeof path, "%s/cut", test_folder());
    for (size_t i = 0; i < 40; i++) {
        /* densely where headers and notes are, sparsely in the memory */
        size_t cut = i < 20 ? i * i * 16 : size / 20 * (i - 20);
        struct test_run run;
        test_write_file(path, bytes, cut < size ? cut : size - 1);
        run = stacks(path, NULL, NULL);
        if (run.status < 0 || run.status > 7) {
            FAIL("cut at %zu of %zu: ended with %d: %s", cut, size, run.status, run.err);
        }
        if (run.status != 0) {
            CHECK(strlen(run.err) > 0);
        }
        test_run_done(&run);
    }
    free(bytes);
}

TEST_TIMEOUT(a_core_damaged_anywhere, 280)
{
    const char *core = make_core("3");
    size_t size;
    char *bytes = test_read_file(core, &size);
    size_t headers = size < 8192 ? size : 8192;
    char path[256];
    snprintf(path, sizeof path, "%s/damaged", test_folder());
    for (size_t at = 4; at < headers; at += at < 128 ? 4 : 211) {
        struct test_run run;
        char saved[4];
        memcpy(saved, bytes + at, 4);
        memset(bytes + at, 0xff, 4);
        test_write_file(path, bytes, size);
        run = stacks(path, NULL, NULL);
        if (run.status < 0 || run.status > 7) {
            FAIL("damaged at %zu: ended with %d: %s", at, run.status, run.err);
        }
        memcpy(bytes + at, saved, 4);
        test_run_done(&run);
    }
    free(bytes);
}

TEST(files_that_are_no_cores)
{
    static const struct {
        const char *path;
        int low, high;
    } cases[] = {{"/nonexistent/core", 3, 3},
                 {"/", 1, 6},
                 {"/bin/true", 5, 6},
                 {"/dev/null", 1, 6},
                 {"/etc/passwd", 5, 6}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_run run = stacks(cases[i].path, NULL, NULL);
        if (run.status < cases[i].low || run.status > cases[i].high) {
            FAIL("%s: ended with %d: %s", cases[i].path, run.status, run.err);
        }
        CHECK_STR(run.out, "");
        check_one_line(run.err, cases[i].path);
        test_run_done(&run);
    }
}

/* A core of a 32-bit program, and of a machine that sonde does not know. */
TEST_TIMEOUT(foreign_cores, 200)
{
    const char *core = make_core("0");
    size_t size;
    char *bytes = test_read_file(core, &size);
    char path[256];
    struct test_run run;
    snprintf(path, sizeof path, "%s/foreign", test_folder());
    bytes[18] = (char)EM_S390;
    test_write_file(path, bytes, size);
    run = stacks(path, NULL, NULL);
    CHECK_EQ(run.status, 6);
    check_one_line(run.err, path);
    test_run_done(&run);
    bytes[18] = (char)EM_386;
    bytes[EI_CLASS] = ELFCLASS32;
    test_write_file(path, bytes, size);
    run = stacks(path, NULL, NULL);
    CHECK(run.status == 5 || run.status == 6);
    check_one_line(run.err, path);
    test_run_done(&run);
    free(bytes);
}
