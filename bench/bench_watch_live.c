// SPDX-License-Identifier: Apache-2.0
/* Appends to a mapped live file while a stall lasts: its new duration, or one more sample. Each is
 * a whole record with its checksum, which survives the death of its writer as soon as it is there.
 * A file that is full is emptied; that is part of the cost. */
#include "bench_watch_live.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "report_model.h"
#include "report_write.h"
#include "spool_stream.h"

enum { ROOM_BYTES = 4096 };

static struct sonde__spool_stream stream;
static struct sonde__report *report;
static struct sonde__report_writer *writer;
static bool has_failed;
static uint64_t lasted_ns;

static void append(uint32_t samples)
{
    const struct sonde__report_sample sample = {
        .time_ns = lasted_ns, .weight_ns = 10000000, .end = 1, .captured_by = 1, .syscall = 231};
    lasted_ns += 10000000;
    const struct sonde__report_stall part = {.begin_ns = 1000000000,
                                             .duration_ns = lasted_ns,
                                             .cpu_ns = lasted_ns / 2,
                                             .tid = 4711,
                                             .process = 1,
                                             .open = true,
                                             .samples = &sample,
                                             .sample_count = samples};
    if (sonde__spool_stream_left(&stream) < ROOM_BYTES) {
        sonde__spool_stream_reset(&stream);
    }
    has_failed = sonde__report_writer_growing(writer, report, &part) != SONDE_OK || has_failed;
}

static void append_duration(void *ctx)
{
    (void)ctx;
    append(0);
}

static void append_sample(void *ctx)
{
    (void)ctx;
    append(1);
}

static void measure(void)
{
    const struct bench_method methods[] = {{"duration", append_duration, NULL},
                                           {"sample", append_sample, NULL}};
    double ns[2];
    bench_compare(methods, 2, ns);
    if (has_failed) {
        bench_note("spool.live_append.ns: an append has failed");
        return;
    }
    bench_print(ns[0], "ns", "spool.live_append.ns");
    bench_print(ns[1], "ns", "spool.live_append.sample.ns");
}

void bench_watch_live(void)
{
    char path[] = "/tmp/sonde-bench-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || sonde__spool_stream_open(&stream, fd) != 0 ||
        sonde__report_create(&report) != SONDE_OK ||
        sonde__report_writer_create(NULL, sonde__spool_stream_write, &stream, &writer) !=
            SONDE_OK) {
        bench_note("spool.live_append.ns: no live file");
        return;
    }
    sonde__report_set_header(report, &(struct sonde__report_header){.tool = "bench"});
    const struct sonde__report_process process = {.pid = 4711};
    (void)sonde__report_add_process(report, &process);
    measure();
    sonde__report_writer_destroy(writer);
    sonde__report_destroy(report);
    sonde__spool_stream_close(&stream);
    (void)unlink(path);
    close(fd);
}
