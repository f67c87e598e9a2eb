// SPDX-License-Identifier: Apache-2.0
#include "base_bytes.h"
#include "test.h"

TEST(reads_integers)
{
    const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, sizeof data);
    CHECK_EQ(sonde__base_bytes_u8(&b), 1);
    CHECK_EQ(sonde__base_bytes_u16(&b), 0x0302);
    CHECK_EQ(sonde__base_bytes_u32(&b), 0x07060504);
    CHECK_EQ(sonde__base_bytes_left(&b), 2);
    CHECK(!b.failed);
    b.big_endian = true;
    CHECK_EQ(sonde__base_bytes_u16(&b), 0x0809);
}

TEST(fails_past_the_end_and_stays_failed)
{
    const uint8_t data[] = {1, 2, 3};
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, sizeof data);
    CHECK_EQ(sonde__base_bytes_u32(&b), 0);
    CHECK(b.failed);
    CHECK_EQ(sonde__base_bytes_u8(&b), 0);
    CHECK(b.failed);
}

/* DWARF 5 figures 22 and 23: examples of ULEB128 and SLEB128 */
TEST(reads_leb128)
{
    const uint8_t u[] = {2, 127, 0x80, 1, 0x81, 1, 0xb9, 0x64};
    const uint8_t s[] = {2, 0x7e, 0xff, 0, 0x81, 0x7f, 0x80, 1, 0x80, 0x7f};
    const uint8_t max[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    const uint8_t endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1};
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, u, sizeof u);
    CHECK_EQ(sonde__base_bytes_uleb(&b), 2);
    CHECK_EQ(sonde__base_bytes_uleb(&b), 127);
    CHECK_EQ(sonde__base_bytes_uleb(&b), 128);
    CHECK_EQ(sonde__base_bytes_uleb(&b), 129);
    CHECK_EQ(sonde__base_bytes_uleb(&b), 12857);
    sonde__base_bytes_init(&b, s, sizeof s);
    CHECK_EQ(sonde__base_bytes_sleb(&b), 2);
    CHECK_EQ(sonde__base_bytes_sleb(&b), -2);
    CHECK_EQ(sonde__base_bytes_sleb(&b), 127);
    CHECK_EQ(sonde__base_bytes_sleb(&b), -127);
    CHECK_EQ(sonde__base_bytes_sleb(&b), 128);
    CHECK_EQ(sonde__base_bytes_sleb(&b), -128);
    sonde__base_bytes_init(&b, max, sizeof max);
    CHECK(sonde__base_bytes_uleb(&b) == UINT64_MAX);
    sonde__base_bytes_init(&b, max, sizeof max);
    CHECK_EQ(sonde__base_bytes_sleb(&b), -1);
    sonde__base_bytes_init(&b, endless, sizeof endless);
    CHECK_EQ(sonde__base_bytes_uleb(&b), 0);
    CHECK(b.failed);
}

TEST(refuses_a_string_without_an_end)
{
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, "ab\0cd", 5);
    CHECK_STR(sonde__base_bytes_string(&b), "ab");
    CHECK_STR(sonde__base_bytes_string(&b), "");
    CHECK(b.failed);
}

TEST(parts_do_not_overflow)
{
    const uint8_t data[8] = {0};
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, sizeof data);
    CHECK(sonde__base_bytes_part(&b, 4, UINT64_MAX - 2).failed);
    CHECK(sonde__base_bytes_part(&b, 9, 0).failed);
    CHECK(!sonde__base_bytes_part(&b, 8, 0).failed);
    CHECK(!sonde__base_bytes_seek(&b, 9));
    CHECK(sonde__base_bytes_take(&b, UINT64_MAX) == NULL);
}
