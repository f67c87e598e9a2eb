// SPDX-License-Identifier: Apache-2.0
/* sonde holders: objects held through C++ objects and collections, in a program whose source gives
 * the truth (corpus/held.mm): with debug information, without, stripped, and in a core. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus.h"
#include "json.h"
#include "programs.h"
#include "test.h"

static struct program made;
static char *lines;
static const char *core; /* the program's core; null: read the process */

static void build(const char *level, const char *link)
{
    char command[3000], corpus[600];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(corpus, sizeof corpus, "%s/tests/integration/blocks/corpus", test_source_dir());
    snprintf(command, sizeof command,
             "command -v clang-19 ld.lld-19 >/dev/null || exit 77\ncd '%s'\n"
             "clang-19 %s -g -w -fPIC -fblocks -fobjc-runtime=macosx-10.15 -fobjc-arc -std=c++17 "
             "-I'%s' -c '%s/held.mm' -o held.o && clang-19 -O1 -w -fPIC -DCORPUS_FLAVOUR=APPLE "
             "-DCORPUS_MARK_1='\"_Block_tryRetain\"' -DCORPUS_MARK_2='\"_Block_isDeallocating\"' "
             "-c '%s/runtime.c' -o runtime.o && "
             "clang-19 -fuse-ld=lld-19 -rdynamic %s held.o runtime.o -lstdc++ -ldl -o held",
             test_folder(), level, corpus, corpus, corpus, link);
    struct test_run run = test_run(argv, NULL, NULL, 200);
    if (run.status == 77) {
        SKIP("clang-19 or lld-19 is not there (./dev setup test)");
    }
    if (run.status != 0) {
        FAIL("%s", run.err);
    }
    test_run_done(&run);
}

static void start(const char *level, const char *link)
{
    char path[700];
    const char *argv[] = {path, NULL};
    build(level, link);
    snprintf(path, sizeof path, "%s/held", test_folder());
    made = program_start(argv);
    program_await(&made, "made\n", 60);
    lines = program_output(&made);
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
    snprintf(key, sizeof key, "\n%s 0x", name);
    const char *at = strncmp(lines, key + 1, strlen(key) - 1) == 0 ? lines : strstr(lines, key);
    CHECK(at != NULL);
    CHECK_EQ(sscanf(strstr(at, " 0x"), "%31s", address), 1);
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

/* The object's own block is its only holder, in this way; way null: nothing holds it. */
static void check(const char *name, const char *way)
{
    char key[64], address[32];
    struct test_run run = holders(name, NULL);
    if (way == NULL) {
        CHECK_EQ(run.status, 3);
        CHECK_CONTAINS(run.out, "no block holds it\n");
    } else {
        snprintf(key, sizeof key, "%s_block", name);
        address_of(key, address);
        snprintf(key, sizeof key, "\n  block %s ", address);
        CHECK_CONTAINS(run.out, key);
        CHECK_CONTAINS(run.out, way);
        CHECK_EQ(run.status, strstr(way, "no owner") != NULL ? 3 : 0);
        CHECK(strstr(strstr(run.out, key) + 1, "\n  block ") == NULL);
        CHECK(strstr(run.out, "no block holds it") == NULL);
    }
    test_run_done(&run);
}

static void check_typed(void)
{
    check("shared", "shared, in a C++ object at 32: std::shared_ptr<Plain>, owner\n");
    check("weak", "weak, in a C++ object at 32: std::weak_ptr<Plain>, no owner\n");
    check("by_hand", "at 32: Shared<Plain>, ownership not known; perhaps by way of 0x");
    check("tagged", "tagged, in a C++ object at 32: Tagged, ownership not known\n");
    check("many_tagged", "ownership not known; perhaps by way of 0x");
    check("unique", "unique, __block variable at 32, in a C++ object at 4");
    check("unique", " of it: std::unique_ptr<Plain, std::default_delete<Plain> >, owner\n");
    check("loose", NULL);
    check("vector", "ownership not known; perhaps by way of 0x");
    check("vector", "at 616\n");
    check("large", "perhaps by way of 0x");
    check("large", " at 720000\n");
    check("value", NULL);
    check("shared_value", " at 16, to the allocation 0x");
    check("list", "perhaps by way of 30 places in memory, the last 0x");
    check("map", ", ownership not known; perhaps by way of ");
    check("nested", "outer, in a C++ object at 48: Outer, ownership not known\n");
    check("function", "std::function<long ()>, ownership not known; perhaps by way of 0x");
    check("lambda", "lambda, in a C++ object at 32: class {...}, ownership not known\n");
    check("shared_unique", "std::shared_ptr<Owner>, owner; perhaps by way of 0x");
}

/* Similar holders share a line in text; in JSON each is an object. */
static void check_alike(void)
{
    struct test_run run = holders("alike", NULL);
    CHECK_CONTAINS(run.out, ", 1 reference, and 11 more like it\n    plain, in a C++ object at ");
    CHECK(strstr(strstr(run.out, "more like it"), "\n  block ") == NULL);
    test_run_done(&run);
    run = holders("alike", "--json");
    struct json *root = json_parse(run.out);
    CHECK_EQ(json_need(root, "holders")->count, 12);
    JSON_EACH(holder, json_need(root, "holders"))
    {
        CHECK_STR(json_text(holder, "kind"), "C++ object");
        CHECK_STR(json_text(holder, "type"), "std::shared_ptr<Plain>");
        CHECK(json_bool(holder, "owned") && json_bool(holder, "certain"));
    }
    json_free(root);
    test_run_done(&run);
}

/* Values as gdb prints them, by their types. */
static void check_values(void)
{
    char pid[32], block[32], plain[32], line[64];
    static const char *const texts[] = {"int number = 5\n",
                                        "int less = -7\n",
                                        "unsigned long large = 18446744073709551615\n",
                                        "char letter = 120 'x'\n",
                                        "bool truth = true\n",
                                        "double real = 1.5\n",
                                        "int boxed = 42\n"};
    snprintf(pid, sizeof pid, "%d", (int)made.pid);
    address_of("values_block", block);
    address_of("values", plain);
    const char *argv[] = {program_sonde(), "blocks", "--pid", pid, block, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK_CONTAINS(run.out, texts[i]);
    }
    snprintf(line, sizeof line, "Plain *plain = %s\n", plain);
    CHECK_CONTAINS(run.out, line);
    test_run_done(&run);
}

static void check_collection(void)
{
    struct test_run run = holders("item", NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "  List 0x");
    CHECK_CONTAINS(run.out, "    List._items, perhaps at 16; perhaps by way of 0x");
    CHECK_CONTAINS(run.out, "it holds itself:\n  Item 0x");
    CHECK_CONTAINS(run.out, "    -[Item._handler, strong]-> block 0x");
    CHECK_CONTAINS(run.out, "    -[List._items, perhaps]-> 0x");
    CHECK_CONTAINS(run.out, "    -[perhaps at 16]-> Item 0x");
    test_run_done(&run);
    run = holders("item", "--json");
    struct json *root = json_parse(run.out);
    const struct json *holder = json_need(root, "holders")->first;
    CHECK_STR(json_text(json_need(holder, "from"), "class"), "List");
    CHECK(json_bool(holder, "owned") && !json_bool(holder, "certain"));
    CHECK_EQ(json_int(json_need(holder, "through"), "places"), 1);
    CHECK_EQ(json_int(json_need(holder, "through"), "last_offset"), 16);
    CHECK_EQ(json_need(root, "cycle")->count, 4);
    CHECK_EQ(json_int(root, "not_followed"), 0);
    json_free(root);
    test_run_done(&run);
}

TEST_TIMEOUT(finds_holders_in_cpp_objects_and_collections, 300)
{
    start("-O2", "");
    check_typed();
    check_alike();
    check_values();
    check_collection();
    core = core_of_program(made.pid);
    (void)program_stop(&made, 30);
    check("shared", "shared, in a C++ object at 32: std::shared_ptr<Plain>, owner\n");
    check("list", "perhaps by way of 30 places in memory, the last 0x");
    check_collection();
    end();
}

/* First by names of helpers, then by just the flag for C++ objects. */
TEST_TIMEOUT(finds_holders_in_a_stripped_program, 300)
{
    static const char *const held[] = {"shared",   "by_hand", "unique",       "vector",
                                       "list",     "map",     "shared_value", "nested",
                                       "function", "lambda",  "tagged"};
    start("-O0", "-Wl,--strip-debug");
    check("shared", "    in a C++ object at 32: std::shared_ptr<Plain>, owner\n");
    check("weak", "    in a C++ object at 32: std::weak_ptr<Plain>, no owner\n");
    check("vector", ": std::vector<Plain*, std::allocator<Plain*>");
    end();
    start("-O2", "-s");
    for (unsigned i = 0; i < sizeof held / sizeof held[0]; i++) {
        check(held[i], ", ownership not known");
    }
    check("loose", NULL);
    check_collection();
    end();
}
