// SPDX-License-Identifier: Apache-2.0
#include "base_sized.h"

#include <stdint.h>
#include <string.h>

#include "test.h"

/* As the library knows it, as an older header had it, and as a newer one has it. */
struct known {
    size_t struct_bytes;
    uint64_t a, b;
};
struct older {
    size_t struct_bytes;
    uint64_t a;
};
struct newer {
    size_t struct_bytes;
    uint64_t a, b, c;
};

TEST(sized_options_of_an_older_header_get_defaults)
{
    const struct older given = {sizeof given, 7};
    struct known known = {1, 2, 3};
    CHECK(sonde__base_sized_take(&given, &known, sizeof known));
    CHECK_EQ(known.struct_bytes, sizeof known);
    CHECK_EQ(known.a, 7);
    CHECK_EQ(known.b, 0);
}

TEST(sized_options_of_a_newer_header_must_not_use_what_is_new)
{
    struct newer given = {sizeof given, 7, 8, 0};
    struct known known = {1, 2, 3};
    CHECK(sonde__base_sized_take(&given, &known, sizeof known));
    CHECK_EQ(known.struct_bytes, sizeof known);
    CHECK_EQ(known.b, 8);
    given.c = (uint64_t)1 << 63;
    CHECK(!sonde__base_sized_take(&given, &known, sizeof known));
}

TEST(sized_refuses_what_is_no_size)
{
    static const size_t sizes[] = {0, 7, 12, SONDE__SIZED_BYTES_MAX + 8, SIZE_MAX};
    struct known known;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct known given = {sizes[i], 0, 0};
        CHECK(!sonde__base_sized_is_set(&given));
        CHECK(!sonde__base_sized_take(&given, &known, sizeof known));
    }
    CHECK(!sonde__base_sized_is_set(NULL));
    CHECK(!sonde__base_sized_take(NULL, &known, sizeof known));
}

TEST(sized_results_are_filled_up_to_the_size_of_the_caller)
{
    const struct known known = {0, 7, 8};
    struct {
        struct older result;
        uint64_t behind;
    } small = {{sizeof small.result, 1}, 2};
    struct newer large = {sizeof large, 1, 2, 3};
    sonde__base_sized_give(&small.result, &known, sizeof known);
    CHECK_EQ(small.result.struct_bytes, sizeof small.result);
    CHECK_EQ(small.result.a, 7);
    CHECK_EQ(small.behind, 2);
    sonde__base_sized_give(&large, &known, sizeof known);
    CHECK_EQ(large.struct_bytes, sizeof large);
    CHECK_EQ(large.b, 8);
    CHECK_EQ(large.c, 3);
}

TEST(sized_arrays_have_the_distance_of_the_first_size)
{
    struct newer large[3] = {{.struct_bytes = sizeof large[0]}};
    struct older small[3] = {{.struct_bytes = sizeof small[0]}};
    for (uint64_t i = 0; i < 3; i++) {
        const struct known known = {0, i, 10 + i};
        sonde__base_sized_give_at(large, i, &known, sizeof known);
        sonde__base_sized_give_at(small, i, &known, sizeof known);
    }
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(large[i].struct_bytes, sizeof large[0]);
        CHECK_EQ(large[i].a, i);
        CHECK_EQ(large[i].b, 10 + i);
        CHECK_EQ(large[i].c, 0);
        CHECK_EQ(small[i].struct_bytes, sizeof small[0]);
        CHECK_EQ(small[i].a, i);
    }
}

TEST(sized_places_are_elements_that_have_room)
{
    struct newer larger[3] = {{sizeof larger[0], 0, 0, 0}};
    struct known same[3] = {{sizeof same[0], 0, 0}};
    struct older smaller[3] = {{sizeof smaller[0], 0}};
    CHECK(sonde__base_sized_place(larger, 2, sizeof(struct known)) == &larger[2]);
    CHECK(sonde__base_sized_place(same, 2, sizeof(struct known)) == &same[2]);
    CHECK(sonde__base_sized_place(smaller, 2, sizeof(struct known)) == NULL);
}
