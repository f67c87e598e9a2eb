// SPDX-License-Identifier: Apache-2.0
/* Functions of a Mach-O that end by sending a message of Objective-C: what a stack lost by that
 * jump. The functions and their addresses are those of llvm-nm and llvm-objdump. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "named_file.h"
#include "tail_graph.h"
#include "test.h"

#define PROGRAM "tests/integration/macho/methods.m"

struct library {
    struct named_file file;
    struct sonde__tail_graph tails;
};

static void build(const char *triple, const char *lflags, bool is_stripped, struct library *l)
{
    char path[4096], linker[200];
    snprintf(linker, sizeof linker, "-dylib %s", lflags);
    darwin_build(PROGRAM, triple, "-O1 -DSENDERS", linker, "library");
    darwin_shell("cp library checked && { test %d = 0 || llvm-strip-19 -x checked; }", is_stripped);
    snprintf(path, sizeof path, "%s/checked", test_folder());
    named_file_open(path, &l->file);
    sonde__symindex_tails(&l->file.index, &l->tails);
}

/* The offset of a symbol, of the library before it was stripped. */
static uint32_t offset_of(const struct library *l, const char *symbol)
{
    char *line = darwin_output("llvm-nm-19 library | awk -v w='%s' 'substr($0, 20) == w'", symbol);
    uint64_t vaddr = strtoull(line, NULL, 16);
    CHECK(vaddr > l->file.index.base);
    free(line);
    return (uint32_t)(vaddr - l->file.index.base);
}

static enum sonde__tail_answer between(const struct library *l, const char *entry,
                                       const char *inner, struct sonde__tail_found *ret_found)
{
    return sonde__tail_between(&l->tails, offset_of(l, entry), offset_of(l, inner), ret_found);
}

/* The call of `entry` is known to the graph. */
static void check_site(const struct library *l, const char *entry)
{
    uint32_t calls = offset_of(l, "_calls_them"), wanted = offset_of(l, entry), found;
    bool is_main, is_known = false;
    for (uint32_t at = calls; at < calls + 200; at++) {
        is_known =
            is_known || (sonde__tail_site(&l->tails, at, &found, &is_main) && found == wanted);
    }
    CHECK(is_known);
}

/* The instruction at an offset jumps to the stub. */
static void check_jump(const struct library *l, uint32_t offset, const char *stub)
{
    uint64_t vaddr = l->file.index.base + offset;
    char *text =
        darwin_output("llvm-objdump-19 -d --start-address=%llu --stop-address=%llu library "
                      "| grep -E '^ *[0-9a-f]+:'",
                      (unsigned long long)vaddr, (unsigned long long)vaddr + 4);
    CHECK(strstr(text, "\tb\t") != NULL || strstr(text, "\tjmp\t") != NULL);
    CHECK_CONTAINS(text, stub);
    free(text);
}

/* What a call of `symbol`, the only one in a function that is never inlined, enters. */
static bool find_call(const struct library *l, const char *symbol, uint32_t *ret_entry)
{
    uint32_t calls = offset_of(l, symbol);
    bool is_main, is_known = false;
    for (uint32_t at = calls; at < calls + 36 && !is_known; at++) {
        is_known = sonde__tail_site(&l->tails, at, ret_entry, &is_main);
    }
    return is_known;
}

static uint32_t entry_of_call(const struct library *l, const char *symbol)
{
    uint32_t found = 0;
    CHECK(find_call(l, symbol, &found));
    return found;
}

/* Frames that would explain that a call by a message in `caller` has led to `inner`. Null: none is
 * shown. */
static void check_behind(const struct library *l, const char *caller, const char *inner,
                         enum sonde__tail_answer wanted, const char *first, const char *second)
{
    struct sonde__tail_found found;
    enum sonde__tail_answer answer =
        sonde__tail_between(&l->tails, entry_of_call(l, caller), offset_of(l, inner), &found);
    CHECK_EQ(answer, wanted);
    CHECK(answer != SONDE__TAIL_POSSIBLE || found.ways == UINT32_MAX);
    CHECK_EQ(found.count, (first != NULL) + (second != NULL));
    CHECK(first == NULL || found.frames[0].entry == offset_of(l, first));
    CHECK(second == NULL || found.frames[1].entry == offset_of(l, second));
}

/* Jumps of methods that were called by a message: possible, never certain. */
static void check_behind_messages(const struct library *l)
{
    check_behind(l, "_sends_handed", "_finish", SONDE__TAIL_POSSIBLE, "_finish_more",
                 "-[Shape(Handing) handed]");
    check_behind(l, "_sends_handed", "_finish_more", SONDE__TAIL_POSSIBLE,
                 "-[Shape(Handing) handed]", NULL);
    check_behind(l, "_sends_passed", "-[Square area]", SONDE__TAIL_POSSIBLE,
                 "-[Shape(Handing) passed]", NULL);
    check_behind(l, "_messages_handed", "_finish", SONDE__TAIL_POSSIBLE, "_finish_more",
                 "-[Shape(Handing) handed]");
    uint32_t entry;
    CHECK(!find_call(l, "_messages_either", &entry));
    /* two methods have the selector */
    check_behind(l, "_sends_shared", "_finish", SONDE__TAIL_POSSIBLE, NULL, NULL);
    /* the method itself, and a function that no method jumps to */
    check_behind(l, "_sends_handed", "-[Shape(Handing) handed]", SONDE__TAIL_NOTHING, NULL, NULL);
    check_behind(l, "_sends_shared", "-[Square(Handing) shared]", SONDE__TAIL_NOTHING, NULL, NULL);
    check_behind(l, "_sends_handed", "_exported", SONDE__TAIL_NOTHING, NULL, NULL);
    check_behind(l, "_sends_passed", "-[Shape(Handing) handed]", SONDE__TAIL_NOTHING, NULL, NULL);
}

static void check(const char *triple, const char *lflags, bool is_stripped)
{
    struct library l;
    struct sonde__tail_found found;
    build(triple, lflags, is_stripped, &l);
    check_site(&l, "_ends_by_area");
    check_site(&l, "_ends_by_message");
    /* a method with that selector: the function has jumped there */
    static const char *const methods[] = {"-[Shape area]", "-[Square area]"};
    for (unsigned i = 0; i < 2; i++) {
        CHECK(between(&l, "_ends_by_area", methods[i], &found) == SONDE__TAIL_FRAMES);
        CHECK(found.count == 1 && found.frames[0].entry == offset_of(&l, "_ends_by_area"));
        check_jump(&l, found.frames[0].place, "objc_msgSend$area");
    }
    CHECK(between(&l, "_ends_by_message", methods[1], &found) == SONDE__TAIL_FRAMES);
    CHECK(found.count == 1 && found.frames[0].entry == offset_of(&l, "_ends_by_message"));
    /* another method, a selector that no method of this image has: the function has gone, the way
     * is not known */
    static const char *const ways[][2] = {{"_ends_by_area", "-[Shape(Printing) print]"},
                                          {"_ends_by_area", "_exported"},
                                          {"_ends_by_unknown", "-[Shape area]"},
                                          {"_ends_by_message", "-[Shape(Printing) print]"}};
    for (unsigned i = 0; i < 4; i++) {
        CHECK(between(&l, ways[i][0], ways[i][1], &found) == SONDE__TAIL_SEVERAL);
        CHECK(found.count == 1 && found.frames[0].entry == offset_of(&l, ways[i][0]));
        CHECK(found.ways == UINT32_MAX);
    }
    /* a jump to another function of another image is no message */
    CHECK(between(&l, "_ends_by_another", "-[Shape area]", &found) == SONDE__TAIL_NOTHING);
    /* without a jump nothing is missing */
    CHECK(between(&l, "_sends", "-[Shape area]", &found) == SONDE__TAIL_NOTHING);
    check_behind_messages(&l);
    named_file_close(&l.file);
}

TEST_TIMEOUT(functions_that_end_by_a_message_arm64, 200)
{
    check("arm64-apple-macos13", "-objc_stubs_fast -objc_relative_method_lists", false);
    check("arm64-apple-macos13", "-objc_stubs_small", true);
}

TEST_TIMEOUT(functions_that_end_by_a_message_x86_64, 200)
{
    check("x86_64-apple-macos13", "", false);
    check("x86_64-apple-macos13", "-no_fixup_chains", true);
}
