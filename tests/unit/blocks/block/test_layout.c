// SPDX-License-Identifier: Apache-2.0
/* The extended layout's codes, by the comments of Block_private.h. */
#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "fake_memory.h"
#include "test.h"

/* Claims as "S32 B40 ...", and after a bar the first word of the problem. */
static const char *read_layout(uint8_t form, uint64_t value, const char *codes, uint32_t size,
                               enum sonde_block_source source)
{
    static char text[2048];
    struct fake fake;
    struct sonde__block_claim items[200];
    struct sonde__block_claims claims = {.items = items, .capacity = 200};
    int used = 0;
    fake_init(&fake, SONDE_ARCH_X86_64);
    if (codes != NULL) {
        value = FAKE_BASE + 100;
        for (unsigned i = 0; codes[2 * i] != '\0'; i++) {
            unsigned byte;
            CHECK(sscanf(codes + 2 * i, "%2x", &byte) == 1);
            fake_put(&fake, 100 + i, byte, 1);
        }
    }
    const char *problem =
        sonde__block_layout_claims(&fake.memory, form, value, 32, size, source, &claims);
    CHECK_EQ(claims.lost, 0);
    text[0] = '\0';
    for (size_t i = 0; i < claims.count; i++) {
        CHECK_EQ(items[i].source, source);
        CHECK_EQ(items[i].size, 8);
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%c%u", i != 0 ? " " : "",
                         "?SWUBRCD"[items[i].kind], items[i].offset);
    }
    if (problem != NULL) {
        snprintf(text + used, sizeof text - (size_t)used, "!");
    }
    return text;
}

static const char *inline_of(uint64_t value, uint32_t size)
{
    return read_layout(SONDE__BLOCK_LAYOUT_INLINE, value, NULL, size, SONDE_BLOCK_BY_LAYOUT);
}

static const char *codes_of(const char *codes, uint32_t size)
{
    return read_layout(SONDE__BLOCK_LAYOUT_STRING, 0, codes, size, SONDE_BLOCK_BY_LAYOUT);
}

TEST(reads_inline_layouts)
{
    CHECK_STR(inline_of(0x100, 40), "S32");
    CHECK_STR(inline_of(0x213, 100), "S32 S40 R48 W56 W64 W72");
    CHECK_STR(inline_of(0x011, 48), "R32 W40");
    CHECK_STR(inline_of(0x200, 47), "S32!"); /* the second would end at 48 */
    CHECK_STR(inline_of(0x000, 40), "");
}

TEST(reads_layout_strings)
{
    CHECK_STR(codes_of("00", 100), "");
    CHECK_STR(codes_of("3000", 100), "S32");
    CHECK_STR(codes_of("3f3000", 200),
              "S32 S40 S48 S56 S64 S72 S80 S88 S96 S104 S112 S120 S128 S136 S144 S152 S160");
    CHECK_STR(codes_of("1330203140506000", 200), "S36 S52 S60 R68 W76 U84");
    CHECK_STR(codes_of("16213000", 200), "S55");
    CHECK_STR(codes_of("70819aa03000", 300), "S152"); /* reserved words advance: 1+2+11+1 */
    CHECK_STR(codes_of("30b03000", 300), "S32!");
    CHECK_STR(codes_of("30f03000", 300), "S32!");
    CHECK_STR(codes_of("05", 300), "!");
    CHECK_STR(codes_of("3100", 47), "S32!");
    CHECK_STR(codes_of("1f2f3000", 80), "!");
    CHECK_STR(codes_of("6030", 48), "U32 S40");
}

/* A runtime that copies by the layout skips what it does not own. */
TEST(reads_the_list_of_a_generic_helper)
{
    CHECK_STR(read_layout(SONDE__BLOCK_LAYOUT_STRING, 0, "60304000", 56, SONDE_BLOCK_BY_GENERIC),
              "S40 R48");
}

TEST(stops_at_a_layout_without_an_end)
{
    struct fake fake;
    struct sonde__block_claim items[4];
    struct sonde__block_claims claims = {.items = items, .capacity = 4};
    fake_init(&fake, SONDE_ARCH_X86_64);
    memset(fake.bytes, 0x10, sizeof fake.bytes);
    CHECK(sonde__block_layout_claims(&fake.memory, SONDE__BLOCK_LAYOUT_STRING, FAKE_BASE, 32,
                                     SONDE__BLOCK_SIZE_MAX, SONDE_BLOCK_BY_LAYOUT,
                                     &claims) != NULL); /* to the end of the memory */
    memset(fake.bytes, 0x3f, sizeof fake.bytes);
    CHECK(sonde__block_layout_claims(&fake.memory, SONDE__BLOCK_LAYOUT_STRING, FAKE_BASE, 32, 500,
                                     SONDE_BLOCK_BY_LAYOUT, &claims) != NULL);
    CHECK_EQ(claims.count, 4);
    CHECK_EQ(claims.lost, (500 - 32) / 8 - 4);
}
