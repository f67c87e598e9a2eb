// SPDX-License-Identifier: Apache-2.0
/* Call frame records that real libraries rarely have: other encodings, 64-bit lengths, old
 * augmentations, .debug_frame of version 4, search tables that are absent or wrong. */
#include <string.h>

#include "image_cfi.h"
#include "test.h"

#define FRAME_VADDR 0x10000u
#define HDR_VADDR   0x8000u
#define ARCH        0 /* x86-64 */

struct made {
    uint8_t bytes[1024];
    size_t size;
    struct sonde__cfi cfi;
};

static struct made made;

static void put(const void *bytes, size_t size)
{
    CHECK(made.size + size <= sizeof made.bytes);
    memcpy(made.bytes + made.size, bytes, size);
    made.size += size;
}

static void put_uint(uint64_t value, size_t size)
{
    put(&value, size);
}

static void begin(bool is_debug)
{
    memset(&made, 0, sizeof made);
    made.cfi.eh_frame_vaddr = FRAME_VADDR;
    made.cfi.eh_frame_hdr_vaddr = HDR_VADDR;
    *(is_debug ? &made.cfi.debug_frame : &made.cfi.eh_frame) = made.bytes;
}

static void end(void)
{
    made.cfi.eh_frame_size = made.cfi.eh_frame != NULL ? made.size : 0;
    made.cfi.debug_frame_size = made.cfi.debug_frame != NULL ? made.size : 0;
}

/* A CIE of .eh_frame, `augmentation` with its data behind. */
static void put_cie(const char *augmentation, const void *data, size_t data_size)
{
    size_t letters = strlen(augmentation) + 1;
    put_uint(4 + 1 + letters + 3 + data_size, 4);
    put_uint(0, 4);
    put_uint(1, 1);
    put(augmentation, letters);
    put("\x01\x78\x10", 3);
    put(data, data_size);
}

/* An FDE of .eh_frame for the CIE at 0; address and size in stored form. */
static void put_fde(const void *range, size_t range_size, bool has_data)
{
    put_uint(4 + range_size + has_data, 4);
    put_uint(made.size, 4);
    put(range, range_size);
    put("", has_data);
}

static void check_bounds(uint64_t vaddr, uint64_t start, uint64_t after)
{
    uint64_t found_start = 0;
    uint64_t found_end = 0;
    CHECK(sonde__cfi_fde_bounds(&made.cfi, ARCH, vaddr, &found_start, &found_end));
    CHECK_EQ(found_start, start);
    CHECK_EQ(found_end, after);
}

static bool is_covered(uint64_t vaddr)
{
    uint64_t start = 0;
    uint64_t after = 0;
    return sonde__cfi_fde_bounds(&made.cfi, ARCH, vaddr, &start, &after);
}

static void check_encoding(uint8_t encoding, const void *range, size_t size)
{
    begin(false);
    put_cie("zR", (const uint8_t[]){1, encoding}, 2);
    put_fde(range, size, true);
    made.cfi.text_vaddr = 0x2000;
    made.cfi.data_vaddr = 0x3000;
    end();
    check_bounds(0x5000, 0x5000, 0x5040);
    check_bounds(0x503f, 0x5000, 0x5040);
    CHECK(!is_covered(0x4fff));
    CHECK(!is_covered(0x5040));
}

TEST(pointer_encodings)
{
    check_encoding(0x00, "\x00\x50\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16); /* absptr */
    check_encoding(0x01, "\x80\xa0\x01\x40", 4);                        /* uleb */
    check_encoding(0x02, "\x00\x50\x40\0", 4);                          /* udata2 */
    check_encoding(0x03, "\x00\x50\0\0\x40\0\0\0", 8);                  /* udata4 */
    check_encoding(0x0c, "\x00\x50\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16); /* sdata8 */
    check_encoding(0x09, "\x80\xa0\x01\xc0\x00", 5);                    /* sleb */
    check_encoding(0x23, "\x00\x30\0\0\x40\0\0\0", 8);                  /* textrel */
    check_encoding(0x3b, "\x00\x20\0\0\x40\0\0\0", 8);                  /* datarel */
    int32_t distance = 0x5000 - (int32_t)(FRAME_VADDR + 17 + 8);
    uint8_t range[8] = {0, 0, 0, 0, 0x40};
    memcpy(range, &distance, 4);
    check_encoding(0x1b, range, 8); /* pcrel: the CIE has 17 bytes */
}

TEST(refused_encodings_cost_their_records_only)
{
    begin(false);
    put_cie("zR", "\x01\x9b", 2); /* indirect */
    put_fde("\x00\x50\0\0\x40\0\0\0", 8, true);
    end();
    CHECK(!is_covered(0x5000));
    begin(false);
    put_cie("zR", "\x01\xff", 2); /* omitted */
    put_fde("\x00\x50\0\0\x40\0\0\0", 8, true);
    end();
    CHECK(!is_covered(0x5000));
}

TEST(absolute_pointers_of_a_loaded_image)
{
    begin(false);
    put_cie("zR", "\x01\x00", 2);
    put_fde("\x00\x50\x01\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16, true);
    made.cfi.absolute_bias = 0 - (uint64_t)0x10000;
    end();
    check_bounds(0x5000, 0x5000, 0x5040);
}

TEST(augmentations)
{
    struct sonde__cfi_fde fde;
    begin(false); /* personality (indirect, pcrel), language data, signal frame, B key, R */
    put_cie("zPLSBR", "\x07\x9b\1\2\3\4\x1b\x03", 8);
    put_fde("\x00\x50\0\0\x40\0\0\0", 8, true);
    end();
    CHECK(sonde__cfi_fde_find(&made.cfi, ARCH, 0x5000, &fde));
    CHECK(fde.cie.is_signal_frame);
    CHECK_EQ(fde.cie.data_align, -8);
    CHECK_EQ(fde.cie.return_reg, 16);
    begin(false); /* gcc 2: a pointer behind the string, no length */
    size_t letters = 3;
    put_uint(4 + 1 + letters + 8 + 3, 4);
    put_uint(0, 4);
    put("\1eh", 1 + letters);
    put_uint(0x1234, 8);
    put("\x01\x78\x10", 3);
    put_fde("\x00\x50\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16, false);
    end();
    check_bounds(0x5000, 0x5000, 0x5040);
    begin(false); /* unknown and without a length: the rest cannot be parsed */
    put_cie("x", "", 0);
    put_fde("\x00\x50\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16, false);
    end();
    CHECK(!is_covered(0x5000));
}

/* .debug_frame: CIE ids are all ones, FDEs name their CIE by offset; version 4; 64-bit lengths. */
static void put_debug_frame(bool is64)
{
    size_t word = is64 ? 8 : 4;
    begin(true);
    if (is64) {
        put_uint(0xffffffff, 4);
    }
    put_uint(word + 1 + 1 + 2 + 3, word);
    put_uint(UINT64_MAX, word);
    put("\4\0\x08\0", 4); /* version, no augmentation, address size, segment size */
    put("\x01\x78\x10", 3);
    if (is64) {
        put_uint(0xffffffff, 4);
    }
    put_uint(word + 16, word);
    put_uint(0, word);
    put("\x00\x50\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16);
    end();
}

TEST(debug_frame_of_version_4)
{
    put_debug_frame(false);
    check_bounds(0x5010, 0x5000, 0x5040);
    put_debug_frame(true);
    check_bounds(0x5010, 0x5000, 0x5040);
    CHECK(!is_covered(0x5040));
}

static bool count_fde(void *ctx, uint64_t start, uint64_t after)
{
    (void)start;
    (void)after;
    return ++*(unsigned *)ctx < 2;
}

TEST(each_record_until_told_to_stop)
{
    unsigned count = 0;
    begin(false);
    put_cie("zR", "\x01\x03", 2);
    put_fde("\x00\x50\0\0\x40\0\0\0", 8, true);
    put_fde("\x00\x60\0\0\0\0\0\0", 8, true); /* of no code: not one */
    put_uint(3, 4);                           /* malformed: too short for anything */
    put("abc", 3);
    put_fde("\x00\x70\0\0\x40\0\0\0", 8, true);
    put_fde("\x00\x80\0\0\x40\0\0\0", 8, true);
    end();
    sonde__cfi_each_fde(&made.cfi, ARCH, count_fde, &count);
    CHECK_EQ(count, 2);
    check_bounds(0x8000, 0x8000, 0x8040);
    CHECK(!is_covered(0x6000));
}

/* Two functions and their search table. */
static uint8_t hdr[28];

static void open_searched(void)
{
    int32_t starts[2] = {0x5000 - (int32_t)HDR_VADDR, 0x6000 - (int32_t)HDR_VADDR};
    int32_t places[2];
    begin(false);
    put_cie("zR", "\x01\x03", 2);
    places[1] = (int32_t)(FRAME_VADDR + made.size - HDR_VADDR);
    put_fde("\x00\x60\0\0\x40\0\0\0", 8, true);
    places[0] = (int32_t)(FRAME_VADDR + made.size - HDR_VADDR);
    put_fde("\x00\x50\0\0\x40\0\0\0", 8, true);
    end();
    memcpy(hdr, "\x01\x1b\x03\x3b\0\0\0\0\2\0\0\0", 12);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(hdr + 12 + i * 8, &starts[i], 4);
        memcpy(hdr + 16 + i * 8, &places[i], 4);
    }
    made.cfi.eh_frame_hdr = hdr;
    made.cfi.eh_frame_hdr_size = sizeof hdr;
}

TEST(search_table_is_used_where_it_is_whole)
{
    struct sonde__cfi_search search;
    open_searched();
    CHECK(sonde__cfi_search_open(&made.cfi, &search));
    CHECK_EQ(search.count, 2);
    check_bounds(0x503f, 0x5000, 0x5040);
    check_bounds(0x6000, 0x6000, 0x6040);
    CHECK(!is_covered(0x5040));
    CHECK(!is_covered(0x4fff));
    hdr[16] = 0xff; /* the first entry has a wrong record: only it is lost */
    CHECK(!is_covered(0x5000));
    check_bounds(0x6000, 0x6000, 0x6040);
}

TEST(records_are_scanned_where_the_search_table_is_malformed)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } broken[] = {{0, 2}, {1, 0x9b}, {2, 0xff}, {3, 0x3c}, {8, 3}, {8, 0}};
    struct sonde__cfi_search search;
    for (unsigned i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        open_searched();
        hdr[broken[i].at] = broken[i].value;
        CHECK(!sonde__cfi_search_open(&made.cfi, &search));
        check_bounds(0x5000, 0x5000, 0x5040);
        check_bounds(0x6000, 0x6000, 0x6040);
    }
}
