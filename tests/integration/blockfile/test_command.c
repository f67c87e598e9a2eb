// SPDX-License-Identifier: Apache-2.0
/* sonde blocks: what it lists of programs that were made here, as text and as JSON, and what it
 * says of files that have no blocks, or are none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "json.h"
#include "test.h"

#define FOLDER "tests/integration/blockfile/"

static struct test_run run_blocks(const char *options, const char *file)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && '%s/cli/sonde' blocks %s %s", test_folder(),
             test_build_dir(), options, file);
    const char *const argv[] = {"sh", "-c", command, NULL};
    return test_run(argv, NULL, NULL, 60);
}

static void must_say(const char *options, const char *file, int status, const char *err)
{
    struct test_run run = run_blocks(options, file);
    CHECK_EQ(run.status, status);
    CHECK_CONTAINS(run.err, err);
    test_run_done(&run);
}

/* The descriptor of the block whose function is called so. */
static const struct json *desc_of(const struct json *image, const char *name,
                                  const struct json **ret_block)
{
    JSON_EACH(desc, json_need(image, "descriptors"))
    {
        JSON_EACH(block, json_need(desc, "blocks"))
        {
            if (strcmp(json_text(block, "name"), name) == 0) {
                *ret_block = block;
                return desc;
            }
        }
    }
    FAIL("no block is called %s", name);
}

static void check_capture(const struct json *desc, int64_t offset, const char *kind)
{
    JSON_EACH(capture, json_need(desc, "captures"))
    {
        if (json_int(capture, "offset") == offset) {
            CHECK_STR(json_text(capture, "kind"), kind);
            CHECK(json_need(capture, "known_by")->count > 0);
            return;
        }
    }
    FAIL("nothing at offset %d", (int)offset);
}

static unsigned line_of(const char *source, const char *text)
{
    char path[600];
    unsigned line = 1;
    snprintf(path, sizeof path, "%s/" FOLDER "%s", test_source_dir(), source);
    char *bytes = test_read_file(path, NULL);
    const char *found = strstr(bytes, text);
    CHECK(found != NULL);
    for (const char *at = bytes; at < found; at++) {
        line += *at == '\n';
    }
    free(bytes);
    return line;
}

static void check_objects(const char *file)
{
    struct test_run run = run_blocks("--json", file);
    const struct json *block, *desc;
    CHECK_EQ(run.status, 0);
    struct json *all = json_parse(run.out);
    CHECK_EQ(all->count, 1);
    desc = desc_of(all->first, "block in -[Thing keep:with:]", &block);
    CHECK_STR(json_text(desc, "type"), "void (^)(void)");
    /* as clang sorts them */
    check_capture(desc, 32, "block");
    check_capture(desc, 40, "byref");
    check_capture(desc, 48, "weak");
    check_capture(desc, 56, "unretained");
    CHECK_EQ(json_int(desc, "size"), 64);
    desc = desc_of(all->first, "block #2 in -[Thing keep:with:]", &block);
    check_capture(desc, 32, "strong");
    CHECK_CONTAINS(json_text(desc, "type"), strncmp(file, "elf", 3) == 0
                                                ? "int (^)(id, unsigned long, bool *)"
                                                : "int (^)(Thing *, unsigned long, bool *)");
    CHECK_STR(json_text(block, "place"), "stack");
    desc = desc_of(all->first, "block #4 in -[Thing keep:with:]", &block);
    CHECK_EQ(json_need(desc, "captures")->count, 0);
    CHECK_STR(json_text(block, "place"), "global");
    json_free(all);
    test_run_done(&run);
}

TEST_TIMEOUT(blocks_of_objective_c, 200)
{
    darwin_build(FOLDER "objects.m", "arm64-apple-macos13", "-O2 -fobjc-arc", "-dylib", "arm");
    darwin_build(FOLDER "objects.m", "x86_64-apple-macos13", "-O2 -fobjc-arc", "-dylib", "intel");
    darwin_shell("llvm-lipo-19 -create arm intel -output fat && llvm-ar-19 crs arm.a arm.o && "
                 "clang-19 -target x86_64-linux-gnu -fblocks -ffreestanding "
                 "-fobjc-runtime=macosx-10.11 -fobjc-arc -O2 -c '%s/" FOLDER "objects.m' "
                 "-o elf.o && ld.lld-19 -shared elf.o -o elf && llvm-ar-19 crs elf.a elf.o",
                 test_source_dir());
    check_objects("arm");
    check_objects("intel");
    check_objects("arm.o");
    check_objects("arm.a");
    check_objects("elf");
    check_objects("elf.o");
    check_objects("elf.a");
    check_objects("fat --arch=arm64");
    struct test_run run = run_blocks("", "fat");
    CHECK_CONTAINS(run.out, "fat (arm64): 5 descriptors, 5 blocks\n");
    CHECK_CONTAINS(run.out, "fat (x86_64): 5 descriptors, 5 blocks\n");
    CHECK_CONTAINS(run.out, "\nblock in -[Thing keep:with:]\n    void (^)(void)\n    64 bytes, ");
    test_run_done(&run);
    must_say("--arch=armv7", "fat", 3, "fat: nothing in it is of the machine armv7");
}

/* Files and lines are those of the source. */
static void check_places(const char *file)
{
    char expected[100];
    struct test_run run = run_blocks("", file);
    CHECK_EQ(run.status, 0);
    snprintf(expected, sizeof expected, "\nprogram.c:%u  block in with_block\n    void (^)(int)\n",
             line_of("program.c", "^(int x) {\n      sum += x;"));
    CHECK_CONTAINS(run.out, expected);
    snprintf(expected, sizeof expected,
             "\nprogram.c:%u  block #4 in with_numbers\n    long (^)(const char *, unsigned int)\n",
             line_of("program.c", "^(const char *text, unsigned count) {"));
    CHECK_CONTAINS(run.out, expected);
    test_run_done(&run);
}

TEST_TIMEOUT(blocks_begin_with_their_place, 200)
{
    darwin_build(FOLDER "program.c", "arm64-apple-macos13", "-O1 -g", "-dylib", "arm");
    darwin_shell("dsymutil-19 arm 2>dsymutil.log && "
                 "clang-19 -target aarch64-linux-gnu -fblocks -ffreestanding -O1 -g -fPIC "
                 "-c '%s/" FOLDER "program.c' -o elf.o && ld.lld-19 -shared elf.o -o elf",
                 test_source_dir());
    check_places("arm");
    check_places("arm.o");
    check_places("elf");
}

TEST_TIMEOUT(blocks_says_what_it_cannot_read, 200)
{
    char path[600];
    must_say("", "nowhere", 3, "nowhere");
    must_say("", "", 2, "which program");
    must_say("--json --frobnicate", "x", 2, "unknown option --frobnicate");
    snprintf(path, sizeof path, "%s/text", test_folder());
    test_write_file(path, "hello", 5);
    must_say("", "text", 6, "text: no program, library, object or archive");
    test_write_file(path, "", 0);
    must_say("", "text", 6, "text: no program, library, object or archive");
    test_write_file(path, "!<arch>\n", 8);
    must_say("", "text", 3, "text: no code is in it");
    test_write_file(path, "!<arch>\nx", 9);
    darwin_shell("clang-19 -target armv7-apple-ios9 -fblocks -ffreestanding -c '%s/" FOLDER
                 "program.c' -o armv7.o && clang-19 -target i386-linux-gnu -fblocks -ffreestanding "
                 "-c '%s/" FOLDER "program.c' -o i386.o",
                 test_source_dir(), test_source_dir());
    must_say("", "armv7.o", 6, "armv7.o: neither x86_64 nor arm64");
    must_say("", "i386.o", 6, "i386.o: neither x86_64 nor aarch64");
}
