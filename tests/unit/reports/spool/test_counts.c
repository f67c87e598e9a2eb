// SPDX-License-Identifier: Apache-2.0
/* The limits of the folder: which files are removed; each removed stall is counted once. */
#include "spool_counts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host_run.h"
#include "runs.h"
#include "test.h"

#define DAY_NS ((uint64_t)24 * 3600 * 1000000000u)

static const struct sonde__spool_caps wide = {1000, UINT64_MAX, UINT64_MAX};

static uint64_t now_ns(void)
{
    return (uint64_t)time(NULL) * 1000000000u;
}

static uint32_t trim(const struct sonde__spool_caps *caps, uint64_t now)
{
    uint32_t removed = 0;
    int32_t folder = runs_open_folder();
    CHECK_OK(sonde__spool_trim(folder, caps, now, &removed));
    sonde__host_close(folder);
    return removed;
}

/* Reports of runs that are over, each with `stalls` stalls; runs' pids are in the order of time. */
static void make_runs(unsigned count, unsigned stalls)
{
    for (unsigned i = 0; i < count; i++) {
        struct run run;
        run_begin(&run, (int32_t)(1000 + i));
        for (unsigned k = 0; k < stalls; k++) {
            run_add_stall(&run, k, k % 2 == 0 ? "1:aa" : "1:bb");
        }
        run_end(&run);
    }
}

static const struct sonde__report_stall_count *find_count(const struct sonde__report *report,
                                                          const char *fingerprint)
{
    for (uint32_t i = 0; i < sonde__report_stall_count_count(report); i++) {
        const struct sonde__report_stall_count *count = sonde__report_stall_count_at(report, i);
        if (strcmp(sonde__report_text(report, count->fingerprint), fingerprint) == 0) {
            return count;
        }
    }
    return NULL;
}

static void check_counts(uint64_t aa, uint64_t bb)
{
    struct sonde__report *report = runs_read(SONDE__SPOOL_COUNTS);
    CHECK_EQ(find_count(report, "1:aa")->count, aa);
    CHECK_EQ(find_count(report, "1:aa")->total_ns, aa * 300 * MS);
    CHECK_EQ(find_count(report, "1:aa")->longest_ns, 300 * MS);
    CHECK_EQ(find_count(report, "1:bb")->count, bb);
    CHECK_EQ(sonde__report_end(report)->stall_count, aa + bb);
    sonde__report_destroy(report);
}

TEST(caps_by_number_remove_the_oldest)
{
    struct sonde__spool_caps caps = wide;
    make_runs(10, 3);
    CHECK_EQ(trim(&wide, now_ns()), 0);
    caps.reports_max = 4;
    CHECK_EQ(trim(&caps, now_ns()), 6);
    CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 4 + 1); /* and counts.sonde */
    check_counts(6 * 2, 6);
    caps.reports_max = 1;
    CHECK_EQ(trim(&caps, now_ns()), 3);
    check_counts(9 * 2, 9);
    CHECK_EQ(runs_count("1009.sonde"), 1); /* the newest is there */
}

TEST(caps_by_bytes)
{
    struct sonde__spool_caps caps = wide;
    make_runs(5, 3);
    caps.bytes_max = 1;
    CHECK_EQ(trim(&caps, now_ns()), 5);
    check_counts(10, 5);
}

TEST(caps_by_age_and_clocks_that_step)
{
    struct sonde__spool_caps caps = wide;
    make_runs(3, 3);
    caps.age_max_ns = 14 * DAY_NS;
    CHECK_EQ(trim(&caps, now_ns() + 13 * DAY_NS), 0);
    CHECK_EQ(trim(&caps, now_ns() - 1000 * DAY_NS), 0); /* reports of the future are new */
    CHECK_EQ(trim(&caps, 0), 0);
    CHECK_EQ(trim(&caps, now_ns() + 15 * DAY_NS), 3);
    check_counts(6, 3);
}

TEST(caps_leave_runs_that_are_not_over)
{
    struct sonde__spool_caps caps = {.reports_max = 0};
    struct run run, killed;
    run_begin(&run, 1);
    run_add_stall(&run, 1, "1:aa");
    run_begin(&killed, 2);
    run_add_part(&killed, 5, 1, true);
    run_kill(&killed);
    CHECK_EQ(trim(&caps, now_ns()), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 2);
    run_end(&run);
    CHECK_EQ(trim(&caps, now_ns()), 1);
}

static void copy_file(const char *from, const char *to)
{
    size_t size;
    char *bytes = test_read_file(from, &size);
    test_write_file(to, bytes, size);
    free(bytes);
}

/* A kill after the counts were written and before the report was removed. */
TEST(a_report_is_not_counted_twice)
{
    struct sonde__spool_caps caps = wide;
    struct run run;
    char report[700], saved[700];
    run_begin(&run, 1); /* the oldest, so that it is removed last */
    run_add_stall(&run, 1, "1:aa");
    run_add_stall(&run, 1, "1:bb");
    run_end(&run);
    make_runs(1, 3);
    snprintf(report, sizeof report, "%s/%s.sonde", runs_folder(), run.session.run);
    snprintf(saved, sizeof saved, "%s/saved", test_folder());
    copy_file(report, saved);
    caps.reports_max = 0;
    CHECK_EQ(trim(&caps, now_ns()), 2);
    check_counts(3, 2);
    copy_file(saved, report);
    CHECK_EQ(trim(&wide, now_ns()), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 1); /* the report is gone, and */
    check_counts(3, 2);
}

TEST(counts_survive_a_damaged_file)
{
    struct sonde__spool_caps caps = {.reports_max = 0};
    char path[700];
    make_runs(2, 3);
    snprintf(path, sizeof path, "%s/%s", runs_folder(), SONDE__SPOOL_COUNTS);
    test_write_file(path, "damaged", 7);
    CHECK_EQ(trim(&caps, now_ns()), 2);
    check_counts(4, 2);
    CHECK_EQ(runs_count("counts.damaged"), 1);
}

/* A file that is no report has no stalls to count; a cut report has the rest. */
TEST(caps_remove_damaged_reports)
{
    struct sonde__spool_caps caps = {.reports_max = 0};
    char path[700];
    make_runs(1, 3);
    snprintf(path, sizeof path, "%s/20200101T000000Z-1.sonde", runs_folder());
    test_write_file(path, "damaged", 7);
    CHECK_EQ(trim(&caps, now_ns()), 2);
    CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 1);
    check_counts(2, 1);
}

/* Stalls that a run wrote only as a number count as such. */
TEST(counts_of_a_run_are_exact)
{
    const struct sonde__report_writer_options few = {.bytes_max = 200};
    struct sonde__spool_caps caps = {.reports_max = 0};
    struct run run;
    char name[SONDE__SPOOL_NAME];
    run_begin(&run, 1);
    sonde__report_writer_destroy(run.writer);
    CHECK_EQ(ftruncate(run.session.report_fd, 0), 0);
    CHECK_EQ(lseek(run.session.report_fd, 0, SEEK_SET), 0);
    struct sonde__report_writer *writer = NULL;
    CHECK_OK(sonde__report_writer_create(&few, runs_write, &run.session.report_fd, &writer));
    run.writer = writer;
    for (unsigned i = 0; i < 9; i++) {
        run_add_stall(&run, i, i % 3 == 0 ? "1:bb" : "1:aa");
    }
    run_end(&run);
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    struct sonde__report *report = runs_read(name);
    uint32_t stalls = sonde__report_stall_count(report);
    CHECK(stalls > 0 && stalls < 9);
    CHECK_EQ(sonde__report_stall_count_count(report), 9 - stalls);
    CHECK_EQ(sonde__report_end(report)->stall_count, 9);
    sonde__report_destroy(report);
    CHECK_EQ(trim(&caps, now_ns()), 1);
    check_counts(6, 3);
}
