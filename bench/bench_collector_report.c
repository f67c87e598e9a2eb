// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_collector.h"
#include "report_fingerprint.h"
#include "report_write.h"

enum { DEPTH = 16, STACKS = 8 };

struct bytes {
    char *at;
    size_t size;
};

static enum sonde_status append(void *ctx, const void *bytes, size_t size)
{
    struct bytes *to = ctx;
    char *room = realloc(to->at, to->size + size);
    if (room == NULL) {
        return SONDE_MEMORY;
    }
    memcpy(room + to->size, bytes, size);
    to->at = room;
    to->size += size;
    return SONDE_OK;
}

/* Of the app. */
static void take_name(struct sonde__report_frame *frame, const struct bench_stripped *program)
{
    if (program != NULL) {
        frame->offset = program->start + frame->offset * 2654435761u % program->size;
        frame->name = 0;
        frame->name_offset = 0;
        frame->name_source = SONDE__REPORT_NAME_NONE;
    }
}

/* A stack of DEPTH frames: main, functions of the cause, and a call of the C library. */
static uint32_t add_stack(struct sonde__report *report, const uint32_t images[2], unsigned cause,
                          unsigned stack, const struct bench_stripped *program)
{
    char name[64];
    uint32_t node = 0;
    for (unsigned i = 0; i < DEPTH; i++) {
        bool is_library = i + 2 >= DEPTH;
        unsigned of = i < 2 ? 0 : i < 6 ? cause + 1 : cause * STACKS + stack + 1000;
        snprintf(name, sizeof name, is_library ? "library_call_%u" : "app_function_%u_%u",
                 is_library ? i : of, i);
        struct sonde__report_frame frame = {.image = images[is_library],
                                            .offset = 0x1000u * (of + 1) + 64 * i,
                                            .name = sonde__report_string(report, name),
                                            .name_offset = 20,
                                            .name_source = SONDE__REPORT_NAME_SYMTAB,
                                            .how = i + 1 < DEPTH ? SONDE_FOUND_CFI
                                                                 : SONDE_FOUND_REGISTERS};
        take_name(&frame, is_library ? NULL : program);
        node = sonde__report_add_node(report, node, sonde__report_add_frame(report, &frame));
    }
    return node;
}

static void *make(unsigned cause, unsigned device, const struct bench_stripped *program,
                  size_t *ret_size)
{
    char id[32];
    struct sonde__report *report;
    struct sonde__report_writer *writer;
    struct bytes bytes = {0};
    struct sonde__report_sample samples[STACKS];
    if (sonde__report_create(&report) != SONDE_OK) {
        abort();
    }
    snprintf(id, sizeof id, "device-%010u", device);
    const struct sonde__report_header header = {.kind = SONDE__REPORT_WATCH,
                                                .tool = "sonde bench",
                                                .executable = "/opt/app/bin/app",
                                                .os = "Linux 6.1 x86_64",
                                                .arch = "x86_64",
                                                .source = "run",
                                                .time_unix_ns = 1760000000000000000u + device,
                                                .pid = 4711,
                                                .threshold_ns = 250000000,
                                                .build = "1.2.3",
                                                .device = {.id = id}};
    sonde__report_set_header(report, &header);
    uint32_t images[2];
    static const char *const paths[] = {"/opt/app/bin/app", "/usr/lib/x86_64-linux-gnu/libc.so.6"};
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__report_image image = {.path = sonde__report_string(report, paths[i]),
                                            .flags = i == 0 ? SONDE__REPORT_IMAGE_APP
                                                            : SONDE__REPORT_IMAGE_SYSTEM};
        if (i == 0 && program != NULL) {
            image.build_id = program->id;
        }
        images[i] = sonde__report_add_image(report, &image);
    }
    for (unsigned i = 0; i < STACKS; i++) {
        samples[i] =
            (struct sonde__report_sample){.time_ns = 100000000u * i,
                                          .weight_ns = 100000000u,
                                          .stack = add_stack(report, images, cause, i, program),
                                          .phase = SONDE__REPORT_PHASE_BLOCKED,
                                          .syscall = 75}; /* fsync(2) on x86-64, plus 1 */
    }
    const struct sonde__report_stall stall = {.begin_ns = 1000000000u,
                                              .duration_ns = 400000000u,
                                              .tid = 4711,
                                              .main = true,
                                              .thread_name = sonde__report_string(report, "app"),
                                              .samples = samples,
                                              .sample_count = STACKS};
    sonde__report_add_stall(report, &stall);
    sonde__report_set_end(report, &(struct sonde__report_end){.stall_count = 1});
    if (sonde__report_writer_create(NULL, append, &bytes, &writer) != SONDE_OK ||
        sonde__report_writer_finish(writer, report) != SONDE_OK) {
        abort();
    }
    sonde__report_writer_destroy(writer);
    sonde__report_destroy(report);
    *ret_size = bytes.size;
    return bytes.at;
}

void *bench_report(unsigned cause, unsigned device, size_t *ret_size)
{
    return make(cause, device, NULL, ret_size);
}

void *bench_report_stripped(unsigned cause, const struct bench_stripped *program, size_t *ret_size)
{
    return make(cause, 0, program, ret_size);
}
