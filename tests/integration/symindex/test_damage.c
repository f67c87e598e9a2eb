// SPDX-License-Identifier: Apache-2.0
/* Damaged input: after a bit flip in an index or in debug information there is an answer, none, or
 * a clean failure. A bad unit costs only itself. Each allocation may fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_crc32c.h"
#include "image_elf.h"
#include "mem_heap.h"
#include "symindex.h"
#include "symindex_convert.h"
#include "test.h"

static const char two_units[] =
    "printf 'static int f(volatile int*p){return *p;}\\n"
    "int g(volatile int*p){if(p[3])return f(p)+f(p+1);return f(p+2);}\\n' >\"$0.a.c\" && "
    "printf 'static int h(volatile int*p){return *p+1;}\\n"
    "int i(volatile int*p){return h(p)+h(p+1);}\\n' >\"$0.b.c\" && "
    "gcc -O2 -g -ffunction-sections -shared -fPIC -o \"$0\" \"$0.a.c\" \"$0.b.c\"";

static char *build(size_t *ret_size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/small", test_folder());
    const char *argv[] = {"sh", "-c", two_units, path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("%s", run.err);
    }
    test_run_done(&run);
    return test_read_file(path, ret_size);
}

static enum sonde_status convert(const char *bytes, size_t size, struct sonde__symindex_made *made)
{
    struct sonde__elf elf;
    struct sonde_error error;
    struct sonde__symindex_source source = {.debug = &elf};
    enum sonde_status status = sonde__elf_open(bytes, size, &elf, &error);
    return status == SONDE_OK ? sonde__symindex_convert(&source, made, &error) : status;
}

/* Query everything. */
static unsigned use(const uint8_t *data, size_t size)
{
    struct sonde__symindex index;
    struct sonde__symindex_strings strings;
    struct sonde__symindex_bad_unit unit;
    struct sonde_error error;
    struct sonde__symindex_frame frames[16];
    unsigned known = 0;
    if (sonde__symindex_open(data, size, &index, &error) != SONDE_OK) {
        return 0;
    }
    (void)sonde__symindex_intact(&index);
    uint64_t step = index.code_bytes / 3000 + 1;
    CHECK_OK(sonde__symindex_strings_init(&strings, &index));
    for (uint64_t at = 0; at < index.code_bytes; at += step) {
        struct sonde__symindex_symbol symbol;
        size_t n = sonde__symindex_find(&index, index.base + at, frames, 16);
        CHECK(n <= 16);
        known += n != 0;
        for (size_t i = 0; i < n; i++) {
            CHECK(strlen(sonde__symindex_name(&strings, frames[i].name)) < 1u << 20);
            CHECK(strlen(sonde__symindex_file(&strings, frames[i].file)) < 1u << 20);
        }
        if (sonde__symindex_symbol(&index, index.base + at, &symbol)) {
            for (uint32_t i = 0; i < symbol.alias_count && i < 10; i++) {
                CHECK(strlen(sonde__symindex_name(
                          &strings, sonde__symindex_alias(&index, &symbol, i))) < 1u << 20);
            }
        }
    }
    for (uint32_t i = 0; i < 20 && sonde__symindex_bad_unit(&index, i, &unit); i++) {
        CHECK(strlen(unit.name) + strlen(unit.what) < 1u << 20);
    }
    sonde__symindex_strings_done(&strings);
    return known;
}

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Correct the checksum, so that a reader accepts the damaged header. */
static void sign_header(uint8_t *data, size_t size)
{
    uint32_t header = size >= 16 ? u32(data + 12) : 0;
    if (header < 8 || header > size) {
        return;
    }
    uint32_t crc = sonde__base_crc32c(0, data, header - 4);
    for (unsigned i = 0; i < 4; i++) {
        data[header - 4 + i] = (uint8_t)(crc >> 8 * i);
    }
}

/* Flip every bit of an index in turn, with a correct header checksum. */
TEST_TIMEOUT(index_survives_flipped_bits, 250)
{
    struct sonde__symindex_made made;
    size_t size;
    char *bytes = build(&size);
    CHECK_OK(convert(bytes, size, &made));
    unsigned whole = use(made.data, made.size);
    unsigned different = 0;
    CHECK(whole > 10);
    for (size_t i = 0; i < made.size * 8; i += i < 8000 ? 1 : 5) {
        /* a copy of the exact size: a sanitizer sees reads past the end */
        uint8_t *copy = malloc(made.size);
        CHECK(copy != NULL);
        memcpy(copy, made.data, made.size);
        copy[i / 8] ^= (uint8_t)(1 << i % 8);
        sign_header(copy, made.size);
        different += use(copy, made.size) != whole;
        free(copy);
    }
    CHECK(different > 100);
    for (size_t cut = 0; cut < made.size; cut += 3) {
        uint8_t *copy = malloc(cut + 1);
        CHECK(copy != NULL);
        memcpy(copy, made.data, cut);
        CHECK_EQ(use(copy, cut), 0);
        free(copy);
    }
    sonde__mem_free(made.data);
    free(bytes);
}

TEST(index_notices_damage)
{
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde_error error;
    size_t size;
    char *bytes = build(&size);
    CHECK_OK(convert(bytes, size, &made));
    made.data[20] ^= 1; /* a field of the header */
    CHECK_EQ(sonde__symindex_open(made.data, made.size, &index, &error), SONDE_CORRUPT);
    made.data[20] ^= 1;
    made.data[8] ^= 2; /* the version */
    CHECK_EQ(sonde__symindex_open(made.data, made.size, &index, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "version");
    made.data[8] ^= 2;
    CHECK_OK(sonde__symindex_open(made.data, made.size, &index, &error));
    CHECK(sonde__symindex_intact(&index));
    made.data[index.parts[SYMINDEX_NAMES].data - made.data] ^= 4;
    CHECK(!sonde__symindex_intact(&index));
    sonde__mem_free(made.data);
    free(bytes);
}

static struct sonde__elf_section section_of(const char *bytes, size_t size, const char *name)
{
    struct sonde__elf elf;
    struct sonde__elf_section section = {0};
    CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
    CHECK(sonde__elf_section_by_name(&elf, name, &section));
    return section;
}

/* Flip every bit of the important sections in turn: at most units are lost, and functions keep at
 * least their symbols' names. */
TEST_TIMEOUT(debug_information_survives_flipped_bits, 250)
{
    static const char *const names[] = {".debug_info", ".debug_abbrev", ".debug_line",
                                        ".debug_rnglists"};
    size_t size;
    char *bytes = build(&size);
    unsigned listed = 0;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct sonde__elf_section s = section_of(bytes, size, names[n]);
        size_t offset = (size_t)(s.data - (const uint8_t *)bytes);
        for (size_t i = 0; i < s.size * 8; i++) {
            struct sonde__symindex_made made;
            bytes[offset + i / 8] ^= (char)(1 << i % 8);
            CHECK_OK(convert(bytes, size, &made));
            CHECK(use(made.data, made.size) > 10);
            listed += made.bad_units != 0;
            sonde__mem_free(made.data);
            bytes[offset + i / 8] ^= (char)(1 << i % 8);
        }
    }
    CHECK(listed > 100);
    free(bytes);
}

/* The second of two units keeps its lines when the first one's DIEs are damaged. */
TEST(bad_unit_costs_itself)
{
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde__symindex_bad_unit unit;
    struct sonde__symindex_strings strings;
    struct sonde__symindex_frame frames[4];
    struct sonde_error error;
    struct sonde__elf elf;
    struct sonde__elf_section symtab;
    struct sonde__elf_symbol symbol;
    size_t size;
    unsigned with_lines = 0;
    char *bytes = build(&size);
    struct sonde__elf_section info = section_of(bytes, size, ".debug_info");
    bytes[(size_t)(info.data - (const uint8_t *)bytes) + 12] = 0x77; /* code of the first DIE */
    CHECK_OK(convert(bytes, size, &made));
    CHECK_EQ(made.units, 2);
    CHECK_EQ(made.bad_units, 1);
    CHECK_OK(sonde__symindex_open(made.data, made.size, &index, &error));
    CHECK(sonde__symindex_bad_unit(&index, 0, &unit));
    CHECK_EQ(unit.offset, 0);
    CHECK_CONTAINS(unit.what, "malformed");
    CHECK(!sonde__symindex_bad_unit(&index, 1, &unit));
    CHECK_OK(sonde__symindex_strings_init(&strings, &index));
    CHECK_OK(sonde__elf_open(bytes, size, &elf, NULL));
    CHECK(sonde__elf_section_by_name(&elf, ".symtab", &symtab));
    for (uint32_t i = 0; i < sonde__elf_symbol_count(&elf, &symtab); i++) {
        CHECK(sonde__elf_symbol(&elf, &symtab, i, &symbol));
        if (strcmp(symbol.name, "g") == 0 || strcmp(symbol.name, "i") == 0) {
            size_t n = sonde__symindex_find(&index, symbol.value, frames, 4);
            CHECK(n > 0);
            CHECK_STR(sonde__symindex_name(&strings, frames[n - 1].name), symbol.name);
            CHECK_EQ(frames[n - 1].line != 0, symbol.name[0] == 'i');
            with_lines += frames[n - 1].line != 0;
        }
    }
    CHECK_EQ(with_lines, 1);
    sonde__symindex_strings_done(&strings);
    sonde__mem_free(made.data);
    free(bytes);
}

/* Each allocation fails once: a clean status, and nothing leaks (the harness looks). */
TEST_TIMEOUT(conversion_without_memory, 250)
{
    size_t size;
    char *bytes = build(&size);
    struct sonde__symindex_made made;
    uint64_t asked;
    sonde__mem_fail_from(UINT64_MAX);
    CHECK_OK(convert(bytes, size, &made));
    asked = sonde__mem_asked();
    sonde__mem_free(made.data);
    CHECK(asked > 50);
    for (uint64_t i = 0; i < asked; i++) {
        sonde__mem_fail_once(i);
        enum sonde_status status = convert(bytes, size, &made);
        if (status == SONDE_OK) { /* an unread line table */
            sonde__mem_free(made.data);
        } else {
            CHECK_EQ(status, SONDE_MEMORY);
        }
    }
    sonde__mem_fail_from(UINT64_MAX);
    free(bytes);
}
