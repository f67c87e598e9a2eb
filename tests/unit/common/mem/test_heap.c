// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "mem_arena.h"
#include "mem_heap.h"
#include "test.h"

TEST(only_the_planned_allocation_fails)
{
    void *blocks[4];
    sonde__mem_fail_once(2);
    for (int i = 0; i < 4; i++) {
        blocks[i] = sonde__mem_alloc(16);
        CHECK_EQ(blocks[i] == NULL, i == 2);
    }
    CHECK_EQ(sonde__mem_asked(), 4);
    sonde__mem_fail_from(1);
    CHECK((blocks[2] = sonde__mem_alloc_zeroed(8)) != NULL);
    CHECK(sonde__mem_alloc(8) == NULL);
    CHECK(sonde__mem_copy_string("x") == NULL);
    sonde__mem_fail_from(UINT64_MAX);
    for (int i = 0; i < 4; i++) {
        sonde__mem_free(blocks[i]);
    }
}

TEST(refuses_a_product_that_overflows)
{
    CHECK(sonde__mem_alloc_array(SIZE_MAX / 2, 3) == NULL);
    CHECK(sonde__mem_resize_array(NULL, SIZE_MAX / 2, 3) == NULL);
}

TEST(an_array_keeps_its_content_when_growth_fails)
{
    uint32_t *numbers = NULL;
    size_t capacity = 0, count = 0;
    for (; count < 1000; count++) {
        CHECK(sonde__mem_grow(&numbers, count, &capacity, sizeof *numbers));
        numbers[count] = (uint32_t)count;
    }
    sonde__mem_fail_from(0);
    while (sonde__mem_grow(&numbers, count, &capacity, sizeof *numbers)) {
        numbers[count] = (uint32_t)count;
        count++;
    }
    CHECK_EQ(count, capacity);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(numbers[i], i);
    }
    sonde__mem_free(numbers);
}

TEST(arena_pieces_are_aligned_and_do_not_move)
{
    struct sonde__arena arena = {0};
    unsigned char *pieces[300];
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 7 == 0 ? 5000 + i : i;
        pieces[i] = sonde__arena_alloc(&arena, size);
        CHECK(pieces[i] != NULL);
        CHECK_EQ((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)i, size);
    }
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 7 == 0 ? 5000 + i : i;
        for (size_t k = 0; k < size; k++) {
            CHECK_EQ(pieces[i][k], (unsigned char)i);
        }
    }
    CHECK_STR(sonde__arena_copy_text(&arena, "abc", 3), "abc");
    CHECK_STR(sonde__arena_copy_text(&arena, "abcdef", 2), "ab");
    CHECK(sonde__arena_alloc(&arena, SIZE_MAX - 8) == NULL);
    sonde__mem_fail_from(0);
    CHECK(sonde__arena_alloc(&arena, 100000) == NULL);
    sonde__arena_done(&arena);
    CHECK_EQ(arena.bytes, 0);
}
