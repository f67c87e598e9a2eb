// SPDX-License-Identifier: Apache-2.0
/* Sections of __unwind_info put together by hand after compact_unwind_encoding.h: a regular page, a
 * compressed one, and malformed ones. Sections of linkers: tests/integration/macho, against
 * llvm-objdump. */
#include <string.h>

#include "base_bytes.h"
#include "image_unwind_info.h"
#include "test.h"

enum {
    BASE = 0x100000000,
    COMMON_AT = 28,
    INDEX_AT = COMMON_AT + 8,
    REGULAR_AT = INDEX_AT + 3 * 12,
    COMPRESSED_AT = REGULAR_AT + 8 + 2 * 8,
    SIZE = COMPRESSED_AT + 12 + 3 * 4 + 4,
};

static const uint32_t words[] = {
    1,
    COMMON_AT,
    2,
    0,
    0,
    INDEX_AT,
    3, /* header */
    0x01000000,
    0x02020000, /* common encodings */
    0x1000,
    REGULAR_AT,
    0, /* index */
    0x2000,
    COMPRESSED_AT,
    0, /* */
    0x3000,
    0,
    0, /* the end */
    2,
    8 | 2 << 16,
    0x1000,
    0x01010001,
    0x1800,
    0, /* regular: two entries */
    3,
    12 | 3 << 16,
    24 | 1 << 16, /* compressed: three, one encoding */
    0x000000 | 1 << 24,
    0x000010 | 2 << 24,
    0x20,
    0x04abc /* the last one is the encoding */
};
_Static_assert(sizeof words == SIZE, "the layout is as the constants say");

static void make(uint8_t section[SIZE])
{
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        sonde__base_put_le32(section + (size_t)i * 4, words[i]);
    }
}

static uint32_t encoding_at(const struct sonde__unwind_info *info, uint64_t offset)
{
    struct sonde__unwind_info_entry entry;
    return sonde__unwind_info_find(info, BASE + offset, &entry) ? entry.encoding : UINT32_MAX;
}

static bool is_same(const struct sonde__unwind_info_entry *a,
                    const struct sonde__unwind_info_entry *b)
{
    return a->start == b->start && a->end == b->end && a->encoding == b->encoding;
}

TEST(both_kinds_of_pages_are_read)
{
    static const struct sonde__unwind_info_entry all[] = {
        {BASE + 0x1000, BASE + 0x1800, 0x01010001}, {BASE + 0x1800, BASE + 0x2000, 0},
        {BASE + 0x2000, BASE + 0x2010, 0x02020000}, {BASE + 0x2010, BASE + 0x2020, 0x04abc},
        {BASE + 0x2020, BASE + 0x3000, 0x01000000},
    };
    uint8_t section[SIZE];
    struct sonde__unwind_info info;
    struct sonde__unwind_info_walk walk;
    struct sonde__unwind_info_entry entry, found;
    uint64_t start = 0, end = 0;
    make(section);
    CHECK(sonde__unwind_info_open(section, SIZE, BASE, &info));
    CHECK_EQ(sonde__unwind_info_count_max(&info), 5);
    CHECK(sonde__unwind_info_range(&info, &start, &end));
    CHECK_EQ(start, BASE + 0x1000);
    CHECK_EQ(end, BASE + 0x3000);
    sonde__unwind_info_begin(&info, &walk);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK(sonde__unwind_info_next(&walk, &entry));
        CHECK(is_same(&entry, &all[i]));
        CHECK(sonde__unwind_info_find(&info, all[i].start, &found));
        CHECK(is_same(&entry, &found));
        CHECK(sonde__unwind_info_find(&info, all[i].end - 1, &found));
        CHECK(is_same(&entry, &found));
    }
    CHECK(!sonde__unwind_info_next(&walk, &entry));
    CHECK(!sonde__unwind_info_find(&info, BASE + 0xfff, &found));
    CHECK(!sonde__unwind_info_find(&info, BASE + 0x3000, &found));
    CHECK(!sonde__unwind_info_find(&info, BASE - 1, &found));
    CHECK(!sonde__unwind_info_find(&info, 0, &found));
}

TEST(sections_with_bad_headers_are_refused)
{
    static const struct {
        unsigned at;
        uint32_t value;
    } bad[] = {{0, 2}, {4, SIZE - 4}, {8, 0x40000000}, {20, SIZE - 8}, {24, 0}, {24, 0x20000000}};
    uint8_t section[SIZE];
    struct sonde__unwind_info info;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        make(section);
        sonde__base_put_le32(section + bad[i].at, bad[i].value);
        CHECK(!sonde__unwind_info_open(section, SIZE, BASE, &info));
    }
    CHECK(!sonde__unwind_info_open(section, 27, BASE, &info));
    CHECK(!sonde__unwind_info_open(NULL, SIZE, BASE, &info));
}

/* A page that is cut, of an unknown kind, or elsewhere: the other page is still read. */
TEST(bad_pages_cost_themselves)
{
    static const struct {
        unsigned at;
        uint32_t value;
    } bad[] = {
        {INDEX_AT + 12 + 4, SIZE - 2},           /* its place */
        {INDEX_AT + 12 + 4, UINT32_MAX},         /* */
        {COMPRESSED_AT, 4},                      /* its kind */
        {COMPRESSED_AT + 4, 12 | 5u << 16},      /* its entries */
        {COMPRESSED_AT + 4, 0xffff | 1u << 16},  /* */
        {COMPRESSED_AT + 8, 24 | 2u << 16},      /* its encodings */
        {COMPRESSED_AT + 8, 0xfff0 | 1u << 16u}, /* */
    };
    uint8_t section[SIZE];
    struct sonde__unwind_info info;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        make(section);
        sonde__base_put_le32(section + bad[i].at, bad[i].value);
        CHECK(sonde__unwind_info_open(section, SIZE, BASE, &info));
        CHECK_EQ(encoding_at(&info, 0x1000), 0x01010001);
        CHECK_EQ(encoding_at(&info, 0x2000), UINT32_MAX);
        CHECK_EQ(sonde__unwind_info_count_max(&info), 2);
    }
}

TEST(indexes_of_encodings_that_lead_nowhere_say_nothing)
{
    uint8_t section[SIZE];
    struct sonde__unwind_info info;
    make(section);
    section[COMPRESSED_AT + 12 + 4 + 3] = 3;
    CHECK(sonde__unwind_info_open(section, SIZE, BASE, &info));
    CHECK_EQ(encoding_at(&info, 0x2010), 0);
    CHECK_EQ(encoding_at(&info, 0x2000), 0x02020000);
}

/* Entries with falling addresses are left out, and none reaches into the next page. */
TEST(entries_that_go_back_are_left_out)
{
    uint8_t section[SIZE];
    struct sonde__unwind_info info;
    struct sonde__unwind_info_walk walk;
    struct sonde__unwind_info_entry entry;
    uint64_t covered = 0;
    unsigned count = 0;
    make(section);
    sonde__base_put_le32(section + REGULAR_AT + 8, 0x1900);
    sonde__base_put_le32(section + COMPRESSED_AT + 12 + 8, 0x5000);
    CHECK(sonde__unwind_info_open(section, SIZE, BASE, &info));
    sonde__unwind_info_begin(&info, &walk);
    for (; sonde__unwind_info_next(&walk, &entry); count++) {
        CHECK(entry.start >= covered && entry.start < entry.end);
        CHECK(entry.end <= BASE + 0x3000);
        covered = entry.end;
    }
    CHECK_EQ(count, 3);
}

/* Many index entries may name one page: the reader reads it at most as often as the section has
 * room for. */
TEST(pages_that_repeat_are_bounded)
{
    enum { PAGES = 200, PAGE_AT = 28 + (PAGES + 1) * 12, ENTRIES = 100 };
    static uint8_t section[PAGE_AT + 8 + ENTRIES * 8];
    struct sonde__unwind_info info;
    sonde__base_put_le32(section, 1);
    sonde__base_put_le32(section + 20, 28);
    sonde__base_put_le32(section + 24, PAGES + 1);
    for (unsigned i = 0; i <= PAGES; i++) {
        sonde__base_put_le32(section + 28 + (size_t)i * 12, i * 0x1000);
        sonde__base_put_le32(section + 28 + (size_t)i * 12 + 4, PAGE_AT);
    }
    sonde__base_put_le32(section + PAGE_AT, 2);
    sonde__base_put_le32(section + PAGE_AT + 4, 8 | ENTRIES << 16);
    CHECK(sonde__unwind_info_open(section, sizeof section, BASE, &info));
    CHECK_EQ(sonde__unwind_info_count_max(&info), sizeof section / 4);
}
