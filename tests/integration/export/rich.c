// SPDX-License-Identifier: Apache-2.0
#include "rich.h"

#include <string.h>

#include <sonde/arch.h>

#include "sample.h"
#include "test.h"

static struct sonde__report *create(uint32_t kind)
{
    struct sonde__report *r;
    const struct sonde__report_header header = {
        .kind = kind,
        .tool = "sonde 0.1.0",
        .executable = "/opt/app/bin/server",
        .os = "Linux 6.1.0",
        .arch = "x86_64",
        .source = "run",
        .time_unix_ns = 1700000000123456789u,
        .pid = 4711,
        .threshold_ns = 250000000,
    };
    CHECK_OK(sonde__report_create(&r));
    sonde__report_set_header(r, &header);
    return r;
}

static uint32_t image(struct sonde__report *r, const char *path, uint8_t first)
{
    struct sonde__report_image value = {
        .path = sonde__report_string(r, path), .build_id = {.size = 20}, .arch = SONDE_ARCH_X86_64};
    for (uint8_t i = 0; i < 20; i++) {
        value.build_id.bytes[i] = (uint8_t)(first + i);
    }
    return sonde__report_add_image(r, &value);
}

static uint32_t frame(struct sonde__report *r, uint32_t in, const char *name, uint64_t offset,
                      const char *file, uint32_t line)
{
    struct sonde__report_frame value = {
        .image = in,
        .offset = offset,
        .how = SONDE_FOUND_CFI,
        .name = sonde__report_string(r, name),
        .name_source = SONDE__REPORT_NAME_SYMTAB,
        .name_offset = offset & 0xff,
        .file = *file != '\0' ? sonde__report_string(r, file) : 0,
        .line = line,
    };
    return sonde__report_add_frame(r, &value);
}

/* Calls inlined into one another, and one that left by a jump. */
static uint32_t push_loop(struct sonde__report *r, uint32_t parent, uint32_t app)
{
    const struct sonde__report_inlined inlined[] = {
        {sonde__report_string(r, "list_is_empty"), sonde__report_string(r, "/src/list.h"), 17},
        {sonde__report_string(r, "loop_next"), sonde__report_string(r, "/src/loop.c"), 99},
    };
    const struct sonde__report_frame loop = {.image = app,
                                             .offset = 0x12345,
                                             .how = SONDE_FOUND_CFI,
                                             .name = sonde__report_string(r, "run_loop"),
                                             .name_offset = 0x45,
                                             .name_source = SONDE__REPORT_NAME_SYMTAB,
                                             .file = sonde__report_string(r, "/src/loop.c"),
                                             .line = 120,
                                             .inlined = inlined,
                                             .inlined_count = 2};
    const struct sonde__report_frame tail = {.image = app,
                                             .offset = 0x1400,
                                             .name = sonde__report_string(r, "enter"),
                                             .name_source = SONDE__REPORT_NAME_SYMTAB,
                                             .kind = SONDE__REPORT_FRAME_TAIL_CALL};
    const uint32_t tails[] = {sonde__report_add_frame(r, &tail)};
    return sonde__report_add_node_after(r, parent, sonde__report_add_frame(r, &loop), tails, 1);
}

static uint32_t push(struct sonde__report *r, uint32_t parent, uint32_t in, const char *name,
                     uint64_t offset, const char *file, uint32_t line)
{
    return sonde__report_add_node(r, parent, frame(r, in, name, offset, file, line));
}

struct stacks {
    uint32_t loop, fsync, other_fsync, odd, nameless;
};

static struct stacks make_stacks(struct sonde__report *r)
{
    uint32_t app = image(r, "/opt/app/bin/server", 1);
    uint32_t libc = image(r, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x80);
    uint32_t main = push(r, 0, app, "main", 0x1010, "/src/main.c", 10);
    struct stacks s = {.loop = push_loop(r, main, app)};
    uint32_t save = push(r, s.loop, app, "_ZN7Session4saveEi", 0x2020, "/src/session.cc", 88);
    s.fsync = push(r, save, libc, "fsync", 0x10e6ba, "", 0);
    save = push(r, s.loop, app, "_ZN7Session4saveEi", 0x2040, "/src/session.cc", 90);
    s.other_fsync = push(r, save, libc, "fsync", 0x10e6ba, "", 0);
    s.odd =
        push(r, s.loop, app, "we\x01ird \"\\;\xff\xf0\x9f\x90\x9b", 0x3030, "/src/\"odd\\.c", 1);
    s.nameless = sample_push(r, s.odd, app, "", 0x4040, SONDE_FOUND_CFI);
    return s;
}

static struct sonde__report_thread helper(struct sonde__report *r)
{
    uint32_t libc = image(r, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x80);
    uint32_t node = push(r, 0, libc, "clone", 0x1085bb, "", 0);
    struct sonde__report_frame gap = {.lost_count = 12};
    node = sonde__report_add_node(r, node, sonde__report_add_frame(r, &gap));
    return (struct sonde__report_thread){
        .tid = 4799,
        .name = sonde__report_string(r, "helper"),
        .state = 'S',
        .stack = push(r, node, libc, "read", 0x10117d, "", 0),
        .captured_by = 1,
        .syscall = 1,
        .frame_count = 2,
        .detail = sonde__report_string(r, "fd 5 pipe:[1234]"),
    };
}

/* Two stalls of one thread, one of another; of the first, 400 ms have no sample. */
struct sonde__report *rich_watch(void)
{
    struct sonde__report *r = create(SONDE__REPORT_WATCH);
    struct stacks s = make_stacks(r);
    const struct sonde__report_thread other = helper(r);
    const struct sonde__report_sample first[] = {
        {.time_ns = 125000000, .weight_ns = 100000001, .stack = s.fsync, .phase = 2, .syscall = 75},
        {.time_ns = 250000000, .weight_ns = 200000002, .stack = s.other_fsync, .phase = 3},
        {.time_ns = 600000000, .weight_ns = 250000003, .stack = s.loop, .phase = 1},
        {.time_ns = 900000000, .weight_ns = 50000000, .stack = s.odd, .phase = 1},
    };
    const struct sonde__report_sample second[] = {
        {.time_ns = 0, .weight_ns = 300000000, .stack = s.nameless, .phase = 1},
        {.time_ns = 300000000, .weight_ns = 7, .stack = s.fsync, .phase = 2},
    };
    struct sonde__report_stall stall = {
        .begin_ns = 1500000000,
        .duration_ns = 1000000009,
        .tid = 4711,
        .main = true,
        .thread_name = sonde__report_string(r, "ma\"in"),
        .loop_detail = sonde__report_string(r, "epoll fd 3"),
        .samples = first,
        .sample_count = 4,
        .threads = &other,
        .thread_count = 1,
        .cpu_ns = 300000000,
    };
    sonde__report_add_stall(r, &stall);
    stall.begin_ns = 4000000000;
    stall.duration_ns = 300000007;
    stall.samples = second;
    stall.sample_count = 2;
    sonde__report_add_stall(r, &stall);
    stall.tid = 4712;
    stall.main = false;
    stall.thread_name = sonde__report_string(r, "worker");
    stall.begin_ns = 4100000000;
    stall.thread_count = 0;
    sonde__report_add_stall(r, &stall);
    sonde__report_add_note(r, "a note");
    sonde__report_set_end(r,
                          &(struct sonde__report_end){.stall_count = 3, .watched_ns = 9500000000});
    return r;
}

struct sonde__report *rich_calls(void)
{
    struct sonde__report *r = create(SONDE__REPORT_CALLS);
    struct stacks s = make_stacks(r);
    const struct sonde__report_call calls[] = {
        {.function = sonde__report_string(r, "getenv"), .stack = s.loop, .count = 41},
        {.function = sonde__report_string(r, "getenv"), .stack = s.loop, .count = 1, .end = 3},
        {.function = sonde__report_string(r, "open64"), .stack = s.odd, .count = 1000},
        {.function = sonde__report_string(r, "open64"), .stack = 0, .count = 5},
        {.function = sonde__report_string(r, "getenv"),
         .missed = sonde__report_string(r, "direct calls")},
    };
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        sonde__report_add_call(r, &calls[i]);
    }
    return r;
}
