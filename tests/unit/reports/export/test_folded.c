// SPDX-License-Identifier: Apache-2.0
/* Folded stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "mem_heap.h"
#include "report_later.h"
#include "sample.h"
#include "test.h"

static char *folded(const struct sonde__report *r, bool raw_names)
{
    const struct sonde__export_options options = {SONDE__EXPORT_FOLDED, raw_names};
    struct sample_bytes bytes = {0};
    CHECK_OK(sonde__export(r, &options, sample_sink(&bytes), NULL));
    return bytes.data;
}

static void check_golden(const char *name, char *text)
{
    char path[64];
    snprintf(path, sizeof path, "export/%s", name);
    test_check_golden(path, text);
    free(text);
}

TEST(folded_stacks_and_stalls)
{
    struct sonde__report *r = sample_stacks();
    check_golden("stacks-folded.txt", folded(r, false));
    sonde__report_destroy(r);
    r = sample_watch();
    check_golden("watch-folded.txt", folded(r, true));
    sonde__report_destroy(r);
}

TEST(folded_script_frames)
{
    struct sonde__report *r = sample_all();
    check_golden("all-folded.txt", folded(r, false));
    sonde__report_destroy(r);
}

/* A group whose blocks are gone at the end is not there. */
TEST(folded_blocks_that_live)
{
    struct sonde__report *r = sample_heap_blocks();
    check_golden("heap-blocks-folded.txt", folded(r, false));
    sonde__report_destroy(r);
}

/* A semicolon in a name would begin a frame; equal stacks are one line. */
TEST(folded_calls)
{
    struct sonde__report *r;
    struct sonde__report_call call = {.count = 2};
    char *text;
    CHECK_OK(sonde__report_create(&r));
    call.function = sonde__report_string(r, "get;env");
    for (unsigned i = 0; i < 3; i++) { /* two of them differ in their pcs only */
        call.stack = sample_push(r, sample_push(r, 0, 0, "main", 0x10, SONDE_FOUND_CFI), 0,
                                 i == 2 ? "b c" : "a;a", 0x20 + i * 4, SONDE_FOUND_CFI);
        sonde__report_add_call(r, &call);
    }
    call.stack = 0;
    sonde__report_add_call(r, &call);
    text = folded(r, false);
    CHECK_STR(text, "get:env 2\nmain;a:a;get:env 4\nmain;b c;get:env 2\n");
    free(text);
    sonde__report_destroy(r);
}

/* The samples of a stall add up to its duration. */
TEST(folded_says_what_was_not_sampled)
{
    struct sonde__report *r;
    const struct sonde__report_sample samples[] = {{.time_ns = 125, .weight_ns = 100},
                                                   {.time_ns = 500, .weight_ns = 300}};
    const struct sonde__report_stall stall = {
        .duration_ns = 1000, .samples = samples, .sample_count = 2};
    CHECK_OK(sonde__report_create(&r));
    sonde__report_add_stall(r, &stall);
    char *text = folded(r, false);
    CHECK_STR(text, "(no stack) 400\n(not sampled) 600\n");
    free(text);
    sonde__report_destroy(r);
}

/* --- script frames that were read later --- */

static uint32_t push(struct sonde__report *r, uint32_t parent, uint32_t kind, const char *name)
{
    const struct sonde__report_frame frame = {.kind = kind, .name = sonde__report_string(r, name)};
    const struct sonde__report_node node = {.parent = parent,
                                            .frame = sonde__report_add_frame(r, &frame)};
    return sonde__report_add_node_value(r, &node);
}

/* They may not be the stack's: the frame before them says so. A stall's samples, its other threads
 * and samples outside stalls have them, too. */
TEST(folded_functions_that_were_read_later)
{
    struct sonde__report *r;
    CHECK_OK(sonde__report_create(&r));
    uint32_t main = push(r, 0, SONDE__REPORT_FRAME_PHYSICAL, "main");
    uint32_t module = push(r, 0, SONDE__REPORT_FRAME_SCRIPT, "<module>");
    uint32_t commit = push(r, module, SONDE__REPORT_FRAME_SCRIPT, "commit");
    const struct sonde__report_sample samples[] = {
        {.weight_ns = 3, .stack = main, .script_stack = commit},
        {.time_ns = 3, .weight_ns = 2, .stack = main, .script_stack = module},
        {.time_ns = 5, .weight_ns = 1, .stack = main},
    };
    const struct sonde__report_stall stall = {
        .thread_name = sonde__report_string(r, "app"),
        .duration_ns = 6,
        .samples = samples,
        .sample_count = 3,
    };
    sonde__report_add_stall(r, &stall);
    const struct sonde__report_sample loose = {.weight_ns = 4, .script_stack = module, .tid = 1};
    sonde__report_add_sample(r, &loose);
    sonde__report_join_later(r);
    char *text = folded(r, false);
    CHECK_CONTAINS(text, "app;main;(read later);<module>;commit 3\n");
    CHECK_CONTAINS(text, "app;main;(read later);<module> 2\n");
    CHECK_CONTAINS(text, "app;main 1\n");
    CHECK_CONTAINS(text, "(read later);<module> 4\n");
    free(text);
    sonde__report_destroy(r);
}

TEST(threads_have_no_functions_apart_after_that)
{
    struct sonde__report *r;
    CHECK_OK(sonde__report_create(&r));
    uint32_t main = push(r, 0, SONDE__REPORT_FRAME_PHYSICAL, "main");
    uint32_t module = push(r, 0, SONDE__REPORT_FRAME_SCRIPT, "<module>");
    const struct sonde__report_thread thread = {.tid = 1, .stack = main, .script_stack = module};
    sonde__report_add_thread(r, &thread);
    sonde__report_join_later(r);
    CHECK_EQ(sonde__report_thread(r, 0)->script_stack, 0);
    char *text = folded(r, false);
    CHECK_CONTAINS(text, "main;(read later);<module> 1\n");
    free(text);
    sonde__report_destroy(r);
}
