// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base_mem.h"
#include "test.h"

TEST(mem_agrees_with_libc)
{
    unsigned char a[96], b[96];
    for (size_t size = 0; size < 40; size++) {
        for (size_t to = 0; to < 24; to += 3) {
            for (size_t from = 0; from < 24; from += 5) {
                for (size_t i = 0; i < sizeof a; i++) {
                    a[i] = b[i] = (unsigned char)(i * 7 + size);
                }
                sonde__base_mem_move(a + to, a + from, size);
                memmove(b + to, b + from, size);
                CHECK(memcmp(a, b, sizeof a) == 0);
                sonde__base_mem_set(a + from, (int)(to + 200), size);
                memset(b + from, (int)(to + 200), size);
                CHECK_EQ(sonde__base_mem_compare(a, b, sizeof a), 0);
            }
        }
    }
    CHECK(sonde__base_mem_compare("abc", "abd", 3) < 0);
    CHECK(sonde__base_mem_compare("abd", "abc", 3) > 0);
    CHECK_EQ(sonde__base_str_length("four"), 4);
    CHECK(sonde__base_str_compare("a", "ab") < 0);
    CHECK_EQ(sonde__base_str_compare("ab", "ab"), 0);
}
