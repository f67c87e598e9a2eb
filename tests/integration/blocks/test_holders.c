// SPDX-License-Identifier: Apache-2.0
/* sonde holders: the holders of an object, in a program whose source gives the truth
 * (corpus/cycles.m), and in its core. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus.h"
#include "json.h"
#include "programs.h"
#include "test.h"

enum { BLOCKS = 11 }; /* made by the program */

static struct program made;
static char *lines;
static const char *core; /* the program's core; null: read the process */

static void start(const char *flavour)
{
    char path[700];
    snprintf(path, sizeof path, "%s/cycles-%s", corpus_built("-O2", CORPUS_ALL), flavour);
    const char *argv[] = {path, NULL};
    made = program_start(argv);
    program_await(&made, "made\n", 60);
    lines = program_output(&made);
}

/* Use the core from here on; the process ends. */
static void turn_to_core(void)
{
    core = core_of_program(made.pid);
    (void)program_stop(&made, 30);
}

static void end(void)
{
    free(lines);
    if (core == NULL) {
        (void)program_stop(&made, 30);
    }
    core = NULL;
}

static void address_of(const char *name, char address[32])
{
    char key[64];
    snprintf(key, sizeof key, "%s 0x", name);
    const char *at = strstr(lines, key);
    while (at != NULL && at != lines && at[-1] != '\n') {
        at = strstr(at + 1, key);
    }
    CHECK(at != NULL);
    CHECK_EQ(sscanf(at + strlen(key) - 2, "%31s", address), 1);
}

static struct test_run holders(const char *name, const char *option)
{
    char pid[32], address[32];
    snprintf(pid, sizeof pid, "%d", (int)made.pid);
    address_of(name, address);
    const char *argv[] = {program_sonde(), "holders", "--no-cache", pid, address, option, NULL};
    const char *of_core[] = {program_sonde(), "holders", "--no-cache", "--core", core,
                             address,         option,    NULL};
    struct test_run run = test_run(core != NULL ? of_core : argv, NULL, NULL, 100);
    CHECK_STR(run.err, "");
    return run;
}

static void check_cycle(const char *name, const char *variable, unsigned owners, unsigned others,
                        size_t cycle)
{
    struct test_run run = holders(name, "--json");
    struct json *root = json_parse(run.out);
    const struct json *list = json_need(root, "holders");
    unsigned owned = 0, not_owned = 0;
    JSON_EACH(holder, list)
    {
        CHECK_STR(json_text(json_need(holder, "from"), "what"), "block");
        CHECK_CONTAINS(json_text(json_need(holder, "from"), "function"), "block");
        CHECK_CONTAINS(json_text(json_need(holder, "from"), "file"), "cycles.m");
        CHECK_STR(json_text(json_need(holder, "to"), "class"), "Ctl");
        CHECK_STR(json_text(holder, "variable"), variable);
        *(json_bool(holder, "owned") ? &owned : &not_owned) += 1;
    }
    CHECK_EQ(owned, owners);
    CHECK_EQ(not_owned, others);
    CHECK_EQ(json_need(root, "cycle")->count, cycle);
    CHECK_EQ(json_int(root, "blocks"), BLOCKS);
    CHECK_EQ(run.status, owners > 0 ? 0 : 3);
    json_free(root);
    test_run_done(&run);
}

static void check_all(void)
{
    check_cycle("strong_cycle", "self", 1, 0, 2);
    check_cycle("weak_no_cycle", "me", 0, 1, 0);
    check_cycle("byref_cycle", "me", 1, 0, 2);
    check_cycle("unretained_no_cycle", "me", 0, 1, 0);
    check_cycle("long_cycle", "self", 1, 0, 4);
    check_cycle("held_twice", "self", 2, 0, 0);
    check_cycle("aligned_byref", "me", 0, 1, 0);
}

TEST_TIMEOUT(finds_holders_and_cycles, 200)
{
    start("apple");
    check_all();
    end();
}
TEST_TIMEOUT(finds_holders_in_debians_and_gnusteps_runtimes, 200)
{
    start("debian");
    check_all();
    end();
    start("libobjc2");
    check_all();
    end();
}
TEST_TIMEOUT(finds_holders_in_a_core, 200)
{
    start("apple");
    turn_to_core();
    check_all();
    end();
    if (test_long()) {
        start("debian");
        turn_to_core();
        check_all();
        end();
        start("libobjc2");
        turn_to_core();
        check_all();
        end();
    }
}

TEST_TIMEOUT(prints_holders_as_text, 200)
{
    start("apple");
    struct test_run run = holders("long_cycle", NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "11 blocks on the heap");
    CHECK_CONTAINS(run.out, "block in -[Ctl longCycle] (cycles.m:");
    CHECK_CONTAINS(run.out, "it holds itself:\n  Ctl 0x");
    CHECK_CONTAINS(run.out, "    self, strong at 32\n");
    CHECK_CONTAINS(run.out, "    -[Ctl._next, strong]-> Ctl 0x");
    CHECK_CONTAINS(run.out, "    -[Ctl._handler, strong]-> block 0x");
    CHECK_CONTAINS(run.out, "    -[inner, block]-> block 0x");
    CHECK_CONTAINS(run.out, "    -[self, strong]-> Ctl 0x");
    test_run_done(&run);
    run = holders("byref_cycle", NULL);
    CHECK_CONTAINS(run.out, "    me, __block variable at 32, strong at 40 of it\n");
    CHECK_CONTAINS(run.out, "    -[me, __block, strong]-> Ctl 0x");
    test_run_done(&run);
    run = holders("aligned_byref", NULL);
    CHECK_CONTAINS(run.out, "    me, __block variable at 32, unretained at 32 of it\n");
    test_run_done(&run);
    end();
}

/* Nothing holds a wrong address; programs without blocks and bad operands are errors. */
TEST_TIMEOUT(reports_a_missing_holder_and_bad_operands, 200)
{
    char pid[32];
    start("apple");
    snprintf(pid, sizeof pid, "%d", (int)made.pid);
    const char *nobody[] = {program_sonde(), "holders", pid, "0xdeadbeef8", NULL};
    struct test_run run = test_run(nobody, NULL, NULL, 100);
    CHECK_EQ(run.status, 3);
    CHECK_CONTAINS(run.out, "no block holds it\n");
    test_run_done(&run);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    const char *no_runtime[] = {program_sonde(), "holders", pid, "0x1000", NULL};
    run = test_run(no_runtime, NULL, NULL, 100);
    CHECK_EQ(run.status, 3);
    CHECK_CONTAINS(run.err, "has no blocks");
    test_run_done(&run);
    const char *wrong[] = {program_sonde(), "holders", pid, "0x12x", NULL};
    run = test_run(wrong, NULL, NULL, 100);
    CHECK_EQ(run.status, 2);
    CHECK_CONTAINS(run.err, "not an address: 0x12x");
    test_run_done(&run);
    const char *no_core[] = {program_sonde(), "holders", "--core", "/bin/true", "0x1000", NULL};
    run = test_run(no_core, NULL, NULL, 100);
    CHECK_EQ(run.status, 6);
    CHECK_CONTAINS(run.err, "an ELF file, but not a core");
    test_run_done(&run);
    const char *no_address[] = {program_sonde(), "holders", "--core", "core", "program", NULL};
    run = test_run(no_address, NULL, NULL, 100);
    CHECK_EQ(run.status, 2);
    CHECK_CONTAINS(run.err, "give an address in the core");
    test_run_done(&run);
    end();
}

/* sonde blocks --pid: all blocks, and one block with the objects that it holds. */
TEST_TIMEOUT(lists_blocks_of_a_process, 200)
{
    char pid[32], address[32], owner[32], line[96];
    start("apple");
    snprintf(pid, sizeof pid, "%d", (int)made.pid);
    const char *all[] = {program_sonde(), "blocks", "--pid", pid, NULL};
    struct test_run run = test_run(all, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, ": 11 blocks on the heap, 11 kinds; ");
    CHECK_CONTAINS(run.out, "block in -[Ctl byrefCycle] (cycles.m:");
    CHECK_CONTAINS(run.out, "    void (^)(void)\n    1 of 40 bytes, the first at 0x");
    CHECK_CONTAINS(run.out, "+32   weak         Ctl *me  helper, helper name, descriptor name");
    CHECK_CONTAINS(run.out, "+40   data         long n  DWARF\n");
    test_run_done(&run);
    const char *as_json[] = {program_sonde(), "blocks", "--pid", pid, "--json", NULL};
    run = test_run(as_json, NULL, NULL, 100);
    struct json *root = json_parse(run.out);
    CHECK_EQ(json_int(root, "blocks"), BLOCKS);
    CHECK_EQ(json_need(root, "kinds")->count, BLOCKS);
    CHECK_CONTAINS(run.out, "\"name\": \"self\", \"type\": \"Ctl *const\"");
    json_free(root);
    test_run_done(&run);
    address_of("byref_cycle_block", address);
    address_of("byref_cycle", owner);
    const char *one[] = {program_sonde(), "blocks", "--pid", pid, address, NULL};
    run = test_run(one, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "+32   byref        __block Ctl *me = box 0x");
    snprintf(line, sizeof line, "+40   strong       Ctl *me = Ctl %s\n", owner);
    CHECK_CONTAINS(run.out, line);
    test_run_done(&run);
    const char *none[] = {program_sonde(), "blocks", "--pid", pid, owner, NULL};
    run = test_run(none, NULL, NULL, 100);
    CHECK_EQ(run.status, 3);
    CHECK_CONTAINS(run.err, "no live block of the heap is there");
    test_run_done(&run);
    end();
}

/* The guide describes each key, as `key`, where it describes processes. */
static void check_keys(const struct json *node, const char *guide)
{
    char quoted[64];
    if (node->key != NULL) {
        snprintf(quoted, sizeof quoted, "`%s`", node->key);
        if (strstr(guide, quoted) == NULL) {
            FAIL("%s is not in the guide", quoted);
        }
    }
    JSON_EACH(child, node)
    {
        check_keys(child, guide);
    }
}

/* Each described key has the described type. */
static void check_types(const struct json *root, const char *const keys[], const char *types)
{
    for (unsigned i = 0; types[i] != '\0'; i++) {
        const struct json *node = json_need(root, keys[i]);
        char type = "?bnsao"[node->kind];
        if (type != types[i]) {
            FAIL("%s: %c, not %c", keys[i], type, types[i]);
        }
    }
}

static void check_schema(const char *guide)
{
    static const char *const of_all[] = {"pid", "blocks", "searched_bytes", "unreadable_bytes",
                                         "kinds"};
    static const char *const of_kind[] = {"function", "file",  "line",     "type",
                                          "size",     "count", "captures", "addresses"};
    static const char *const of_capture[] = {"offset", "size", "kind", "owned", "part", "sources"};
    static const char *const of_holders[] = {"pid",     "asked", "blocks", "searched_bytes",
                                             "holders", "cycle"};
    static const char *const of_edge[] = {"from", "to", "kind", "offset", "owned", "certain"};
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)made.pid);
    const char *argv[] = {
        program_sonde(),           "blocks", "--json", core != NULL ? "--core" : "--pid",
        core != NULL ? core : pid, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    struct json *root = json_parse(run.out);
    check_keys(root, guide);
    CHECK_EQ(json_get(root, "core") != NULL, core != NULL);
    check_types(root, of_all, "nnnna");
    JSON_EACH(kind, json_need(root, "kinds"))
    {
        check_types(kind, of_kind, "ssnsnnaa");
        JSON_EACH(capture, json_need(kind, "captures"))
        {
            check_types(capture, of_capture, "nnsbba");
        }
    }
    json_free(root);
    test_run_done(&run);
    run = holders("long_cycle", "--json");
    root = json_parse(run.out);
    check_keys(root, guide);
    CHECK_EQ(json_get(root, "core") != NULL, core != NULL);
    check_types(root, of_holders, "nonnaa");
    CHECK_EQ(json_need(root, "cycle")->count, 4);
    JSON_EACH(edge, json_need(root, "cycle"))
    {
        check_types(edge, of_edge, "oosnbb");
    }
    CHECK_STR(json_text(json_need(root, "cycle")->first, "variable"), "Ctl._next");
    json_free(root);
    test_run_done(&run);
}

TEST_TIMEOUT(the_guide_lists_all_json_fields, 200)
{
    char path[700];
    snprintf(path, sizeof path, "%s/docs/guide/blocks-json.md", test_source_dir());
    char *text = test_read_file(path, NULL);
    const char *guide = strstr(text, "\n## Of a process");
    CHECK(guide != NULL);
    start("apple");
    check_schema(guide);
    turn_to_core();
    check_schema(guide);
    end();
    free(text);
}

/* Anybody can choose the name of a core. */
TEST_TIMEOUT(names_from_outside_are_escaped, 200)
{
    char path[600];
    snprintf(path, sizeof path, "%s/a\"b\\c\x01\xff", test_folder());
    start("apple");
    turn_to_core();
    CHECK_EQ(rename(core, path), 0);
    core = path;
    const char *argv[] = {program_sonde(), "blocks", "--json", "--core", core, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    for (unsigned i = 0; i < 2; i++) {
        struct json *root = json_parse(run.out);
        CHECK_CONTAINS(run.out, "/a\\\"b\\\\c\\u0001\\ufffd\", \"");
        CHECK_EQ(json_int(root, "blocks"), BLOCKS);
        json_free(root);
        test_run_done(&run);
        run = holders("long_cycle", "--json");
    }
    test_run_done(&run);
    end();
}

TEST_TIMEOUT(shows_the_block_that_a_block_runs, 200)
{
    char pid[32], outer[32], inner[32], expected[128];
    start("apple");
    snprintf(pid, sizeof pid, "%d", (int)made.pid);
    address_of("handed_on_block", outer);
    address_of("handed_on_inner", inner);
    snprintf(expected, sizeof expected,
             ", which runs block %s block in -[Ctl handedOn] (cycles.m:", inner);
    const char *one[] = {program_sonde(), "blocks", "--pid", pid, outer, NULL};
    struct test_run run = test_run(one, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, expected);
    CHECK_CONTAINS(run.out, ") on queue 0x51515150\n");
    test_run_done(&run);
    run = holders("handed_on_inner", NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, expected);
    CHECK_CONTAINS(run.out, "    data, block at 72\n");
    test_run_done(&run);
    end();
}

/* Lines of more than 50 columns that have several words. */
static unsigned wide_lines(const char *text)
{
    unsigned count = 0;
    for (size_t size; *text != '\0'; text += size + (text[size] == '\n')) {
        size = strcspn(text, "\r\n");
        size_t begin = strspn(text, " ");
        count += size > 50 && begin < size && memchr(text + begin, ' ', size - begin) != NULL;
        size += text[size] == '\r';
    }
    return count;
}

TEST_TIMEOUT(blocks_and_holders_fit_a_terminal, 200)
{
    char address[32], script[1200];
    start("apple");
    address_of("handed_on_inner", address);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(script, sizeof script,
                 "script -qc 'stty cols 50; exec %s %s%d %s' /dev/null </dev/null", program_sonde(),
                 i == 0 ? "blocks --pid=" : "holders --no-cache ", (int)made.pid,
                 i == 0 ? "" : address);
        const char *argv[] = {"sh", "-c", script, NULL};
        struct test_run run = test_run(argv, NULL, NULL, 100);
        CHECK_CONTAINS(run.out, "cycles.m:");
        CHECK_EQ(wide_lines(run.out), 0);
        test_run_done(&run);
    }
    struct test_run run = holders("handed_on_inner", NULL);
    CHECK(wide_lines(run.out) > 0); /* whole in a pipe */
    test_run_done(&run);
    end();
}
