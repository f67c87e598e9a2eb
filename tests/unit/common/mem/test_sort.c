// SPDX-License-Identifier: Apache-2.0
#include "mem_sort.h"

#include <stdint.h>

#include "test.h"

TEST(sort_by_a_number_of_8_bytes)
{
    struct {
        uint64_t key;
        int value;
    } items[] = {{UINT64_MAX, 3}, {0, 0}, {(uint64_t)1 << 33, 2}, {2, 1}};
    SONDE__SORT_BY(items, 4, key);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(items[i].value, i);
    }
}

TEST(sort_by_a_number_of_4_bytes)
{
    struct {
        uint32_t key, value;
    } items[] = {{UINT32_MAX, 2}, {0, 0}, {7, 1}};
    SONDE__SORT_BY(items, 3, key);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(items[i].value, i);
    }
}

TEST(sort_nothing)
{
    sonde__mem_sort(NULL, 0, 8, 8);
}
