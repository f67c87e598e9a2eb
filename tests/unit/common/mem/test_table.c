// SPDX-License-Identifier: Apache-2.0
#include "mem_heap.h"
#include "mem_table.h"
#include "test.h"

TEST(table_finds_what_was_added)
{
    struct sonde__mem_table table = {0};
    uint64_t keys[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        keys[i] = i % 2 != 0 ? i : (uint64_t)i << 40;
        uint32_t hash = sonde__mem_hash(keys[i]);
        CHECK_EQ(SONDE__TABLE_FIND(&table, hash, k, keys[k] == keys[i]), SONDE__TABLE_NONE);
        CHECK(sonde__mem_table_add(&table, hash, i));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t hash = sonde__mem_hash(keys[i]);
        CHECK_EQ(SONDE__TABLE_FIND(&table, hash, k, keys[k] == keys[i]), i);
    }
    CHECK_EQ(table.count, 1000);
    CHECK(table.slot_count >= 2 * table.count);
    sonde__mem_table_done(&table);
}

TEST(table_tells_keys_of_one_hash_apart)
{
    struct sonde__mem_table table = {0};
    for (uint32_t i = 0; i < 100; i++) {
        CHECK(sonde__mem_table_add(&table, 7 + (i % 2) * 64, i));
    }
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_EQ(SONDE__TABLE_FIND(&table, 7 + (i % 2) * 64, k, k == i), i);
    }
    CHECK_EQ(SONDE__TABLE_FIND(&table, 7, k, k == 1), SONDE__TABLE_NONE);
    sonde__mem_table_done(&table);
}

TEST(table_stays_as_it_is_without_memory)
{
    struct sonde__mem_table table = {0};
    uint32_t added = 0;
    sonde__mem_fail_from(1);
    while (sonde__mem_table_add(&table, sonde__mem_hash(added), added)) {
        added++;
    }
    sonde__mem_fail_from(UINT64_MAX);
    CHECK_EQ(table.count, added);
    for (uint32_t i = 0; i < added; i++) {
        CHECK_EQ(SONDE__TABLE_FIND(&table, sonde__mem_hash(i), k, k == i), i);
    }
    CHECK(!sonde__mem_table_add(&table, 0, SONDE__TABLE_NONE));
    sonde__mem_table_done(&table);
}
