// SPDX-License-Identifier: Apache-2.0
#include "report_write.h"
#include "sample.h"
#include "test.h"

#define MS 1000000u

static void write_part(struct sonde__report_writer *writer, const struct sonde__report *r,
                       const struct sonde__report_stall *part)
{
    CHECK_OK(sonde__report_writer_growing(writer, r, part));
}

/* The stall of the main thread: samples at 10, 20, 30 and 40 ms; the last one goes on. */
static void write_main(struct sonde__report_writer *writer, struct sonde__report *r)
{
    uint32_t image = sonde__report_add_image(
        r, &(struct sonde__report_image){.path = sonde__report_string(r, "/opt/app/server")});
    uint32_t outer = sample_push(r, 0, image, "main", 0x1000, SONDE_FOUND_CFI);
    struct sonde__report_sample samples[] = {
        {.time_ns = 10 * MS,
         .weight_ns = 10 * MS,
         .stack = outer,
         .qos = 1,
         .queue = sonde__report_string(r, "main queue")},
        {.time_ns = 20 * MS, .weight_ns = 10 * MS, .stack = outer},
    };
    const struct sonde__report_uncovered uncovered = {.duration_ns = 10 * MS, .reason = 1};
    const struct sonde__report_thread thread = {.tid = 12, .state = 'S'};
    const struct sonde__report_wait wait = {.tid = 11, .owner_tid = 12};
    struct sonde__report_stall part = {.begin_ns = 5, .tid = 11, .open = true};
    part.duration_ns = 30 * MS;
    part.main = true;
    part.loop = SONDE__REPORT_LOOP_EPOLL;
    part.samples = samples;
    part.sample_count = 2;
    part.uncovered = &uncovered;
    part.uncovered_count = 1;
    part.threads = &thread;
    part.thread_count = 1;
    part.waits = &wait;
    part.wait_count = 1;
    write_part(writer, r, &part);

    samples[0] = (struct sonde__report_sample){30 * MS, 10 * MS};
    samples[0].stack = sample_push(r, outer, image, "save", 0x2000, SONDE_HOW_EXACT);
    part = (struct sonde__report_stall){.begin_ns = 5, .tid = 11, .open = true};
    part.duration_ns = 40 * MS;
    part.samples = samples;
    part.sample_count = 1;
    write_part(writer, r, &part);

    samples[1] = (struct sonde__report_sample){40 * MS, 10 * MS};
    samples[1].stack = samples[0].stack;
    samples[0].weight_ns = 10 * MS;
    part.duration_ns = 50 * MS;
    part.sample_count = 2;
    write_part(writer, r, &part);

    samples[1].weight_ns = 460 * MS;
    part.duration_ns = 500 * MS;
    part.cpu_ns = 7;
    part.doubts = SONDE__REPORT_DOUBT_MEMORY;
    part.samples = samples + 1;
    part.sample_count = 1;
    write_part(writer, r, &part);
}

void sample_live(struct sample_bytes *file)
{
    struct sonde__report *r;
    struct sonde__report_writer *writer;
    CHECK_OK(sonde__report_create(&r));
    sonde__report_set_header(r, &(struct sonde__report_header){.kind = SONDE__REPORT_WATCH,
                                                               .tool = "test",
                                                               .executable = "/opt/app/server",
                                                               .pid = 11,
                                                               .report_id = "12"});
    (void)sonde__report_add_process(
        r, &(struct sonde__report_process){.pid = 11, .boot = 0xb007, .program = 0xf11e});
    CHECK_OK(sonde__report_writer_create(NULL, sample_write, file, &writer));
    CHECK_OK(sonde__report_writer_flush(writer, r));
    write_part(writer, r,
               &(struct sonde__report_stall){
                   .begin_ns = 6, .tid = 13, .duration_ns = 300 * MS, .open = true});
    write_main(writer, r);
    write_part(writer, r,
               &(struct sonde__report_stall){
                   .begin_ns = 7, .tid = 14, .duration_ns = 300 * MS, .open = true});
    write_part(writer, r,
               &(struct sonde__report_stall){.begin_ns = 6, .tid = 13, .duration_ns = 310 * MS});
    write_part(writer, r, &(struct sonde__report_stall){.begin_ns = 7, .tid = 14, .open = true});
    sonde__report_writer_destroy(writer);
    sonde__report_destroy(r);
}
