// SPDX-License-Identifier: Apache-2.0
/* The phase of a loop's turn, from the functions on the stacks of a stall. */
#include "report_phase.h"
#include "sample.h"
#include "test.h"

#define MS 1000000ull

struct scene {
    struct sonde__report *r;
    uint32_t image;
    struct sonde__report_sample samples[8];
    struct sonde__report_stall stall;
};

static void begin(struct scene *s)
{
    *s = (struct scene){0};
    CHECK_OK(sonde__report_create(&s->r));
    s->image = sonde__report_add_image(
        s->r, &(struct sonde__report_image){.path = sonde__report_string(s->r, "/opt/server")});
}

/* Functions from the outermost one, null-terminated. */
static void add(struct scene *s, uint64_t ms, const char *const functions[])
{
    uint32_t node = 0;
    for (unsigned i = 0; functions[i] != NULL; i++) {
        node = sample_push(s->r, node, s->image, functions[i], 0x1000 + i, SONDE_FOUND_CFI);
    }
    s->samples[s->stall.sample_count++] =
        (struct sonde__report_sample){.weight_ns = ms * MS, .stack = node};
}
#define ADD(scene, ms, ...) add(scene, ms, (const char *const[]){__VA_ARGS__, NULL})

static void check(struct scene *s, const char *expected)
{
    s->stall.samples = s->samples;
    uint32_t phase = sonde__report_loop_phase(s->r, &s->stall);
    CHECK_STR(sonde__report_text(s->r, phase), expected);
    CHECK_EQ(phase != 0, expected[0] != '\0');
    sonde__report_destroy(s->r);
}

TEST(loop_phase_is_the_loops_own_function)
{
    static const char *const phases[][2] = {
        {"uv__run_timers", "libuv: timers"},
        {"uv__run_pending", "libuv: pending"},
        {"uv__run_idle", "libuv: idle"},
        {"uv__run_prepare", "libuv: prepare"},
        {"uv__io_poll", "libuv: poll"},
        {"uv__run_check", "libuv: check"},
        {"uv__run_closing_handles", "libuv: closing"},
        {"g_main_context_prepare", "GLib: prepare"},
        {"g_main_context_query", "GLib: query"},
        {"g_main_context_check", "GLib: check"},
        {"g_main_context_dispatch", "GLib: dispatch"},
        {"g_main_context_dispatch_unlocked", "GLib: dispatch"},
        {"g_main_context_iteration", ""},
        {"uv_run", ""},
        {"main_loop", ""},
    };
    for (unsigned i = 0; i < sizeof phases / sizeof *phases; i++) {
        struct scene s;
        begin(&s);
        ADD(&s, 300, "main", phases[i][0], "on_event", "fsync");
        check(&s, phases[i][1]);
    }
}

/* A dialog's own loop in a callback, and a short turn of GLib's in one of libuv's. */
TEST(loop_phase_is_that_of_the_outer_loop)
{
    struct scene s;
    begin(&s);
    ADD(&s, 300, "main", "g_main_context_dispatch", "on_click", "g_main_context_prepare", "scan");
    check(&s, "GLib: dispatch");
    begin(&s);
    ADD(&s, 300, "main", "uv_run", "uv__run_check", "pump", "g_main_context_dispatch", "on_click");
    check(&s, "libuv: check");
}

TEST(loop_phases_of_a_turn_are_in_the_order_of_the_turn)
{
    struct scene s;
    begin(&s);
    ADD(&s, 100, "main", "uv_run", "uv__io_poll", "on_read");
    ADD(&s, 100, "main", "uv_run", "uv__run_timers", "on_timer");
    ADD(&s, 5, "main", "uv_run", "uv__run_check", "on_check"); /* too little to be named */
    ADD(&s, 100, "main", "uv_run", "uv__io_poll", "on_read");
    check(&s, "libuv: timers, poll");
    begin(&s);
    check(&s, "");
}
