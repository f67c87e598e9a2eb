// SPDX-License-Identifier: Apache-2.0
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_folder.h"
#include "host_run.h"
#include "spool_finish.h"
#include "test.h"

/* What libc keeps for good would look like a leak. */
static __attribute__((constructor)) void settle_libc(void)
{
    static char state[] = "XDG_STATE_HOME=", home[] = "HOME=";
    tzset();
    putenv(state);
    putenv(home);
}

const char *runs_folder(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/spool", test_folder());
    return path;
}

static struct sonde__report *make_report(int32_t pid)
{
    struct sonde__report *report;
    CHECK_OK(sonde__report_create(&report));
    sonde__report_set_header(
        report, &(struct sonde__report_header){.kind = SONDE__REPORT_WATCH,
                                               .tool = "test",
                                               .executable = "/opt/app/server",
                                               .os = "",
                                               .arch = "x86_64",
                                               .source = "run",
                                               .pid = pid,
                                               .time_unix_ns = 1700000000000000000u + (uint64_t)pid,
                                               .report_id = pid % 2 != 0 ? "1" : "2",
                                               .threshold_ns = 250 * MS});
    (void)sonde__report_add_process(
        report, &(struct sonde__report_process){
                    .pid = pid, .executable = sonde__report_string(report, "/opt/app/server")});
    return report;
}

enum sonde_status runs_write(void *ctx, const void *bytes, size_t size)
{
    return sonde__host_write_all(*(const int32_t *)ctx, bytes, size) ? SONDE_OK : SONDE_OS;
}

void run_begin(struct run *run, int32_t pid)
{
    CHECK_OK(sonde__spool_begin(runs_folder(), pid, true, &run->session, NULL));
    CHECK(run->session.live_fd >= 0);
    run->report = make_report(pid);
    run->live = make_report(pid);
    CHECK_OK(sonde__report_writer_create(NULL, runs_write, &run->session.report_fd, &run->writer));
    CHECK_OK(sonde__report_writer_create(NULL, sonde__spool_stream_write, &run->session.live,
                                         &run->live_writer));
    CHECK_OK(sonde__report_writer_flush(run->writer, run->report));
    CHECK_OK(sonde__report_writer_flush(run->live_writer, run->live));
}

void run_add_stall(struct run *run, uint64_t begin_ns, const char *fingerprint)
{
    sonde__report_add_stall(run->report,
                            &(struct sonde__report_stall){
                                .begin_ns = begin_ns,
                                .duration_ns = 300 * MS,
                                .tid = 1,
                                .process = 1,
                                .fingerprint = sonde__report_string(run->report, fingerprint)});
    CHECK_OK(sonde__report_writer_flush(run->writer, run->report));
}

void run_add_part(struct run *run, uint64_t begin_ns, uint32_t number, bool open)
{
    struct sonde__report *live = run->live;
    uint32_t image = sonde__report_add_image(
        live, &(struct sonde__report_image){.path = sonde__report_string(live, "/opt/app/server")});
    uint32_t frame = sonde__report_add_frame(
        live, &(struct sonde__report_frame){.image = image, .offset = 0x1000 + number});
    const struct sonde__report_sample sample = {
        .time_ns = (uint64_t)number * 10 * MS,
        .weight_ns = 10 * MS,
        .stack = sonde__report_add_node(live, 0, frame),
    };
    const struct sonde__report_stall part = {.begin_ns = begin_ns,
                                             .duration_ns = (uint64_t)(number + 1) * 10 * MS,
                                             .tid = 1,
                                             .process = 1,
                                             .open = open,
                                             .samples = &sample,
                                             .sample_count = 1};
    CHECK_OK(sonde__report_writer_growing(run->live_writer, live, &part));
}

static void drop(struct run *run)
{
    sonde__report_writer_destroy(run->writer);
    sonde__report_writer_destroy(run->live_writer);
    sonde__report_destroy(run->report);
    sonde__report_destroy(run->live);
}

void run_end(struct run *run)
{
    uint32_t stalls = sonde__report_stall_count(run->report);
    sonde__report_set_end(run->report, &(struct sonde__report_end){.stall_count = stalls,
                                                                   .turn_count = 10,
                                                                   .watched_ns = 1000 * MS});
    CHECK_OK(sonde__report_writer_finish(run->writer, run->report));
    sonde__spool_end(&run->session, true, false);
    drop(run);
}

void run_kill(struct run *run)
{
    sonde__spool_stream_close(&run->session.live);
    sonde__host_close(run->session.live_fd);
    sonde__host_close(run->session.report_fd);
    sonde__host_close(run->session.folder);
    drop(run);
}

int32_t runs_open_folder(void)
{
    int32_t folder;
    CHECK_OK(sonde__host_folder_open(runs_folder(), true, &folder, NULL));
    return folder;
}

struct search {
    const char *suffix;
    unsigned count;
};

static int count_name(void *ctx, const char *name)
{
    struct search *search = ctx;
    size_t length = strlen(name), end = strlen(search->suffix);
    search->count += length >= end && strcmp(name + length - end, search->suffix) == 0;
    return 0;
}

unsigned runs_count(const char *suffix)
{
    struct search search = {.suffix = suffix};
    int32_t folder = runs_open_folder();
    CHECK_EQ(sonde__host_folder_each(folder, count_name, &search), 0);
    sonde__host_close(folder);
    return search.count;
}

struct sonde__report *runs_read(const char *name)
{
    struct sonde__report *report;
    int32_t folder = runs_open_folder(), fd;
    CHECK_EQ(sonde__host_folder_look(folder, name, &fd), 0);
    CHECK_OK(sonde__spool_read(fd, &report, NULL, NULL));
    sonde__host_close(fd);
    sonde__host_close(folder);
    return report;
}
