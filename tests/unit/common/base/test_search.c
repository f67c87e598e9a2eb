// SPDX-License-Identifier: Apache-2.0
#include "base_search.h"

#include <stdint.h>

#include "test.h"

TEST(search_finds_the_first_that_is_not_before)
{
    static const uint64_t values[] = {2, 4, 4, 4, 9};
    for (uint64_t value = 0; value <= 10; value++) {
        for (uint32_t count = 0; count <= 5; count++) {
            uint32_t first = 0, after = 0;
            for (uint32_t i = 0; i < count; i++) {
                first += values[i] < value;
                after += values[i] <= value;
            }
            CHECK_EQ(SONDE__SEARCH(0, count, i, values[i] < value), first);
            CHECK_EQ(SONDE__SEARCH(0, count, i, values[i] <= value), after);
        }
    }
}

TEST(search_stays_inside_its_bounds)
{
    static const uint64_t values[] = {1, 2, 3, 4, 5};
    CHECK_EQ(SONDE__SEARCH(1u, 3u, i, values[i] < 1), 1);
    CHECK_EQ(SONDE__SEARCH(1u, 3u, i, values[i] < 3), 2);
    CHECK_EQ(SONDE__SEARCH(1u, 3u, i, values[i] < 9), 3);
    CHECK_EQ(SONDE__SEARCH(UINT64_MAX - 4, UINT64_MAX, i, i < UINT64_MAX - 1), UINT64_MAX - 1);
}
