// SPDX-License-Identifier: Apache-2.0
#include "registry_group.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { LINES = 1 << 12, GROUPED = 2000, STACKS = 40, INVOKES = 3 };

/* Compares the groups with the expected ones; count 0: there is none. */
static void check_groups(const struct sonde__registry_group *groups, uint32_t count,
                         struct sonde__registry_group expected[STACKS][INVOKES])
{
    uint32_t left = count;
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__registry_group *one = &expected[groups[i].stack][groups[i].invoke];
        CHECK(i == 0 || sonde__registry_group_order(&groups[i - 1], &groups[i]) < 0);
        CHECK_EQ(groups[i].count, one->count);
        CHECK_EQ(groups[i].size_bytes, one->size_bytes);
        CHECK_EQ(groups[i].oldest_ns, one->oldest_ns);
        CHECK_EQ(groups[i].newest_ns, one->newest_ns);
        CHECK_EQ(groups[i].tid, one->tid);
        left -= one->count != 0;
        one->count = 0;
    }
    CHECK_EQ(left, 0);
    for (uint32_t i = 0; i < STACKS * INVOKES; i++) {
        CHECK_EQ(expected[i / INVOKES][i % INVOKES].count, 0);
    }
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

TEST(groups_blocks_by_stack_and_function)
{
    static struct sonde__registry_group groups[GROUPED], expected[STACKS][INVOKES];
    uint32_t random = 1;
    uint32_t blocks;
    struct sonde__registry registry = {
        .memory = aligned_alloc(64, (sonde__registry_size(LINES) + 63) / 64 * 64),
        .lines = LINES,
    };
    CHECK(registry.memory != NULL);
    memset(registry.memory, 0, sonde__registry_size(LINES));
    for (uint64_t i = 0; i < GROUPED; i++) {
        const struct sonde__registry_block block = {
            .address = 0x10000 + 48 * i,
            .time_ns = 1000 + next_random(&random) % 100000,
            .invoke = next_random(&random) % INVOKES,
            .stack = next_random(&random) % STACKS,
            .tid = ((uint64_t)(next_random(&random) % 40 == 0) << 32) + 7,
            .size_bytes = 32 + next_random(&random) % 64,
        };
        struct sonde__registry_group *one = &expected[block.stack][block.invoke];
        CHECK(sonde__registry_add(&registry, &block));
        one->tid = one->count == 0 ? block.tid : one->tid == block.tid ? one->tid : 0;
        one->oldest_ns =
            one->count == 0 || block.time_ns < one->oldest_ns ? block.time_ns : one->oldest_ns;
        one->newest_ns = block.time_ns > one->newest_ns ? block.time_ns : one->newest_ns;
        one->size_bytes += block.size_bytes;
        one->count++;
    }
    CHECK_EQ(sonde__registry_count(&registry), GROUPED);
    uint32_t count = sonde__registry_groups(&registry, groups, GROUPED, &blocks);
    CHECK_EQ(blocks, GROUPED);
    check_groups(groups, count, expected);
    CHECK(sonde__registry_groups(&registry, groups, 10, &blocks) <= 10);
    CHECK_EQ(blocks, 10);
    CHECK_EQ(sonde__registry_unite(groups, 0), 0);
    free(registry.memory);
}
