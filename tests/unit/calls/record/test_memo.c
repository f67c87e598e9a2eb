// SPDX-License-Identifier: Apache-2.0
/* A thread's memo holds the nodes of its last stack in one depot. */
#include <pthread.h>
#include <string.h>

#include <sonde/depot.h>
#include <sonde/stack.h>

#include "record.h"
#include "test.h"

static struct sonde_depot *depot;

/* Prevents tail calls and the merging of equal functions. */
#define HERE(text) __asm__ volatile("# " text : : : "memory")

__attribute__((noinline)) static uint32_t capture_here(void)
{
    uint32_t id = 0;
    CHECK_EQ(sonde_depot_capture(depot, 0, &id), SONDE_OK);
    HERE("capture_here");
    return id;
}

__attribute__((noinline)) static uint32_t capture_there(void)
{
    uint32_t id = 0;
    CHECK_EQ(sonde_depot_capture(depot, 0, &id), SONDE_OK);
    HERE("capture_there");
    return id;
}

__attribute__((noinline)) static uint32_t below(unsigned depth, bool here)
{
    uint32_t id = depth > 0 ? below(depth - 1, here) : here ? capture_here() : capture_there();
    HERE("below");
    return id;
}

/* One call site for all callers. */
__attribute__((noinline)) static uint32_t go_below(unsigned depth, bool here)
{
    uint32_t id = below(depth, here);
    HERE("go_below");
    return id;
}

static void *capture_elsewhere(void *arg)
{
    (void)capture_here();
    return arg;
}

/* Check that the stack of `id` is this function's caller's with so many frames more. */
__attribute__((noinline)) static void check_is_here(uint32_t id, unsigned more)
{
    uint64_t pcs[SONDE_DEPOT_DEPTH], other[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    struct sonde_stack stack, direct;
    sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_depot_stack(depot, id, &stack), SONDE_OK);
    sonde_stack_init(&direct, other, how, SONDE_DEPOT_DEPTH, 0);
    CHECK_EQ(sonde_stack_capture(&direct, 2), SONDE_OK);
    CHECK_EQ(stack.count, direct.count + more + 1);
    CHECK(memcmp(pcs + more + 1, other, direct.count * sizeof *pcs) == 0);
    HERE("check_is_here");
}

/* Alternate between two depots, which give the frames different ids: the memo's words belong to one
 * of them. Alternate also between two functions with frames at the same place. */
TEST(depots_and_functions_in_turn)
{
    struct sonde_depot *both[2];
    pthread_t thread;
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    for (unsigned which = 0; which < 2; which++) {
        CHECK_EQ(sonde_depot_create(0, &both[which]), SONDE_OK);
    }
    depot = both[1];
    CHECK_EQ(pthread_create(&thread, NULL, capture_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    for (volatile unsigned round = 0; round < 200; round++) {
        unsigned depth = round * 11 % 20;
        depot = both[round / 7 % 2];
        uint32_t ids[4];
        for (volatile unsigned i = 0; i < 4; i++) {
            ids[i] = go_below(depth, i % 2 == 0);
            check_is_here(ids[i], depth + 3);
        }
        CHECK(ids[0] != ids[1]);
        CHECK(ids[0] == ids[2] && ids[1] == ids[3]);
    }
    sonde_depot_destroy(both[0]);
    sonde_depot_destroy(both[1]);
}

static pthread_barrier_t turn;

/* Capture in each of two depots, and return the id in it. */
static void *capture_in_both(void *ret_ids)
{
    for (volatile unsigned i = 0; i < 2; i++) { /* one call site */
        pthread_barrier_wait(&turn);
        ((uint32_t *)ret_ids)[i] = go_below(3, true);
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

/* A new depot at the address of an old one: another thread's memo has ids of the old one, which are
 * other stacks here. */
TEST(a_depot_where_another_was)
{
    const struct sonde_depot *before;
    uint64_t pcs[2][SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    uint32_t ids[2] = {0, 0};
    struct sonde_stack stacks[2];
    pthread_t thread;
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(pthread_barrier_init(&turn, NULL, 2), 0);
    CHECK_EQ(pthread_create(&thread, NULL, capture_in_both, ids), 0);
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    before = depot;
    for (unsigned i = 0; i < 2; i++) {
        if (i > 0) {
            sonde_depot_destroy(depot);
            CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
            if (depot != before) {
                SKIP("the system gave other memory");
            }
            for (unsigned depth = 0; depth < 40; depth++) {
                (void)go_below(depth, depth % 2 == 0);
            }
        }
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        sonde_stack_init(&stacks[i], pcs[i], how, SONDE_DEPOT_DEPTH, 0);
        CHECK_EQ(sonde_depot_stack(depot, ids[i], &stacks[i]), SONDE_OK);
    }
    pthread_join(thread, NULL);
    CHECK_EQ(stacks[0].count, stacks[1].count);
    CHECK(memcmp(pcs[0], pcs[1], stacks[0].count * sizeof pcs[0][0]) == 0);
    sonde_depot_destroy(depot);
    pthread_barrier_destroy(&turn);
}

/* After an image was unloaded, the memo's stacks with its code are not used. */
TEST(a_stack_that_was_closed)
{
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    uint32_t ids[4];
    for (volatile unsigned i = 0; i < 4; i++) {
        ids[i] = go_below(5, true);
        if (i == 1) {
            struct sonde__record *record = (struct sonde__record *)(void *)depot;
            uint64_t start = (uint64_t)(uintptr_t)&below; /* its code and what follows it */
            CHECK(sonde__depot_close(sonde__record_depot(record), start, start + 4096) > 5);
        }
    }
    CHECK(ids[0] == ids[1]);
    CHECK(ids[1] != ids[2]);
    CHECK(ids[2] == ids[3]);
    check_is_here(ids[3], 5 + 3);
    sonde_depot_destroy(depot);
}

/* A stack without its innermost frames is the stack of a caller. */
__attribute__((noinline)) static void skip_some(unsigned depth, uint32_t *ret_ids)
{
    if (depth > 0) {
        skip_some(depth - 1, ret_ids);
    } else {
        for (volatile uint32_t skip = 4; skip-- > 0;) { /* the shortest one first */
            CHECK_EQ(sonde_depot_capture(depot, skip, &ret_ids[skip]), SONDE_OK);
        }
    }
    HERE("skip_some");
}

TEST(skipped_frames)
{
    enum { ALL = 100 };
    uint64_t pcs[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    uint32_t ids[4], none = 0;
    struct sonde_stack stack;
    CHECK_EQ(sonde_stack_prepare(), SONDE_OK);
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    for (volatile unsigned round = 0; round < 3; round++) {
        uint32_t counts[4];
        uint64_t inner[4];
        skip_some(6, ids);
        for (unsigned skip = 0; skip < 4; skip++) {
            sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
            CHECK_EQ(sonde_depot_stack(depot, ids[skip], &stack), SONDE_OK);
            counts[skip] = stack.count;
            inner[skip] = pcs[0];
            CHECK_EQ(counts[skip] + skip, counts[0]);
            CHECK(skip < 2 || inner[skip] == inner[1]); /* the recursion's call */
        }
        CHECK(inner[0] != inner[1]);
        CHECK_EQ(sonde_depot_capture(depot, ALL, &none), SONDE_OK); /* nothing is left */
        CHECK_EQ(sonde_depot_stack(depot, none, &stack), SONDE_OK);
        CHECK_EQ(stack.count, 0);
    }
    sonde_depot_destroy(depot);
}
