// SPDX-License-Identifier: Apache-2.0
/* `sonde holders` and `sonde blocks --pid` say where a running program made its blocks; the
 * program's own report (held.c) is the truth. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heapblocks.h"
#include "json.h"
#include "programs.h"

enum { LISTED = 5, GONE = 2, MADE = 105 };
enum { CYCLES = 11 }; /* blocks that cycles.m makes */

static struct program program;
static char *lines;

static void await_ready(void)
{
    program_await(&program, "\nready\n", 60);
    lines = program_output(&program);
}

static void start(const char *seed)
{
    const char *options[] = {"--blocks", "--verbose", NULL};
    const char *argv[] = {heapblocks_built("held"), seed, NULL};
    program = program_start_watched(options, NULL, argv);
    await_ready();
}

/* Start the program without `sonde run`. */
static void start_alone(const char *name)
{
    const char *argv[] = {heapblocks_built(name), NULL};
    program = program_start(argv);
    await_ready();
}

static void end(void)
{
    free(lines);
    (void)program_stop(&program, 60);
}

/* The text after NAME in the program's lines. */
static const char *said(const char *name)
{
    static char values[4][32];
    static unsigned next;
    char key[40], *value = values[next++ % 4];
    snprintf(key, sizeof key, "%s ", name);
    const char *at = strstr(lines, key);
    while (at != NULL && at != lines && at[-1] != '\n') {
        at = strstr(at + 1, key);
    }
    CHECK(at != NULL);
    CHECK_EQ(sscanf(at + strlen(key), "%31s", value), 1);
    return value;
}

static struct test_run ask(const char *const arguments[])
{
    char pid[32];
    const char *argv[8] = {program_sonde()};
    size_t n = 1;
    snprintf(pid, sizeof pid, "%d", (int)program.pid);
    for (; *arguments != NULL; arguments++) {
        argv[n++] = strcmp(*arguments, "PID") == 0 ? pid : *arguments;
    }
    return test_run(argv, NULL, NULL, 100);
}

static const struct json *block_at(const struct json *holders, const char *address)
{
    JSON_EACH(holder, holders)
    {
        const struct json *from = json_need(holder, "from");
        if (strcmp(json_text(from, "address"), address) == 0) {
            return from;
        }
    }
    FAIL("%s is no holder", address);
}

static void check_frames(const struct json *made, const char *const functions[])
{
    JSON_EACH(frame, json_need(made, "frames"))
    {
        if (*functions == NULL) {
            return;
        }
        CHECK_STR(json_text(frame, "function"), *functions);
        CHECK_CONTAINS(json_text(frame, "file"), "held.c");
        functions++;
    }
    CHECK(*functions == NULL);
}

static void check_registry(const struct json *root)
{
    const struct json *registry = json_need(root, "registry");
    CHECK_EQ(json_int(registry, "listed"), LISTED);
    CHECK_EQ(json_int(registry, "gone"), GONE);
    CHECK_EQ(json_int(registry, "made"), MADE);
    CHECK_EQ(json_int(registry, "ended"), MADE - LISTED);
}

static void check_holders(void)
{
    static const char *const in_thread[] = {"make_holder", "make_in_thread", NULL};
    static const char *const in_main[] = {"make_plain", "main", NULL};
    const char *arguments[] = {"holders", "--json", "PID", said("plain"), NULL};
    struct test_run run = ask(arguments);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    struct json *root = json_parse(run.out);
    check_registry(root);
    const struct json *holders = json_need(root, "holders");
    CHECK_EQ(holders->count, 2);
    const struct json *made = json_need(block_at(holders, said("holder")), "made");
    CHECK_EQ(json_int(made, "tid"), atoi(said("tid")));
    CHECK_EQ(json_int(made, "newest_age_ns"), json_int(made, "oldest_age_ns"));
    CHECK(json_int(made, "newest_age_ns") < (int64_t)1000 * 1000000000);
    check_frames(made, in_thread);
    made = json_need(json_need(root, "asked"), "made");
    CHECK_EQ(json_int(made, "tid"), program.pid);
    check_frames(made, in_main);
    CHECK_EQ(json_need(block_at(holders, said("unseen")), "made")->kind, JSON_NULL);
    json_free(root);
    test_run_done(&run);
}

static void check_text(void)
{
    char expected[64];
    const char *arguments[] = {"holders", "PID", said("plain"), NULL};
    struct test_run run = ask(arguments);
    CHECK_CONTAINS(run.out,
                   "\nits registry lists 5 blocks; 2 are gone, ended by calls that it does "
                   "not see\n");
    snprintf(expected, sizeof expected, " ago by thread %s\n      #0  make_holder+0x", said("tid"));
    CHECK_CONTAINS(run.out, expected);
    CHECK_CONTAINS(run.out,
                   "    1 made before its registry began, or by calls that are not seen\n");
    test_run_done(&run);
}

static void check_kinds(void)
{
    const char *arguments[] = {"blocks", "--pid", "PID", "--json", NULL};
    struct test_run run = ask(arguments);
    CHECK_EQ(run.status, 0);
    struct json *root = json_parse(run.out);
    unsigned known = 0, unknown = 0;
    check_registry(root);
    JSON_EACH(kind, json_need(root, "kinds"))
    {
        int64_t count = json_int(kind, "made_unknown");
        unknown += (unsigned)count;
        JSON_EACH(made, json_need(kind, "made"))
        {
            const struct json *frame = json_need(made, "frames")->first;
            CHECK_CONTAINS(json_text(kind, "function"), json_text(frame, "function"));
            count += json_int(made, "count");
            known += (unsigned)json_int(made, "count");
        }
        CHECK_EQ(count, json_int(kind, "count"));
    }
    CHECK_EQ(known, LISTED - GONE);
    CHECK_EQ(unknown, 2); /* the registry missed one, and one was replaced */
    json_free(root);
    test_run_done(&run);
}

static void check_one(const char *name, int status, const char *expected)
{
    const char *arguments[] = {"blocks", "--pid", "PID", said(name), NULL};
    struct test_run run = ask(arguments);
    CHECK_EQ(run.status, status);
    CHECK_CONTAINS(run.out, expected);
    test_run_done(&run);
}

static void check_all(void)
{
    check_holders();
    check_text();
    check_kinds();
    check_one("other", 0, " ago by thread ");
    check_one("replaced", 0,
              "    made by a call that is not seen: its registry has another block there, which is "
              "gone\n");
    check_one("gone", 3,
              "its registry lists a block there, which ended by a call that it does not see:\n"
              "    made ");
    end();
}

TEST_TIMEOUT(shows_where_a_holder_was_made, 180)
{
    heapblocks_build("held");
    start(NULL);
    check_all();
}

TEST_TIMEOUT(shows_where_a_holder_was_made_from_the_programs_own_registry, 180)
{
    heapblocks_build("held-alone");
    start_alone("held-alone");
    check_all();
}

static bool has_frame(const struct json *made, const char *function)
{
    JSON_EACH(frame, json_need(made, "frames"))
    {
        if (strcmp(json_text(frame, "function"), function) == 0) {
            return true;
        }
    }
    return false;
}

/* The search lists each block as made in the function that contains it in the source: "block #2 in
 * make_two" in make_two. */
static void check_every_block(int64_t live)
{
    const char *arguments[] = {"blocks", "--pid", "PID", "--json", NULL};
    struct test_run run = ask(arguments);
    CHECK_EQ(run.status, 0);
    struct json *root = json_parse(run.out);
    const struct json *registry = json_need(root, "registry");
    CHECK_EQ(json_int(root, "blocks"), live);
    CHECK_EQ(json_int(registry, "listed"), live);
    CHECK_EQ(json_int(registry, "gone"), 0);
    CHECK_EQ(json_int(registry, "made") - json_int(registry, "ended"), live);
    JSON_EACH(kind, json_need(root, "kinds"))
    {
        const char *in = strstr(json_text(kind, "function"), " in ");
        CHECK(in != NULL);
        CHECK_EQ(json_int(kind, "made_unknown"), 0);
        JSON_EACH(made, json_need(kind, "made"))
        {
            CHECK(has_frame(made, in + strlen(" in ")));
        }
    }
    json_free(root);
    test_run_done(&run);
}

static void check_arc(const char *name, const char *ready)
{
    const char *options[] = {"--blocks", NULL};
    const char *argv[] = {heapblocks_built(name), NULL};
    program = program_start_watched(options, NULL, argv);
    program_await(&program, ready, 60);
    lines = program_output(&program);
    check_every_block(strcmp(ready, "made\n") == 0 ? CYCLES : atoi(said("live")));
    end();
}

/* Blocks that ARC makes and releases: objc_retainBlock, objc_storeStrong and the like in a runtime
 * library. Its internal calls are hooked, too. */
TEST_TIMEOUT(records_blocks_of_arc, 180)
{
    heapblocks_build("arc");
    check_arc("arc-apple", "ready\n");
    check_arc("arc-libobjc2", "ready\n");
    check_arc("cycles-apple", "made\n");
}

/* The memory that the program shares with its `sonde run` may contain anything. */
TEST_TIMEOUT(survives_a_program_that_overwrites_its_registry, 180)
{
    static const char *const seeds[] = {"1", "2", "3"};
    heapblocks_build("held");
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        start(seeds[i]);
        const char *arguments[] = {"blocks", "--json", "--pid", "PID", NULL};
        struct test_run run = ask(arguments);
        CHECK_EQ(run.status, 0);
        struct json *root = json_parse(run.out);
        CHECK_EQ(json_int(root, "blocks"), 5);
        CHECK_EQ(json_need(root, "registry")->kind, i % 2 == 0 ? JSON_OBJECT : JSON_NULL);
        json_free(root);
        test_run_done(&run);
        end();
    }
}

TEST_TIMEOUT(reports_a_program_without_a_registry, 180)
{
    heapblocks_build("held");
    start_alone("held");
    const char *arguments[] = {"holders", "--json", "PID", said("plain"), NULL};
    struct test_run run = ask(arguments);
    CHECK_EQ(run.status, 0);
    struct json *root = json_parse(run.out);
    CHECK_EQ(json_need(root, "registry")->kind, JSON_NULL);
    CHECK(json_get(json_need(root, "asked"), "made") == NULL);
    json_free(root);
    test_run_done(&run);
    end();
}

static unsigned occurrences(const char *text, const char *what)
{
    unsigned count = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what)) {
        count++;
    }
    return count;
}

static bool is_listed(const char *output, unsigned times)
{
    return occurrences(output, "saw 105 blocks made on the heap; 5 live, ") == times &&
           occurrences(output, "\n    #0  make_plain+0x") ==
               2 * times && /* from two call sites in main */
           occurrences(output, "\n    #0  make_other+0x") == times &&
           occurrences(output, "\n    #0  make_holder+0x") == 2 * times;
}

static void await_listing(unsigned times)
{
    char *output = program_output(&program);
    for (unsigned i = 0; i < 3000 && !is_listed(output, times); i++) {
        free(output);
        program_pause_ms(20);
        output = program_output(&program);
    }
    if (!is_listed(output, times)) {
        FAIL("not all listed %u times: %s", times, output);
    }
    free(output);
}

/* SIGQUIT to the supervisor lists all live blocks, also those unchanged since the last time. */
TEST_TIMEOUT(lists_live_blocks_on_each_request, 180)
{
    heapblocks_build("held");
    start(NULL);
    const char *at = strstr(lines, "supervisor ");
    CHECK(at != NULL);
    pid_t supervisor = (pid_t)atoi(at + strlen("supervisor "));
    CHECK(supervisor > 1);
    for (unsigned n = 1; n <= 2; n++) {
        CHECK_EQ(kill(supervisor, SIGQUIT), 0);
        await_listing(n);
    }
    end();
}
