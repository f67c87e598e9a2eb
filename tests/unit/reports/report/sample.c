// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/arch.h>

#include "report_read.h"
#include "report_write.h"
#include "test.h"

static void append(struct sample_bytes *b, const void *bytes, size_t size)
{
    if (b->size + size + 1 > b->capacity) {
        b->capacity = (b->size + size + 1) * 2;
        b->data = realloc(b->data, b->capacity);
        CHECK(b->data != NULL);
    }
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
    b->data[b->size] = '\0';
}

enum sonde_status sample_write(void *ctx, const void *bytes, size_t size)
{
    struct sample_bytes *b = ctx;
    if (b->writes + 1 == b->fail_at) {
        return SONDE_OS;
    }
    append(b, bytes, size);
    CHECK(b->writes < 64);
    b->ends[b->writes++] = b->size;
    return SONDE_OK;
}

static bool write_text(void *ctx, const char *bytes, size_t size)
{
    append(ctx, bytes, size);
    return true;
}

struct sonde__report_sink sample_sink(struct sample_bytes *bytes)
{
    return (struct sonde__report_sink){write_text, bytes};
}

static bool stop_at_once(void *ctx, const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    ++*(int *)ctx;
    return false;
}

struct sonde__report_sink sample_stop_sink(int *calls)
{
    return (struct sonde__report_sink){stop_at_once, calls};
}

void sample_bytes_done(struct sample_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct sample_bytes){0};
}

uint32_t sample_push(struct sonde__report *r, uint32_t parent, uint32_t image, const char *name,
                     uint64_t offset, uint32_t how)
{
    struct sonde__report_frame frame = {.image = image, .offset = offset, .how = how};
    frame.name = sonde__report_string(r, name);
    frame.name_source = frame.name != 0 ? SONDE__REPORT_NAME_DYNSYM : 0;
    frame.name_offset = frame.name != 0 ? offset & 0xff : 0;
    return sonde__report_add_node(r, parent, sonde__report_add_frame(r, &frame));
}

static uint32_t image(struct sonde__report *r, const char *path, uint8_t id, uint32_t flags)
{
    struct sonde__report_image value = {.path = sonde__report_string(r, path),
                                        .build_id = {4, {id, 0xbe, 0xef, 0}},
                                        .flags = flags,
                                        .arch = SONDE_ARCH_X86_64};
    return sonde__report_add_image(r, &value);
}

static struct sonde__report *create(uint32_t kind)
{
    struct sonde__report *r = NULL;
    const struct sonde__report_header header = {
        .kind = kind,
        .tool = "sonde 0.1.0",
        .executable = "/usr/bin/python3.11",
        .os = "Linux 6.1.0",
        .arch = "x86_64",
        .source = kind == SONDE__REPORT_STACKS ? "process" : "run",
        .time_unix_ns = 1700000000123456789u,
        .pid = 4711,
        .threshold_ns = kind == SONDE__REPORT_STACKS ? 0 : 250000000,
    };
    CHECK_OK(sonde__report_create(&r));
    sonde__report_set_header(r, &header);
    return r;
}

enum { CFI = SONDE_FOUND_CFI, LEAF = SONDE_HOW_EXACT };

static uint32_t start_of_process(struct sonde__report *r, uint32_t python, uint32_t libc)
{
    uint32_t node = sample_push(r, 0, python, "_start", 0x21a0a1, CFI);
    node = sample_push(r, node, libc, "__libc_start_main", 0x27305, CFI);
    return sample_push(r, node, libc, "", 0x2724a, CFI);
}

/* run_loop, into which two calls are inlined, was called by `start`, which jumped to `enter`, which
 * jumped to it. */
static uint32_t push_with_calls(struct sonde__report *r, uint32_t parent, uint32_t image)
{
    const struct sonde__report_inlined inlined[] = {
        {sonde__report_string(r, "list_is_empty"), sonde__report_string(r, "/src/list.h"), 17},
        {sonde__report_string(r, "loop_next"), 0, 0},
    };
    const struct sonde__report_frame enter = {.image = image,
                                              .offset = 0x1400,
                                              .name = sonde__report_string(r, "enter"),
                                              .name_source = SONDE__REPORT_NAME_SYMTAB,
                                              .kind = SONDE__REPORT_FRAME_TAIL_CALL};
    const struct sonde__report_frame ways = {
        .kind = SONDE__REPORT_FRAME_TAIL_CALL, .image = image, .alternatives = 3};
    const struct sonde__report_frame frame = {.image = image,
                                              .offset = 0x12345,
                                              .how = CFI,
                                              .name = sonde__report_string(r, "run_loop"),
                                              .name_offset = 0x45,
                                              .name_source = SONDE__REPORT_NAME_SYMTAB,
                                              .file = sonde__report_string(r, "/src/loop.c"),
                                              .line = 120,
                                              .inlined = inlined,
                                              .inlined_count = 2};
    const uint32_t tail_calls[] = {sonde__report_add_frame(r, &enter),
                                   sonde__report_add_frame(r, &ways)};
    return sonde__report_add_node_after(r, parent, sonde__report_add_frame(r, &frame), tail_calls,
                                        2);
}

struct sonde__report *sample_stacks(void)
{
    struct sonde__report *r = create(SONDE__REPORT_STACKS);
    uint32_t python = image(r, "/usr/bin/python3.11", 1, SONDE__IMAGE_MAIN);
    uint32_t libc = image(r, "/usr/lib/x86_64-linux-gnu/libc.so.6", 2, 0);
    uint32_t plugin = image(r, "/opt/app/plugin.so", 3, SONDE__IMAGE_DELETED);
    struct sonde__report_frame gap = {.lost_count = 12345};

    uint32_t node = start_of_process(r, python, libc);
    node = push_with_calls(r, node, python);
    node = sample_push(r, node, python, "", 0x1d64b4, CFI);
    node = sonde__report_add_node(r, node, sonde__report_add_frame(r, &gap));
    node = sample_push(r, node, plugin, "plugin::Widget<int>::poll(\xff)", 0x1122, SONDE_FOUND_FP);
    node = sample_push(r, node, libc, "__restore_rt", 0x3c050, CFI | SONDE_HOW_SIGNAL);
    node = sample_push(r, node, 0, "", 0x7fffeeee0123, SONDE_FOUND_INFERRED);
    node = sample_push(r, node, libc, "epoll_wait", 0x108d56, LEAF);
    sonde__report_add_thread(r, &(struct sonde__report_thread){
                                    .tid = 4711,
                                    .name = sonde__report_string(r, "python3"),
                                    .state = 'S',
                                    .main = true,
                                    .stack = node,
                                    .captured_by = 1,
                                    .syscall = 232 + 1,
                                    .frame_count = 9,
                                });
    uint32_t entry = sample_push(r, 0, libc, "clone", 0x1085bb, CFI);
    uint32_t worker = sample_push(r, entry, libc, "pthread_cond_wait", 0x89a57, LEAF);
    for (int i = 0; i < 3; i++) {
        sonde__report_add_thread(r, &(struct sonde__report_thread){
                                        .tid = 4712 + i,
                                        .name = sonde__report_string(r, "worker"),
                                        .state = 'S',
                                        .stack = worker,
                                        .captured_by = 1,
                                        .syscall = 202 + 1,
                                        .frame_count = 2,
                                    });
    }
    sonde__report_add_thread(
        r, &(struct sonde__report_thread){
               .tid = 4720,
               .name = sonde__report_string(r, "evil\x1b[31m\n"),
               .state = 'R',
               .end = SONDE_END_NOT_READ,
               .note = sonde__report_string(r, "it runs, and \"perf\" events are\\refused"),
           });
    sonde__report_add_thread(r, &(struct sonde__report_thread){
                                    .tid = 4721,
                                    .name = sonde__report_string(r, "odd"),
                                    .state = 'D',
                                    .stack = entry,
                                    .end = SONDE_END_NO_RULE,
                                    .end_at = 0x7f0012345678,
                                    .syscall = 9999 + 1,
                                    .frame_count = 1,
                                });
    sonde__report_add_note(r, "1 of 6 threads could not be read");
    return r;
}

static void add_samples(struct sonde__report *r, struct sonde__report_sample *samples,
                        uint32_t callback, uint32_t libc, uint32_t sqlite)
{
    uint32_t work = sample_push(r, callback, sqlite, "sqlite3_step", 0x7b210, CFI);
    uint32_t sync = sample_push(r, work, sqlite, "", 0x3d2c8, CFI);
    sync = sample_push(r, sync, libc, "fsync", 0x10e6ba, LEAF);
    uint32_t parse = sample_push(r, callback, sqlite, "sqlite3_prepare_v2", 0x6a019, LEAF);
    uint32_t file = sonde__report_string(r, "fd 7 /data/app.db");
    for (uint32_t i = 0; i < 10; i++) {
        bool busy = i < 2 || i == 6;
        samples[i] = (struct sonde__report_sample){
            .time_ns = (uint64_t)i * 100000000,
            .weight_ns = i == 6 ? 5000000 : 100000000,
            .stack = busy ? parse : sync,
            .phase = busy ? SONDE__REPORT_PHASE_RUNNING : SONDE__REPORT_PHASE_DISK,
            .captured_by = busy ? 2 : 1,
            .syscall = busy ? 0 : 74 + 1,
            .detail = busy ? 0 : file,
        };
    }
}

void sample_add_stall(struct sonde__report *r)
{
    struct sonde__report_sample samples[10];
    uint32_t python = image(r, "/usr/bin/python3.11", 1, SONDE__IMAGE_MAIN);
    uint32_t libc = image(r, "/usr/lib/x86_64-linux-gnu/libc.so.6", 2, 0);
    uint32_t sqlite = image(r, "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", 4, 0);
    uint32_t node = start_of_process(r, python, libc);
    node = sample_push(r, node, python, "Py_BytesMain", 0x2130ed, CFI);
    node = sample_push(r, node, python, "", 0x1d64b4, CFI);
    add_samples(r, samples, node, libc, sqlite);
    uint32_t entry = sample_push(r, 0, libc, "clone", 0x1085bb, CFI);
    const struct sonde__report_thread other = {
        .tid = 4712,
        .name = sonde__report_string(r, "helper"),
        .state = 'S',
        .stack = sample_push(r, entry, libc, "read", 0x10117d, LEAF),
        .captured_by = 1,
        .syscall = 1,
        .frame_count = 2,
        .detail = sonde__report_string(r, "fd 5 pipe:[1234]"),
    };
    sonde__report_add_stall(
        r, &(struct sonde__report_stall){
               .begin_ns = 1500000000,
               .duration_ns = 905000000,
               .tid = 4711,
               .main = true,
               .thread_name = sonde__report_string(r, "python3"),
               .loop = SONDE__REPORT_LOOP_EPOLL,
               .loop_detail = sonde__report_string(r, "epoll fd 3, learned from 3 turns"),
               .loop_turns = 42,
               .samples = samples,
               .sample_count = 10,
               .threads = &other,
               .thread_count = 1,
               .cpu_ns = 201000000,
               .runqueue_ns = 4000000,
               .overhead_ns = 900000,
               .sampler = SONDE__REPORT_SAMPLER_PERF,
           });
}

struct sonde__report *sample_watch(void)
{
    struct sonde__report *r = create(SONDE__REPORT_WATCH);
    sample_add_stall(r);
    sonde__report_set_end(r, &(struct sonde__report_end){
                                 .stall_count = 1, .turn_count = 77, .watched_ns = 9500000000});
    return r;
}

char *sample_text(const struct sonde__report *r, const struct sonde__report_view *view)
{
    struct sample_bytes bytes = {0};
    sonde__report_text_view(r, view, sample_sink(&bytes));
    return bytes.data;
}

void sample_file(const struct sonde__report *r, bool no_names, struct sample_bytes *ret_bytes)
{
    struct sonde__report_writer *writer = NULL;
    const struct sonde__report_writer_options options = {.no_names = no_names};
    *ret_bytes = (struct sample_bytes){0};
    CHECK_OK(sonde__report_writer_create(&options, sample_write, ret_bytes, &writer));
    CHECK_OK(sonde__report_writer_finish(writer, r));
    sonde__report_writer_destroy(writer);
}

char *sample_json(const struct sonde__report *r, const struct sonde__report_view *view)
{
    struct sample_bytes bytes = {0};
    sonde__report_json_view(r, view, sample_sink(&bytes));
    return bytes.data;
}

struct sonde__report *sample_heap_blocks(void)
{
    static const struct sonde__report_header header = {
        .kind = SONDE__REPORT_HEAP_BLOCKS,
        .tool = "sonde 0.1.0",
        .time_unix_ns = 1700000000123456789u,
        .executable = "/usr/bin/server",
        .os = "Linux 6.1.0",
        .arch = "x86_64",
        .source = "run",
    };
    struct sonde__report *r;
    CHECK_OK(sonde__report_create(&r));
    sonde__report_set_header(r, &header);
    uint32_t root = sample_push(r, 0, 0, "main", 0x10, SONDE_FOUND_CFI);
    uint32_t one = sample_push(r, root, 0, "subscribe", 0x20, SONDE_FOUND_CFI);
    uint32_t two = sample_push(r, root, 0, "publish", 0x30, SONDE_FOUND_CFI);
    uint32_t block = sample_push(r, 0, 0, "__subscribe_block_invoke", 0x40, SONDE_HOW_EXACT);
    const struct sonde__report_heap_blocks blocks[] = {
        {1000000000, one, block, 2, 80, 2, 80, 100000000, 900000000, 4711},
        {1000000000, two, 0, 1, 48, 1, 48, 500000000, 500000000, 0},
        {3000000000, one, block, 5, 200, 3, 120, 100000000, 2900000000, 0},
        {3000000000, two, 0, 0, 0, -1, -48, 0, 0, 0},
        {3000000000, 0, block, 1, 40, 1, 40, 2000000000, 2000000000, 4712},
    };
    for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        sonde__report_add_heap_blocks(r, &blocks[i]);
    }
    return r;
}

struct sonde__report *sample_read_back(const struct sample_bytes *file,
                                       struct sonde__report_loss *ret_loss)
{
    struct sonde__report *r = NULL;
    struct sonde_error error = {0};
    /* a copy of its own, so that a sanitizer sees each byte past the end */
    void *copy = malloc(file->size);
    memcpy(copy, file->data, file->size);
    CHECK_OK(sonde__report_read(copy, file->size, &r, ret_loss, &error));
    free(copy);
    return r;
}

struct sonde__report *sample_write_in_steps(struct sample_bytes *file)
{
    struct sonde__report_writer *writer = NULL;
    struct sonde__report *r = sample_stacks();
    CHECK_OK(sonde__report_writer_create(NULL, sample_write, file, &writer));
    CHECK_OK(sonde__report_writer_flush(writer, r));
    CHECK_OK(sonde__report_writer_flush(writer, r)); /* nothing is new */
    sample_add_stall(r);
    CHECK_OK(sonde__report_writer_flush(writer, r));
    sonde__report_add_note(r, "a late note");
    CHECK_OK(sonde__report_writer_flush(writer, r));
    sample_add_stall(r);
    CHECK_OK(sonde__report_writer_finish(writer, r));
    sonde__report_writer_destroy(writer);
    CHECK_EQ(file->writes, 4);
    return r;
}
