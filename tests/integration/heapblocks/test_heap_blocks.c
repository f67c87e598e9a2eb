// SPDX-License-Identifier: Apache-2.0
/* The live blocks and their makers, against the program's own report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heapblocks.h"
#include "json.h"
#include "programs.h"

enum { SITES = 4 };

static struct json *show(const char *report)
{
    const char *argv[] = {program_sonde(), "show", "--json", report, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *json = json_parse(run.out);
    test_run_done(&run);
    return json;
}

/* The function that made the blocks: the first frame whose name has this prefix. */
static const char *site_of(const struct json *blocks)
{
    JSON_EACH(frame, json_need(blocks, "frames"))
    {
        if (strncmp(json_text(frame, "function"), "make_", 5) == 0) {
            return json_text(frame, "function");
        }
    }
    return "";
}

/* No frame is sonde's, although captured blocks are copied below a frame of sonde's. */
static void check_modules(const struct json *report)
{
    JSON_EACH(blocks, json_need(report, "heap_blocks"))
    {
        JSON_EACH(frame, json_need(blocks, "frames"))
        {
            const char *module = json_text(frame, "image_name");
            if (strstr("blocks plugin.so loads libBlocksRuntime.so.0 libc.so.6", module) == NULL) {
                FAIL("a frame of %s", module);
            }
        }
    }
}

struct sums {
    int64_t count, bytes, growth, growth_bytes;
};

/* count and bytes: at the end; growth: over the whole run. */
static struct sums sum(const struct json *report, const char *site)
{
    struct sums sums = {0, 0, 0, 0};
    int64_t last = 0;
    JSON_EACH(blocks, json_need(report, "heap_blocks"))
    {
        last = json_int(blocks, "time_ns");
    }
    JSON_EACH(blocks, json_need(report, "heap_blocks"))
    {
        if (*site != '\0' && strcmp(site_of(blocks), site) != 0) {
            continue;
        }
        if (json_int(blocks, "time_ns") == last) {
            sums.count += json_int(blocks, "count");
            sums.bytes += json_int(blocks, "size_bytes");
        }
        sums.growth += json_int(blocks, "growth");
        sums.growth_bytes += json_int(blocks, "growth_bytes");
    }
    return sums;
}

/* Compare the program's own "NAME BLOCKS BYTES" lines with the report. */
static void check_against(const char *said, const struct json *report)
{
    struct sums all = {0, 0, 0, 0};
    unsigned sites = 0;
    char name[40];
    long long count, bytes;
    for (const char *line = said; sscanf(line, "%39s %lld %lld", name, &count, &bytes) == 3;
         line = strchr(line, '\n') + 1) {
        struct sums sums = sum(report, name);
        CHECK_EQ(sums.count, count);
        CHECK_EQ(sums.bytes, bytes);
        CHECK_EQ(sums.growth, count);
        CHECK_EQ(sums.growth_bytes, bytes);
        all.count += count;
        sites++;
    }
    CHECK_EQ(sites, SITES);
    CHECK(all.count > 0);
    CHECK_EQ(sum(report, "").count, all.count);
}

static void run_and_check(const char *const argv[], const char *option, const char *value)
{
    const char *report = heapblocks_built("report");
    const char *command[20] = {program_sonde(), "run", "--blocks", "--report", report};
    size_t n = 5;
    if (option != NULL) {
        command[n++] = option;
        command[n++] = value;
    }
    command[n++] = "--";
    for (size_t i = 0; argv[i] != NULL; i++) {
        command[n++] = argv[i];
    }
    struct test_run run = test_run(command, NULL, NULL, 120);
    CHECK_EQ(run.status, 0);
    struct json *json = show(report);
    CHECK_STR(json_text(json, "kind"), "heap-blocks");
    check_against(run.out, json);
    CHECK_CONTAINS(run.err, " blocks made on the heap; ");
    CHECK(strstr(run.err, "not seen") == NULL);
    check_modules(json);
    json_free(json);
    test_run_done(&run);
}

TEST_TIMEOUT(records_blocks_of_four_threads, 180)
{
    heapblocks_build(NULL);
    const char *plain[] = {heapblocks_built("blocks"), "10000", NULL};
    run_and_check(plain, NULL, NULL);
    /* The sum of all growth equals the live blocks. */
    const char *grows[] = {heapblocks_built("blocks"), "50000", NULL};
    run_and_check(grows, "--blocks-every", "100ms");
    /* Only dlopen() loads the runtime. */
    const char *loads[] = {heapblocks_built("loads"), heapblocks_built("plugin.so"), "2000", NULL};
    run_and_check(loads, NULL, NULL);
}

/* Without seen calls the report must not claim that there are no blocks. */
TEST_TIMEOUT(records_a_runtime_inside_the_program, 150)
{
    heapblocks_build(NULL);
    const char *argv[] = {
        program_sonde(), "run", "--blocks", "--", heapblocks_built("inside"), NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "1\n");
    CHECK_CONTAINS(run.err,
                   "sonde run: a blocks runtime is part of the program itself: calls of it "
                   "that are direct are not seen\n");
    test_run_done(&run);
}

/* Linked so that a library's calls go directly to its own runtime. */
TEST_TIMEOUT(reports_a_runtime_inside_a_library, 150)
{
    heapblocks_build(NULL);
    const char *argv[] = {
        program_sonde(), "run", "--blocks", "--", heapblocks_built("symbolic"), NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "1\n");
    CHECK_CONTAINS(run.err, "sonde run: saw 0 blocks made on the heap");
    CHECK_CONTAINS(run.err, "sonde run: a blocks runtime is part of ");
    CHECK_CONTAINS(run.err, "libsymbolic.so: direct calls of it, from there, are not seen\n");
    test_run_done(&run);
}

TEST(runs_a_program_without_blocks)
{
    const char *argv[] = {program_sonde(), "run", "--blocks", "--", "/bin/true", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err,
              "sonde run: saw 0 blocks made on the heap; 0 live, 0 bytes\n"
              "sonde run: no blocks runtime was found: one that is part of the program, or hidden "
              "in a library, is not seen\n");
    test_run_done(&run);
}

TEST(refuses_conflicting_options)
{
    static const struct {
        const char *words[5], *why;
    } lines[] = {
        {{"--blocks", "--record", "/dev/null", "--", "true"}, "--blocks and --record cannot"},
        {{"--blocks", "--follow", "--", "true"}, "--blocks and --follow cannot"},
        {{"--blocks-every", "1s", "--", "true"}, "--blocks-every needs --blocks"},
        {{"--blocks", "--blocks-every", "1ms", "--", "true"}, "--blocks-every"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *argv[8] = {program_sonde(), "run"};
        memcpy(argv + 2, lines[i].words, sizeof lines[i].words);
        struct test_run run = test_run(argv, NULL, NULL, 30);
        CHECK_EQ(run.status, 2);
        CHECK_CONTAINS(run.err, lines[i].why);
        test_run_done(&run);
    }
}
