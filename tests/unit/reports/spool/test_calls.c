// SPDX-License-Identifier: Apache-2.0
/* Live files of recorded calls: a killed run's report is what the last look saw, wherever the file
 * is cut. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_run.h"
#include "runs.h"
#include "spool_counts.h"
#include "spool_finish.h"
#include "test.h"

#define BEGIN_NS ((uint64_t)1700000000000000000)
enum { NOBODY = 0x3fffff02, CALLS = 20000 };

static void count_finished(void *ctx, const struct sonde__spool_finished *finished)
{
    *(unsigned *)ctx += finished->has_calls;
}

/* Returns how many runs were finished from a file of calls. */
static unsigned finish(void)
{
    unsigned count = 0;
    const struct sonde__spool_finishing how = {.each = count_finished, .ctx = &count};
    int32_t folder = runs_open_folder();
    CHECK_OK(sonde__spool_finish(folder, &how));
    sonde__host_close(folder);
    return count;
}

/* What call `index` has counted at a look. */
static uint64_t count_of(uint32_t index, unsigned look)
{
    return (uint64_t)index * 1000 + look;
}

static struct sonde__report *make_calls(unsigned look, uint32_t count)
{
    struct sonde__report *report;
    CHECK_OK(sonde__report_create(&report));
    sonde__report_set_header(report, &(struct sonde__report_header){.kind = SONDE__REPORT_AUDIT,
                                                                    .tool = "test",
                                                                    .executable = "/opt/app/server",
                                                                    .pid = NOBODY,
                                                                    .time_unix_ns = BEGIN_NS,
                                                                    .report_id = "1"});
    (void)sonde__report_add_process(report, &(struct sonde__report_process){.pid = NOBODY});
    for (uint32_t i = 0; i < count; i++) {
        sonde__report_add_call(
            report, &(struct sonde__report_call){.function = sonde__report_string(report, "getenv"),
                                                 .rule = i + 1,
                                                 .count = count_of(i, look)});
    }
    return report;
}

static void look(struct sonde__spool_session *session, unsigned number, uint32_t count)
{
    struct sonde__report *report = make_calls(number, count);
    CHECK_EQ(sonde__spool_rewrite(session, report), 0);
    sonde__report_destroy(report);
}

static void begin(struct sonde__spool_session *session)
{
    CHECK_OK(sonde__spool_begin(runs_folder(), NOBODY, false, session, NULL));
}

/* What a kill does: locks are gone, files stay. */
static void drop(const struct sonde__spool_session *session)
{
    sonde__host_close(session->live_fd);
    sonde__host_close(session->report_fd);
    sonde__host_close(session->folder);
}

static void path_of(const struct sonde__spool_session *session, const char *suffix,
                    char ret_path[512])
{
    snprintf(ret_path, 512, "%s/%s%s", runs_folder(), session->run, suffix);
}

static struct sonde__report *read_report(const struct sonde__spool_session *session)
{
    char name[SONDE__SPOOL_NAME];
    sonde__spool_file_name(session->run, SONDE__SPOOL_REPORT, name);
    return runs_read(name);
}

TEST(calls_of_the_last_look_are_the_report_of_a_killed_run)
{
    struct sonde__spool_session session;
    begin(&session);
    for (unsigned number = 1; number <= 3; number++) {
        look(&session, number, 5);
        CHECK_EQ(finish(), 0); /* its lock moves with the file */
    }
    drop(&session);
    CHECK_EQ(finish(), 1);
    CHECK_EQ(finish(), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_PART), 0);
    struct sonde__report *report = read_report(&session);
    CHECK_EQ(sonde__report_header(report)->kind, SONDE__REPORT_AUDIT);
    CHECK_EQ(sonde__report_call_count(report), 5);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQ(sonde__report_call(report, i)->count, count_of(i, 3));
    }
    CHECK(sonde__report_end(report) != NULL);
    CHECK(strstr(sonde__report_note(report, 0), "the recording was killed") != NULL);
    sonde__report_destroy(report);
}

TEST(calls_of_a_run_without_any_are_a_report_too)
{
    struct sonde__spool_session session;
    begin(&session);
    look(&session, 1, 0);
    drop(&session);
    CHECK_EQ(finish(), 1);
    struct sonde__report *report = read_report(&session);
    CHECK_EQ(sonde__report_call_count(report), 0);
    sonde__report_destroy(report);
}

/* Its calls are not counted, but the file that counts stalls is still a good one. */
TEST(calls_of_a_report_that_is_removed_leave_no_stall)
{
    const struct sonde__spool_caps caps = {.reports_max = 0, .age_max_ns = UINT64_MAX};
    struct sonde__spool_session session;
    uint32_t removed = 0;
    begin(&session);
    look(&session, 1, 5);
    drop(&session);
    CHECK_EQ(finish(), 1);
    int32_t folder = runs_open_folder();
    CHECK_OK(sonde__spool_trim(folder, &caps, BEGIN_NS, &removed));
    sonde__host_close(folder);
    CHECK_EQ(removed, 1);
    struct sonde__report *report = runs_read(SONDE__SPOOL_COUNTS);
    CHECK_EQ(sonde__report_header(report)->time_unix_ns, BEGIN_NS);
    CHECK_EQ(sonde__report_stall_count_count(report), 0);
    CHECK_EQ(sonde__report_end(report)->stall_count, 0);
    sonde__report_destroy(report);
}

/* Killed between the report's end and the removal of the live file. */
TEST(calls_of_a_finished_report_are_not_replaced)
{
    struct sonde__spool_session session;
    begin(&session);
    look(&session, 1, 5);
    struct sonde__report *report = make_calls(9, 5);
    struct sonde__report_writer *writer;
    CHECK_OK(sonde__report_writer_create(NULL, runs_write, &session.report_fd, &writer));
    CHECK_OK(sonde__report_writer_finish(writer, report));
    sonde__report_writer_destroy(writer);
    sonde__report_destroy(report);
    drop(&session);
    CHECK_EQ(finish(), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 0);
    report = read_report(&session);
    CHECK_EQ(sonde__report_call(report, 4)->count, count_of(4, 9));
    sonde__report_destroy(report);
}

/* Who takes over from a killed supervisor has its report, and not yet its live file. */
TEST(calls_of_a_run_that_another_process_goes_on_with_are_left_alone)
{
    struct sonde__spool_session session;
    begin(&session);
    look(&session, 1, 5);
    sonde__host_close(session.live_fd);
    session.live_fd = -1;
    CHECK_EQ(finish(), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 1);
    look(&session, 2, 5);
    drop(&session);
    CHECK_EQ(finish(), 1);
    struct sonde__report *report = read_report(&session);
    CHECK_EQ(sonde__report_call(report, 4)->count, count_of(4, 2));
    sonde__report_destroy(report);
}

static void put_live(const struct sonde__spool_session *session, const char *bytes, size_t size)
{
    char path[512];
    path_of(session, SONDE__SPOOL_LIVE, path);
    test_write_file(path, bytes, size);
    path_of(session, SONDE__SPOOL_REPORT, path);
    test_write_file(path, "", 0);
}

/* Returns how many calls the finished report has; each count is whole. */
static uint32_t check_cut(const struct sonde__spool_session *session)
{
    if (finish() == 0) {
        CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 0);
        return 0;
    }
    struct sonde__report *report = read_report(session);
    uint32_t count = sonde__report_call_count(report);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(sonde__report_call(report, i)->count, count_of(i, 7));
        CHECK_EQ(sonde__report_call(report, i)->rule, i + 1);
    }
    sonde__report_destroy(report);
    return count;
}

/* Bytes near its begin one by one, then with steps; 20000 calls have several records. */
TEST_TIMEOUT(calls_of_a_file_that_was_cut_are_those_before_the_cut, 300)
{
    struct sonde__spool_session session;
    char path[512];
    size_t size = 0;
    uint32_t before = 0, changes = 0;
    begin(&session);
    look(&session, 7, CALLS);
    path_of(&session, SONDE__SPOOL_LIVE, path);
    char *bytes = test_read_file(path, &size);
    drop(&session);
    for (size_t cut = 0; cut < size; cut += cut < 300 || size - cut < 30 ? 1 : 7919) {
        put_live(&session, bytes, cut);
        uint32_t count = check_cut(&session);
        CHECK(count >= before && count < CALLS);
        changes += count != before;
        before = count;
        path_of(&session, SONDE__SPOOL_REPORT, path);
        (void)unlink(path);
    }
    CHECK(changes >= 2);
    put_live(&session, bytes, size);
    CHECK_EQ(check_cut(&session), CALLS);
    free(bytes);
}
