// SPDX-License-Identifier: Apache-2.0
/* Reports that were cut, damaged, or are none at all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static struct test_run show(const char *path, bool json)
{
    const char *const argv[] = {sonde_program(), "show", path, json ? "--json" : NULL, NULL};
    return test_run(argv, NULL, NULL, 60);
}

/* A report of the waiter, in the test's folder. Caller frees the bytes. */
static char *make_report(size_t *ret_size)
{
    char path[256];
    char pid_text[16];
    const char *const program[] = {test_program("support", "waiter"), NULL};
    pid_t pid = start_program(program);
    const char *const argv[] = {sonde_program(), "stacks", pid_text, "--report", path, NULL};
    struct test_run run;
    snprintf(path, sizeof path, "%s/whole.sonde", test_folder());
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    wait_blocked(pid);
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    stop_program(pid);
    return test_read_file(path, ret_size);
}

TEST(not_a_report)
{
    static const struct {
        const char *path;
        int status;
    } cases[] = {{"/nonexistent/report", 3}, {"/", 1},         {"/bin/true", 5},
                 {"/dev/null", 5},           {"/dev/zero", 5}, {"/etc/passwd", 5}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_run run = show(cases[i].path, false);
        if (run.status != cases[i].status) {
            FAIL("%s: ended with %d: %s", cases[i].path, run.status, run.err);
        }
        check_one_line(run.err, cases[i].path);
        test_run_done(&run);
    }
}

/* Cut at every length (of a long report: at many): no crash, one line, 5, and JSON that parses. */
TEST_TIMEOUT(cut_anywhere, 200)
{
    size_t size;
    char *report = make_report(&size);
    size_t step = size / 100 + 1;
    char path[256];
    snprintf(path, sizeof path, "%s/cut.sonde", test_folder());
    for (size_t cut = 0; cut < size; cut += cut + 40 < size && cut > 40 ? step : 1) {
        struct test_run run;
        test_write_file(path, report, cut);
        run = show(path, false);
        if (run.status != 5) {
            FAIL("cut at %zu of %zu: ended with %d: %s", cut, size, run.status, run.err);
        }
        check_one_line(run.err, "cut.sonde");
        test_run_done(&run);
    }
    free(report);
}

TEST_TIMEOUT(damaged_anywhere, 200)
{
    size_t size;
    char *report = make_report(&size);
    char path[256];
    snprintf(path, sizeof path, "%s/damaged.sonde", test_folder());
    for (size_t at = 0; at < size; at += size / 60 + 1) {
        struct test_run run;
        char saved = report[at];
        report[at] = (char)(saved ^ 0x55);
        test_write_file(path, report, size);
        run = show(path, true);
        if (run.status != 5) {
            FAIL("damaged at %zu of %zu: ended with %d: %s", at, size, run.status, run.err);
        }
        check_one_line(run.err, "damaged.sonde");
        if (run.out[0] != '\0') {
            check_json(run.out);
        }
        test_run_done(&run);
        report[at] = saved;
    }
    free(report);
}

/* The part before the cut is shown: threads of a report that lost its end. */
TEST(whole_records_before_a_cut_are_shown)
{
    size_t size;
    char *report = make_report(&size);
    char path[256];
    struct test_run run;
    snprintf(path, sizeof path, "%s/cut.sonde", test_folder());
    test_write_file(path, report, size - 1);
    run = show(path, false);
    CHECK_EQ(run.status, 5);
    CHECK_CONTAINS(run.out, "wait_in_main");
    CHECK_CONTAINS(run.out, "waits-for-lock");
    test_run_done(&run);
    free(report);
}

/* A file that is no report is recognised by its beginning: it is not read whole or kept in
 * memory. */
TEST(a_huge_file_that_is_no_report)
{
    char path[256], line[700];
    const char *const argv[] = {"sh", "-c", line, NULL};
    snprintf(path, sizeof path, "%s/huge", test_folder());
    test_write_file(path, "x", 1);
    CHECK_OK(truncate(path, (off_t)1 << 30));
#if defined(SONDE_SANITIZED)
    snprintf(line, sizeof line, "exec %s show %s", sonde_program(), path);
#else
    snprintf(line, sizeof line, "ulimit -v 100000; exec %s show %s", sonde_program(), path);
#endif
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 5);
    check_one_line(run.err, "not a sonde report");
    test_run_done(&run);
}

TEST(a_report_through_a_fifo)
{
    size_t size;
    char line[1400], fifo[256];
    const char *const argv[] = {"sh", "-c", line, NULL};
    free(make_report(&size));
    snprintf(fifo, sizeof fifo, "%s/fifo", test_folder());
    snprintf(line, sizeof line, "mkfifo %s; cat %s/whole.sonde >%s & %s show %s", fifo,
             test_folder(), fifo, sonde_program(), fifo);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "wait_in_main");
    test_run_done(&run);
}
