// SPDX-License-Identifier: Apache-2.0
/* Breakpad symbol files. What they mean is as Breakpad's docs/symbol_files.md says; its examples
 * are among the records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "symindex.h"
#include "symindex_convert.h"
#include "test.h"

#define HEAD                                                                                       \
    "MODULE Linux x86_64 6EDC6ACDB282125843FD59DA9C81BD830 prog\n"                                 \
    "INFO CODE_ID CD6ADC6E82B2581243FD59DA9C81BD83AABBCCDD\n"                                      \
    "FILE 4 /build/mc/in/browser/app/nsBrowserApp.cpp\nFILE 7 relative.c\nFILE 9 /top.c\n"         \
    "INLINE_ORIGIN 42 DoSomething()\nINLINE_ORIGIN 43 Deeper\n"
#define FUNCTIONS                                                                                  \
    "FUNC c184 30 0 nsQueryInterfaceWithError::operator()(nsID const&, void**) const\n"            \
    "INLINE 0 10 4 42 c190 8\nINLINE 1 3 7 43 c194 4\n"                                            \
    "c184 7 59 4\nc18b 15 62 4\nc1a0 14 63 4\n"                                                    \
    "FUNC m 2000 10 0 first\r\n2000 10 5 9\r\n"
#define PUBLICS "PUBLIC 2160 0 Public2_1\nPUBLIC m 2170 0 after\nPUBLIC 2000 0 other_name\n"

struct opened {
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde__symindex_made made;
};

static enum sonde_status convert(const char *text, size_t size, struct sonde__symindex_made *made)
{
    struct sonde__breakpad file;
    struct sonde_error error;
    enum sonde_status status = sonde__breakpad_open(text, size, &file, &error);
    if (status != SONDE_OK) {
        return status;
    }
    const struct sonde__symindex_source source = {.breakpad = &file};
    return sonde__symindex_convert(&source, made, &error);
}

static void open_text(const char *text, struct opened *ret_opened)
{
    *ret_opened = (struct opened){.made = {.data = NULL}};
    CHECK_OK(convert(text, strlen(text), &ret_opened->made));
    CHECK_OK(sonde__symindex_open(ret_opened->made.data, ret_opened->made.size, &ret_opened->index,
                                  NULL));
    CHECK(sonde__symindex_intact(&ret_opened->index));
    CHECK_OK(sonde__symindex_strings_init(&ret_opened->strings, &ret_opened->index));
}

static void close_it(struct opened *opened)
{
    sonde__symindex_strings_done(&opened->strings);
    sonde__mem_free(opened->made.data);
}

/* "innermost file:line < outer file:line". */
static const char *look(struct opened *opened, uint64_t at)
{
    static char text[512];
    static struct sonde__call calls[SONDE__CALLS_MAX];
    struct sonde__symindex_symbol symbol;
    size_t used = 0;
    uint32_t count = sonde__symindex_calls(&opened->strings, at, calls);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s:%u", i != 0 ? " < " : "",
                                 calls[i].name, calls[i].file, calls[i].line);
    }
    if (count == 0 && sonde__symindex_symbol(&opened->index, at, &symbol)) {
        snprintf(text, sizeof text, "[%s]", sonde__symindex_name(&opened->strings, symbol.name));
    }
    return text;
}

#define APP      "/build/mc/in/browser/app/nsBrowserApp.cpp"
#define OPERATOR "nsQueryInterfaceWithError::operator()(nsID const&, void**) const"

TEST(functions_lines_and_inlined_calls_are_found)
{
    struct opened opened;
    open_text(HEAD FUNCTIONS PUBLICS, &opened);
    CHECK_EQ(opened.index.build_id.size, 20);
    CHECK_EQ(opened.index.build_id.bytes[0], 0xcd);
    CHECK_EQ(opened.index.build_id.bytes[19], 0xdd);
    CHECK_EQ(opened.index.arch, SONDE_ARCH_X86_64);
    CHECK_EQ(opened.index.bad_units, 0);
    CHECK_STR(look(&opened, 0xc183), "after :0");
    CHECK_STR(look(&opened, 0xc184), OPERATOR " " APP ":59");
    CHECK_STR(look(&opened, 0xc18b), OPERATOR " " APP ":62");
    CHECK_STR(look(&opened, 0xc190), "DoSomething() " APP ":62 < " OPERATOR " " APP ":10");
    CHECK_STR(look(&opened, 0xc194),
              "Deeper " APP ":62 < DoSomething() relative.c:3 < " OPERATOR " " APP ":10");
    CHECK_STR(look(&opened, 0xc198), OPERATOR " " APP ":62");
    CHECK_STR(look(&opened, 0xc1b3), OPERATOR " " APP ":63");
    CHECK_STR(look(&opened, 0xc1b4), "");
    CHECK_STR(look(&opened, 0x200f), "first /top.c:5");
    CHECK_STR(look(&opened, 0x1fff), "");
    close_it(&opened);
}

TEST(public_symbols_extend_to_the_next_one)
{
    struct opened opened;
    open_text(HEAD FUNCTIONS PUBLICS, &opened);
    CHECK_STR(look(&opened, 0x2010), ""); /* behind a function, before the first public one */
    CHECK_CONTAINS(look(&opened, 0x2160), "Public2_1");
    CHECK_CONTAINS(look(&opened, 0x216f), "Public2_1");
    CHECK_CONTAINS(look(&opened, 0x2170), "after");
    CHECK_CONTAINS(look(&opened, 0x2000), "first"); /* a function before a public symbol */
    close_it(&opened);
}

TEST(identity_of_each_system)
{
    struct opened opened;
    open_text("MODULE mac arm64 0123456789ABCDEF0123456789ABCDEF0 App\nFUNC 10 4 0 f\n", &opened);
    CHECK_EQ(opened.index.build_id.size, 16);
    CHECK_EQ(opened.index.build_id.bytes[15], 0xef);
    CHECK_EQ(opened.index.arch, SONDE_ARCH_AARCH64);
    CHECK(opened.index.from_header);
    close_it(&opened);
    /* of an ELF: the first 16 bytes of its build-id, as a GUID */
    static const char *const guids[] = {
        "MODULE Linux arm64 0123456789ABCDEF0123456789ABCDEF0 prog\nFUNC 10 4 0 f\n",
        "MODULE Android arm64 0123456789abcdef0123456789abcdef0 prog\nINFO CODE_ID\nFUNC 10 4 0 "
        "f\n"};
    static const uint8_t first[] = {0x67, 0x45, 0x23, 0x01, 0xab, 0x89, 0xef, 0xcd,
                                    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    for (size_t i = 0; i < sizeof guids / sizeof *guids; i++) {
        open_text(guids[i], &opened);
        CHECK_EQ(opened.index.build_id.size, sizeof first);
        CHECK(memcmp(opened.index.build_id.bytes, first, sizeof first) == 0);
        CHECK(!opened.index.from_header);
        close_it(&opened);
    }
    static const char *const nobody[] = {
        "MODULE Linux arm64 000000000000000000000000000000000 prog\nFUNC 10 4 0 f\n",
        "MODULE mac arm64 000000000000000000000000000000000 prog\nFUNC 10 4 0 f\n",
        "MODULE Linux arm64 0123 prog\nFUNC 10 4 0 f\n", "MODULE Linux\nFUNC 10 4 0 f\n"};
    for (size_t i = 0; i < sizeof nobody / sizeof *nobody; i++) {
        open_text(nobody[i], &opened);
        CHECK_EQ(opened.index.build_id.size, 0);
        close_it(&opened);
    }
    struct sonde__symindex_made made;
    static const char *const none[] = {"MODULE windows x86 AA0 p\nFUNC 10 4 0 f\n", "MODULE ", "",
                                       "FUNC 10 4 0 f\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK_EQ(convert(none[i], strlen(none[i]), &made), SONDE_UNSUPPORTED);
    }
    CHECK_EQ(convert(HEAD, strlen(HEAD), &made), SONDE_CORRUPT);
}

/* Records that are malformed are left out, and counted as an error. */
TEST(malformed_records_are_left_out)
{
    static const char *const records[] = {
        "FUNC zz 4 0 f\n",
        "FUNC 10\n",
        "INLINE 5 1 4 42 c184 4\n",
        "INLINE 0 1 4\n",
        "12 4 1 99\n",
        "PUBLIC x 0 y\n",
        "FILE x y\n",
        "INLINE_ORIGIN 1\n",
        "FUNC fffffffff 4 0 f\n",
        "c184 ffffffff 1 4\n",
        "random words\n",
        "FUNC c184 99999999999999999999 0 f\n",
        "INLINE 2000 1 4 42 c184 4\n",
    };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        char text[2048];
        struct opened opened;
        snprintf(text, sizeof text, HEAD FUNCTIONS "%s", records[i]);
        open_text(text, &opened);
        if (opened.index.bad_units != 1) {
            FAIL("no error: %s", records[i]);
        }
        CHECK_STR(look(&opened, 0xc184), OPERATOR " " APP ":59");
        close_it(&opened);
    }
}

/* Each way to cut it, and each byte changed: no crash, under a sanitizer no byte too far. */
TEST(damaged_files_do_no_harm)
{
    static const char text[] = HEAD FUNCTIONS PUBLICS;
    static const char bytes[] = "\n 0f\xff";
    for (size_t size = 0; size < sizeof text; size++) {
        for (size_t other = 0; other < sizeof bytes; other++) {
            struct sonde__symindex_made made;
            char *copy = malloc(sizeof text);
            CHECK(copy != NULL);
            memcpy(copy, text, sizeof text);
            copy[size] = bytes[other];
            size_t used = other == 0 ? size : sizeof text - 1;
            char *exact = malloc(used != 0 ? used : 1);
            CHECK(exact != NULL);
            memcpy(exact, copy, used);
            if (convert(exact, used, &made) == SONDE_OK) {
                sonde__mem_free(made.data);
            }
            free(exact);
            free(copy);
        }
    }
}
