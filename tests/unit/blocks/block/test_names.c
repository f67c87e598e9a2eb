// SPDX-License-Identifier: Apache-2.0
/* Names by clang, some of real libraries, and names that clang would never generate. */
#include <stdio.h>
#include <string.h>

#include "block.h"
#include "test.h"

static char text[2048];

static const char *read_name(const char *name, struct sonde__block_name *ret_name)
{
    struct sonde__block_claim items[64];
    struct sonde__block_claims claims = {.items = items, .capacity = 64};
    int used = 0;
    sonde__block_name_read(name, &claims, ret_name);
    text[0] = '\0';
    for (size_t i = 0; i < claims.count; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s%c%u", i != 0 ? " " : "",
                         items[i].inside ? "+" : "", "?SWUBRCD"[items[i].kind], items[i].offset);
        if (items[i].type != NULL) {
            used += snprintf(text + used, sizeof text - (size_t)used, "=%.*s",
                             (int)items[i].type_size, items[i].type);
        }
    }
    return text;
}

static void check(const char *name, enum sonde__block_name_form form, const char *expected)
{
    struct sonde__block_name result;
    CHECK_STR(read_name(name, &result), expected);
    CHECK_EQ(result.form, form);
}

TEST(reads_names_of_descriptors)
{
    struct sonde__block_name name;
    CHECK_STR(read_name("__block_descriptor_48_e8_32s40r_e5_v8\1?0l", &name), "S32 R40");
    CHECK_EQ(name.form, SONDE__BLOCK_NAME_DESC);
    CHECK_EQ(name.size, 48);
    CHECK(name.has_helpers);
    CHECK_EQ(name.signature_size, 5);
    CHECK(memcmp(name.signature, "v8\1?0", 5) == 0);
    /* without helpers, a signature may look like their beginning */
    CHECK_STR(read_name("___block_descriptor_40_e8_v12\1?0i8ls32l8", &name), "S32");
    CHECK(!name.has_helpers);
    CHECK_EQ(name.signature_size, 8);
    check("__block_descriptor_56_8_32bs40w_e5_v8\1?0lu48l8", SONDE__BLOCK_NAME_DESC, "B32 W40 U48");
    check("__block_descriptor_32_e8_v12\1?0i8l", SONDE__BLOCK_NAME_DESC, "");
    check("__block_descriptor_56_e5_v8\1?0lu32l16", SONDE__BLOCK_NAME_DESC, "U32 U40");
    check("__block_descriptor_40_e5_v8\1?0lr32l8w40l8", SONDE__BLOCK_NAME_DESC, "R32 W40");
}

TEST(reads_names_of_helpers)
{
    check("__copy_helper_block_8_32b40r48r", SONDE__BLOCK_NAME_COPY, "B32 R40 R48");
    check("___copy_helper_block_ea8_32o40rc48rcd56rw", SONDE__BLOCK_NAME_COPY, "S32 R40 R48 R56");
    check("__destroy_helper_block_e8_32c18_ZTSN3WTF7CStringE40s", SONDE__BLOCK_NAME_DISPOSE,
          "C32=_ZTSN3WTF7CStringE S40");
    check("__copy_helper_block_e8_", SONDE__BLOCK_NAME_COPY, "");
    check("__copy_helper_block_8_32n15_8_8_t0w8_s8_w1640s", SONDE__BLOCK_NAME_COPY,
          "C32=8_8_t0w8_s8_w16 +S40 +W48 S40");
    check("__copy_helper_block_8_32p2d1234", SONDE__BLOCK_NAME_COPY, "D32");
    check("__copy_helper_block_8_32s.12", SONDE__BLOCK_NAME_COPY, "S32");
}

TEST(reads_structs_with_arrays)
{
    /* struct { id a[2]; struct { int n; id o; } s[3]; } */
    check("__copy_helper_block_8_32n36_8_8_AB0s8n2_s0_AE_AB16s16n3_S_s24_AE",
          SONDE__BLOCK_NAME_COPY,
          "C32=8_8_AB0s8n2_s0_AE_AB16s16n3_S_s24_AE +S32 +S40 +S56 +S72 +S88");
}

/* Old, truncated, of other grammars, hostile: nothing is claimed. */
TEST(ignores_names_of_other_grammars)
{
    static const char *const names[] = {
        "",
        "_",
        "__block_descriptor_tmp",
        "__block_descriptor_tmp.12",
        "__copy_helper_block_",
        "__copy_helper_block_.5",
        "__destroy_helper_block_12",
        "__copy_helper_block_8_32",
        "__copy_helper_block_8_32x",
        "__copy_helper_block_8_32s40",
        "__copy_helper_block_8_32c99_ZTS1A",
        "__copy_helper_block_8_99999999999s",
        "__block_descriptor_48_e8_32s_e50_v8\1?0l",
        "__block_descriptor_40_e5_v8\1?0lz32l8",
        "__block_descriptor_40_e5_v8\1?0",
        "__main_block_invoke",
        "main",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check(names[i], SONDE__BLOCK_NAME_OTHER, "");
    }
}

TEST(claims_only_the_first_elements_of_large_arrays)
{
    struct sonde__block_claim items[8];
    struct sonde__block_claims claims = {.items = items, .capacity = 8};
    const char *hostile = "8_8_AB0s8n999999_AB0s8n999999_s0_AE_AE";
    CHECK(sonde__block_struct_claims(hostile, strlen(hostile), 32, SONDE_BLOCK_BY_HELPER_NAME,
                                     &claims));
    CHECK_EQ(claims.count, 8);
    CHECK(claims.lost > 0);
    claims.count = 0;
    CHECK(
        !sonde__block_struct_claims("8_8_AB0s8n3_s0", 14, 32, SONDE_BLOCK_BY_HELPER_NAME, &claims));
    CHECK_EQ(claims.count, 0);
}
