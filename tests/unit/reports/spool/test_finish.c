// SPDX-License-Identifier: Apache-2.0
/* Files of killed runs: finish adds them to the run's report, once, wherever they are cut. */
#include "spool_finish.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_process.h"
#include "host_run.h"
#include "runs.h"
#include "test.h"

struct told {
    unsigned finished, recovered, failed, named;
};

static enum sonde_status count_name(void *ctx, struct sonde__report *report)
{
    (void)report;
    ((struct told *)ctx)->named++;
    return SONDE_OK;
}

static void count_finished(void *ctx, const struct sonde__spool_finished *finished)
{
    struct told *told = ctx;
    told->finished++;
    told->recovered += finished->recovered;
}

static void count_failed(void *ctx, const char *name, const char *why)
{
    (void)name, (void)why;
    ((struct told *)ctx)->failed++;
}

static struct told finish(void)
{
    struct told told = {0};
    const struct sonde__spool_finishing how = {count_name, count_finished, count_failed, &told};
    int32_t folder = runs_open_folder();
    CHECK_OK(sonde__spool_finish(folder, &how));
    sonde__host_close(folder);
    return told;
}

enum { NOBODY = 0x3fffff01 }; /* above every pid_max */

TEST(finish_makes_the_stall_fatal)
{
    struct run run;
    char name[SONDE__SPOOL_NAME];
    run_begin(&run, NOBODY);
    run_add_stall(&run, 100, "1:aa");
    for (uint32_t i = 0; i < 40; i++) {
        run_add_part(&run, 500, i, true);
    }
    run_kill(&run);
    struct told told = finish();
    CHECK_EQ(told.finished, 1);
    CHECK_EQ(told.recovered, 1);
    CHECK_EQ(told.named, 1);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_PART), 0);
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    struct sonde__report *report = runs_read(name);
    CHECK_EQ(sonde__report_stall_count(report), 2);
    CHECK(!sonde__report_stall(report, 0)->fatal);
    const struct sonde__report_stall *stall = sonde__report_stall(report, 1);
    CHECK(stall->fatal && stall->open);
    CHECK_EQ(stall->begin_ns, 500);
    CHECK_EQ(stall->sample_count, 40);
    CHECK_EQ(stall->process, 1);
    CHECK_EQ(sonde__report_process_count(report), 1);
    for (uint32_t i = 0; i < 40; i++) {
        const struct sonde__report_node *node = sonde__report_node(report, stall->samples[i].stack);
        CHECK_EQ(sonde__report_frame(report, node->frame)->offset, 0x1000 + i);
    }
    CHECK(strncmp(sonde__report_text(report, stall->fingerprint), "1:", 2) == 0);
    CHECK_EQ(sonde__report_end(report)->stall_count, 2);
    CHECK_STR(sonde__report_header(report)->report_id, "1");
    sonde__report_destroy(report);
    told = finish(); /* nothing is left to finish */
    CHECK_EQ(told.finished, 0);
}

static struct sonde__report *finish_with_damaged_report(bool with_stall)
{
    static const char nothing[] = "this is not a report any more";
    struct run run;
    char name[SONDE__SPOOL_NAME], path[512];
    run_begin(&run, NOBODY);
    if (with_stall) {
        run_add_part(&run, 500, 1, true);
    }
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    snprintf(path, sizeof path, "%s/%s", runs_folder(), name);
    run_kill(&run);
    test_write_file(path, nothing, sizeof nothing - 1);
    struct told told = finish();
    CHECK_EQ(told.recovered, with_stall);
    CHECK_EQ(told.failed, 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 1);
    if (with_stall) {
        return runs_read(name);
    }
    char *kept = test_read_file(path, NULL);
    CHECK_STR(kept, nothing);
    free(kept);
    return NULL;
}

TEST(finish_keeps_a_report_that_cannot_be_read)
{
    (void)finish_with_damaged_report(false);
}

/* The live file's stall replaces the damaged one, and the report says that it was damaged. */
TEST(finish_says_that_a_whole_report_was_damaged)
{
    struct sonde__report *report = finish_with_damaged_report(true);
    CHECK_EQ(sonde__report_stall_count(report), 1);
    bool is_said = false;
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        is_said |=
            strcmp(sonde__report_note(report, i), "the last 29 bytes of it were damaged") == 0;
    }
    CHECK(is_said);
    sonde__report_destroy(report);
}

/* Each stall has the loop's turn count so far: a sum would count most turns twice. */
TEST(finish_says_how_often_the_loop_turned_at_least)
{
    struct run run;
    char name[SONDE__SPOOL_NAME];
    run_begin(&run, NOBODY);
    for (uint64_t turns = 5; turns <= 15; turns += 5) {
        sonde__report_add_stall(run.report,
                                &(struct sonde__report_stall){.begin_ns = turns,
                                                              .duration_ns = 300 * MS,
                                                              .tid = 1,
                                                              .process = 1,
                                                              .loop_turns = turns % 15});
    }
    CHECK_OK(sonde__report_writer_flush(run.writer, run.report));
    run_kill(&run);
    (void)finish();
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    struct sonde__report *report = runs_read(name);
    CHECK_EQ(sonde__report_end(report)->turn_count, 10);
    CHECK_EQ(sonde__report_end(report)->watched_ns, 15 + 300 * MS);
    sonde__report_destroy(report);
}

/* Only the watch was killed: the end of the stall is unknown. */
TEST(finish_of_a_program_that_runs_is_not_fatal)
{
    struct run run;
    char name[SONDE__SPOOL_NAME];
    uint64_t start = sonde__host_process_start(getpid());
    CHECK(start != 0);
    run_begin(&run, getpid());
    struct sonde__report *live = run.live;
    sonde__report_destroy(live);
    CHECK_OK(sonde__report_create(&run.live));
    sonde__report_set_header(run.live, sonde__report_header(run.report));
    (void)sonde__report_add_process(
        run.live, &(struct sonde__report_process){.pid = getpid(), .start_ticks = start});
    sonde__report_writer_destroy(run.live_writer);
    sonde__spool_stream_reset(&run.session.live);
    CHECK_OK(sonde__report_writer_create(NULL, sonde__spool_stream_write, &run.session.live,
                                         &run.live_writer));
    run_add_part(&run, 500, 1, true);
    run_kill(&run);
    CHECK_EQ(finish().recovered, 1);
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    struct sonde__report *report = runs_read(name);
    CHECK(!sonde__report_stall(report, 0)->fatal && sonde__report_stall(report, 0)->open);
    sonde__report_destroy(report);
}

/* The stall had ended, but its report was not written yet. */
TEST(finish_of_a_stall_that_was_over_is_not_fatal)
{
    struct run run;
    char name[SONDE__SPOOL_NAME];
    run_begin(&run, NOBODY);
    run_add_part(&run, 500, 1, true);
    run_add_part(&run, 500, 2, false);
    run_kill(&run);
    CHECK_EQ(finish().recovered, 1);
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    struct sonde__report *report = runs_read(name);
    CHECK(!sonde__report_stall(report, 0)->fatal && !sonde__report_stall(report, 0)->open);
    sonde__report_destroy(report);
}

/* The stall is in both files; the report has its names. */
TEST(finish_counts_no_stall_twice)
{
    struct run run;
    char name[SONDE__SPOOL_NAME];
    run_begin(&run, NOBODY);
    run_add_stall(&run, 500, "1:aa");
    run_add_part(&run, 500, 1, true);
    run_kill(&run);
    struct told told = finish();
    CHECK_EQ(told.finished, 1);
    CHECK_EQ(told.recovered, 0);
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    struct sonde__report *report = runs_read(name);
    CHECK_EQ(sonde__report_stall_count(report), 1);
    CHECK_STR(sonde__report_text(report, sonde__report_stall(report, 0)->fingerprint), "1:aa");
    CHECK_EQ(sonde__report_end(report)->stall_count, 1);
    sonde__report_destroy(report);
}

TEST(finish_leaves_runs_with_a_writer_alone)
{
    struct run run, other;
    run_begin(&run, NOBODY);
    run_begin(&other, NOBODY); /* usually in the same second, with the same pid */
    CHECK(strcmp(run.session.run, other.session.run) != 0);
    run_add_part(&run, 500, 1, true);
    CHECK_EQ(finish().finished, 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 2);
    run_add_part(&run, 500, 2, true);
    run_kill(&other); /* it has no stall: finish removes all of it */
    CHECK_EQ(finish().finished, 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 1);
    CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 1);
    run_end(&run);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_REPORT), 1);
}

static void write_in_folder(const char *name, const void *bytes, size_t size)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", runs_folder(), name);
    test_write_file(path, bytes, size);
}

static char *read_in_folder(const char *run, const char *suffix, size_t *ret_size)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s%s", runs_folder(), run, suffix);
    return test_read_file(path, ret_size);
}

/* Cut both files at every byte: nothing fails, and no whole stall is lost. */
TEST_TIMEOUT(finish_of_files_cut_at_every_byte, 120)
{
    struct run run;
    char report_name[SONDE__SPOOL_NAME], live_name[SONDE__SPOOL_NAME];
    size_t report_size, live_size;
    run_begin(&run, NOBODY);
    run_add_stall(&run, 100, "1:aa");
    for (uint32_t i = 0; i < 3; i++) {
        run_add_part(&run, 500, i, true);
    }
    run_kill(&run);
    char *report_bytes = read_in_folder(run.session.run, SONDE__SPOOL_REPORT, &report_size);
    char *live_bytes = read_in_folder(run.session.run, SONDE__SPOOL_LIVE, &live_size);
    while (live_bytes[live_size - 1] == 0) {
        live_size--;
    }
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, report_name);
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_LIVE, live_name);
    CHECK_EQ(finish().finished, 1);
    for (size_t cut = 0; cut <= report_size + live_size; cut++) {
        size_t size = cut < report_size ? cut : report_size;
        size_t live = cut < report_size ? live_size : cut - report_size;
        write_in_folder(report_name, report_bytes, size);
        write_in_folder(live_name, live_bytes, live);
        struct told told = finish();
        CHECK_EQ(told.failed, 0);
        CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 0);
        if (size == report_size) { /* the report's whole stall is kept in any case */
            CHECK_EQ(told.finished, 1);
            struct sonde__report *report = runs_read(report_name);
            CHECK_EQ(sonde__report_stall_count(report), 1 + told.recovered);
            sonde__report_destroy(report);
        } else {
            CHECK_EQ(told.recovered, 1);
        }
    }
    free(report_bytes);
    free(live_bytes);
}

/* Files and links of others are not followed, read or removed. */
TEST(finish_leaves_what_is_not_ours)
{
    char path[700], target[600], text[16];
    size_t size;
    close(runs_open_folder());
    snprintf(target, sizeof target, "%s/target", test_folder());
    test_write_file(target, "keep me", 7);
    snprintf(path, sizeof path, "%s/20261123T164012Z-1.live", runs_folder());
    CHECK_EQ(symlink(target, path), 0);
    snprintf(path, sizeof path, "%s/20261123T164012Z-2.live", runs_folder());
    CHECK_EQ(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/20261123T164012Z-3.live", runs_folder());
    CHECK_EQ(link(target, path), 0);
    snprintf(path, sizeof path, "%s/20261123T164012Z-4.live", runs_folder());
    CHECK_EQ(mkdir(path, 0700), 0);
    write_in_folder("notes.live", "x", 1);
    CHECK_EQ(finish().finished, 0);
    CHECK_EQ(runs_count(SONDE__SPOOL_LIVE), 5);
    char *bytes = test_read_file(target, &size);
    snprintf(text, sizeof text, "%s", bytes);
    CHECK_STR(text, "keep me");
    free(bytes);
}
