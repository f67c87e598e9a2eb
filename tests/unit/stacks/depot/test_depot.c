// SPDX-License-Identifier: Apache-2.0
/* The depot against a reference that compares whole stacks, one by one. */
#include "depot.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "test.h"

#define DEPTH_MAX 300

static struct sonde__depot *open_depot(uint32_t nodes)
{
    void *memory = aligned_alloc(64, (sonde__depot_size(nodes) + 63) & ~(uint64_t)63);
    CHECK(memory != NULL);
    memset(memory, 0, sonde__depot_size(nodes));
    return sonde__depot_init(memory, nodes);
}

static uint32_t put(struct sonde__depot *depot, const uint64_t *pcs, uint32_t count)
{
    static const uint8_t how[DEPTH_MAX];
    struct sonde_stack stack = {
        .pcs = (uint64_t *)(uintptr_t)pcs,
        .how = (uint8_t *)(uintptr_t)how,
        .count = count,
        .lost_at = count,
        .end = SONDE_END_ROOT,
    };
    return sonde__depot_put(depot, &stack);
}

static void check_stack(const struct sonde__depot *depot, uint32_t id, const uint64_t *pcs,
                        uint32_t count)
{
    uint64_t got[DEPTH_MAX];
    uint8_t how[DEPTH_MAX];
    struct sonde_stack stack = {.pcs = got, .how = how, .capacity = DEPTH_MAX};
    CHECK(sonde__depot_get(depot, id, &stack));
    CHECK_EQ(stack.count, count);
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    CHECK(memcmp(got, pcs, count * sizeof *pcs) == 0);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A stack of a program with few functions: many stacks share most of their frames, or have them in
 * another order. */
static uint32_t random_stack(uint64_t *state, uint64_t *pcs)
{
    uint32_t count = 1 + (uint32_t)(next_random(state) % 12);
    for (uint32_t i = 0; i < count; i++) {
        pcs[i] = 0x400000 + 16 * (next_random(state) % 4);
    }
    return count;
}

/* Any two stacks have equal ids exactly if their frames are equal. */
TEST(ids_are_equal_exactly_if_stacks_are)
{
    enum { STACKS = 3000 };
    struct sonde__depot *depot = open_depot(100000);
    static uint64_t pcs[STACKS][12];
    static uint32_t counts[STACKS], ids[STACKS];
    uint64_t state = 1;
    for (unsigned i = 0; i < STACKS; i++) {
        counts[i] = random_stack(&state, pcs[i]);
        ids[i] = put(depot, pcs[i], counts[i]);
        CHECK(ids[i] != 0);
    }
    for (unsigned i = 0; i < STACKS; i++) {
        check_stack(depot, ids[i], pcs[i], counts[i]);
        CHECK_EQ(put(depot, pcs[i], counts[i]), ids[i]);
        for (unsigned j = 0; j < i; j++) {
            bool is_same =
                counts[i] == counts[j] && memcmp(pcs[i], pcs[j], counts[i] * sizeof(uint64_t)) == 0;
            CHECK_EQ(ids[i] == ids[j], is_same);
        }
    }
    CHECK_EQ(sonde__depot_stat(depot).dropped, 0);
    free(depot);
}

/* XOR gives only two hash keys for these. */
TEST(recursion_of_each_depth_is_a_distinct_stack)
{
    struct sonde__depot *depot = open_depot(1000);
    uint64_t pcs[257];
    uint32_t ids[257];
    for (unsigned depth = 1; depth <= 256; depth++) {
        for (unsigned i = 0; i < depth; i++) {
            pcs[i] = i == depth - 1 ? 0x1000 : 0x2000;
        }
        ids[depth] = put(depot, pcs, depth);
        for (unsigned j = 1; j < depth; j++) {
            CHECK(ids[j] != ids[depth]);
        }
    }
    CHECK_EQ(sonde__depot_stat(depot).nodes, 256); /* each stack adds one frame to the one before */
    free(depot);
}

TEST(frames_that_differ)
{
    struct sonde__depot *depot = open_depot(100);
    uint64_t pcs[3] = {1000, 2000, 3000};
    uint8_t how[3] = {0};
    struct sonde_stack stack = {.pcs = pcs, .how = how, .capacity = 3, .count = 3, .lost_at = 3};
    uint32_t plain = sonde__depot_put(depot, &stack);
    stack.end = SONDE_END_NO_RULE;
    uint32_t cut = sonde__depot_put(depot, &stack);
    stack.end = SONDE_END_ROOT;
    how[1] = SONDE_HOW_EXACT;
    uint32_t interrupted = sonde__depot_put(depot, &stack);
    how[1] = 0;
    stack.lost_at = 2;
    stack.lost_count = 5;
    uint32_t lost = sonde__depot_put(depot, &stack);
    CHECK(plain != cut && plain != interrupted && plain != lost && cut != interrupted);
    how[0] = how[1] = how[2] = 0xff;
    CHECK(sonde__depot_get(depot, lost, &stack));
    CHECK_EQ(stack.count, 3);
    CHECK_EQ(stack.lost_at, 2);
    CHECK_EQ(stack.lost_count, 5);
    CHECK_EQ(pcs[2], 3000);
    CHECK(sonde__depot_get(depot, interrupted, &stack));
    CHECK_EQ(how[1], SONDE_FOUND_CFI | SONDE_HOW_EXACT);
    CHECK(sonde__depot_get(depot, cut, &stack));
    CHECK_EQ(stack.end, SONDE_END_NO_RULE);
    /* the innermost frames, if there is no room for all */
    stack.capacity = 2;
    CHECK(sonde__depot_get(depot, plain, &stack));
    CHECK_EQ(stack.count, 2);
    CHECK_EQ(stack.lost_count, 1);
    CHECK_EQ(pcs[1], 2000);
    CHECK(!sonde__depot_get(depot, 0, &stack));
    CHECK(!sonde__depot_get(depot, 99, &stack));
    CHECK(!sonde__depot_get(depot, UINT32_MAX, &stack));
    free(depot);
}

/* The table grows from 256 slots to 262,144: no stack is lost or stored twice. */
TEST(tables_grow)
{
    enum { NODES = 150000 };
    struct sonde__depot *depot = open_depot(NODES);
    uint32_t *ids = calloc(NODES, sizeof *ids);
    uint32_t root = sonde__depot_root(SONDE_END_ROOT);
    for (uint32_t i = 0; i < NODES; i++) {
        ids[i] = sonde__depot_child(depot, i % 3 == 0 ? root : ids[i - 1], 16 * (uint64_t)i);
        CHECK(ids[i] != 0);
        uint32_t before = i / 2;
        CHECK_EQ(sonde__depot_child(depot, before % 3 == 0 ? root : ids[before - 1],
                                    16 * (uint64_t)before),
                 ids[before]);
    }
    struct sonde__depot_stat stat = sonde__depot_stat(depot);
    CHECK_EQ(stat.nodes, NODES);
    CHECK_EQ(stat.wasted, 0);
    CHECK(stat.bytes < NODES * (uint64_t)31);
    /* full: drops are counted, stored stacks are still found */
    CHECK_EQ(sonde__depot_child(depot, root, 1), 0);
    CHECK_EQ(sonde__depot_child(depot, 0, 1), 0);
    CHECK_EQ(sonde__depot_stat(depot).dropped, 1);
    CHECK_EQ(sonde__depot_child(depot, root, 0), ids[0]);
    free(ids);
    free(depot);
}

TEST(unloaded_code_is_closed)
{
    struct sonde__depot *depot = open_depot(100);
    const uint64_t through[] = {0x9000, 0x5008, 0x1000}, inner[] = {0x5008, 0x1000};
    const uint64_t beside[] = {0x9000, 0x4000, 0x1000};
    uint32_t closed = put(depot, through, 3), open = put(depot, beside, 3);
    uint32_t inner_id = put(depot, inner, 2);
    CHECK_EQ(sonde__depot_close(depot, 0x5000, 0x6000), 2);
    CHECK(!sonde__depot_is_open(depot, closed));
    CHECK(!sonde__depot_is_open(depot, inner_id));
    CHECK(sonde__depot_is_open(depot, open));
    CHECK_EQ(put(depot, beside, 3), open);
    check_stack(depot, closed, through, 3); /* recorded stacks stay */
    /* another library in its place */
    uint32_t again = put(depot, through, 3);
    CHECK(again != closed);
    CHECK(sonde__depot_is_open(depot, again));
    /* a return address after an image's last call belongs to the image */
    const uint64_t last[] = {0x6000}, next[] = {0x5000};
    uint32_t last_id = put(depot, last, 1), next_id = put(depot, next, 1);
    sonde__depot_close(depot, 0x5000, 0x6000);
    CHECK(!sonde__depot_is_open(depot, last_id));
    CHECK(sonde__depot_is_open(depot, next_id));
    free(depot);
}

TEST(labels_are_numbered_apart_from_frames)
{
    enum { NODES = 40 };
    struct sonde__depot *depot = open_depot(NODES);
    const uint64_t pcs[] = {0x2000, 0x1000};
    uint32_t stack = put(depot, pcs, 2), label = 0, ids[NODES], count = 0;
    for (uint32_t i = 0; i < 10; i++) {
        ids[i] = sonde__depot_label(depot, i % 2 == 0 ? stack : sonde__depot_root(0), i);
        CHECK_EQ(sonde__depot_label_number(depot, ids[i]), i);
        CHECK(sonde__depot_child(depot, stack, 16 + (uint64_t)i) != 0);
    }
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_EQ(sonde__depot_labelled(depot, i, &label), i % 2 == 0 ? stack : SONDE__DEPOT_ROOT);
        CHECK_EQ(label, i);
        CHECK_EQ(sonde__depot_label(depot, i % 2 == 0 ? stack : sonde__depot_root(0), i), ids[i]);
    }
    CHECK_EQ(sonde__depot_labelled(depot, 10, &label), 0);
    CHECK_EQ(sonde__depot_labelled(depot, NODES + SONDE__DEPOT_FIRST, &label), 0);
    check_stack(depot, ids[0], pcs, 2);
    /* nodes and labels meet in the middle and do not overlap */
    while (sonde__depot_label(depot, stack, 100 + count) != 0) {
        count++;
    }
    CHECK_EQ(count, NODES - 22);
    CHECK_EQ(sonde__depot_child(depot, stack, 0x9000), 0);
    check_stack(depot, stack, pcs, 2);
    CHECK_EQ(sonde__depot_labelled(depot, 9, &label), SONDE__DEPOT_ROOT);
    /* closed with their stacks */
    sonde__depot_close(depot, 0x1000, 0x2000);
    CHECK(!sonde__depot_is_open(depot, ids[0]));
    CHECK(sonde__depot_is_open(depot, ids[1]));
    free(depot);
}

/* --- threads, and handlers that interrupt them --- */

#if defined(SONDE_SANITIZED) /* everything takes ten times as long */
enum { REPEATS = 10, OFTEN_US = 1000 };
#else
enum { REPEATS = 80, OFTEN_US = 50 };
#endif
enum { THREADS = 4, ROUNDS = 6000, SHARED = 4096 };
static struct sonde__depot *shared;
static uint32_t seen[THREADS + 1][SHARED]; /* per stack, the id that each thread got */
static _Atomic bool is_go;

static uint32_t put_shared(unsigned which)
{
    uint64_t pcs[12];
    for (unsigned i = 0; i < 12; i++) {
        pcs[i] = 0x1000 + (which >> (11 - i) & 1) + 2 * (uint64_t)i;
    }
    return put(shared, pcs, 12);
}

static void see(unsigned row, unsigned which)
{
    uint32_t id = put_shared(which);
    uint32_t before = __atomic_exchange_n(&seen[row][which], id, __ATOMIC_RELAXED);
    if (id == 0 || (before != 0 && before != id)) {
        abort();
    }
}

static void *put_many(void *arg)
{
    unsigned row = *(unsigned *)arg;
    uint64_t state = row;
    while (!is_go) {
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        see(row, (unsigned)(next_random(&state) % SHARED));
    }
    return NULL;
}

static void check_seen(void)
{
    for (unsigned which = 0; which < SHARED; which++) {
        uint32_t id = put_shared(which);
        for (unsigned row = 0; row <= THREADS; row++) {
            CHECK(seen[row][which] == 0 || seen[row][which] == id);
        }
        for (unsigned other = which + 1; other < which + 8 && other < SHARED; other++) {
            CHECK(put_shared(other) != id);
        }
    }
}

TEST(threads_get_the_same_ids)
{
    pthread_t threads[THREADS];
    unsigned rows[THREADS];
    for (unsigned round = 0; round < REPEATS; round++) {
        shared = open_depot(60000);
        memset(seen, 0, sizeof seen);
        is_go = false;
        for (unsigned i = 0; i < THREADS; i++) {
            rows[i] = i;
            CHECK_EQ(pthread_create(&threads[i], NULL, put_many, &rows[i]), 0);
        }
        is_go = true;
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        check_seen();
        CHECK_EQ(sonde__depot_stat(shared).dropped, 0);
        free(shared);
    }
}

enum { SAME = 20000 };

/* New stacks, in the same order in every thread: the worst case for races. */
static void *put_same(void *unused)
{
    while (!is_go) {
    }
    for (uint64_t i = 0; i < SAME; i++) {
        uint64_t pcs[3] = {0x1000 + i, 0x2000 + i / 2, 0x3000 + i / 4};
        uint32_t id = put(shared, pcs, 3);
        if (id == 0 || sonde__depot_label(shared, id, i & 3) == 0) {
            abort();
        }
    }
    return unused;
}

/* After a lost race the next frame uses the spare node, so no room is wasted. */
TEST(races_waste_little)
{
    pthread_t threads[THREADS];
    for (unsigned round = 0; round < 4; round++) {
        shared = open_depot(4 * SAME);
        is_go = false;
        for (unsigned i = 0; i < THREADS; i++) {
            CHECK_EQ(pthread_create(&threads[i], NULL, put_same, NULL), 0);
        }
        is_go = true;
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        struct sonde__depot_stat stat = sonde__depot_stat(shared);
        CHECK_EQ(stat.nodes, SAME + SAME / 2 + SAME / 4 + SAME);
#if !defined(SONDE_SANITIZED)                 /* there each access stops a thread for long */
        CHECK(stat.wasted < stat.nodes / 20); /* a tenth or more without spares */
#endif
        CHECK_EQ(stat.dropped, 0);
        free(shared);
    }
}

static void on_tick(int number)
{
    static uint64_t state = 99;
    (void)number;
    for (unsigned i = 0; i < 20; i++) {
        see(THREADS, (unsigned)(next_random(&state) % SHARED));
    }
}

TEST(handlers_get_the_same_ids)
{
    struct sigaction action = {.sa_handler = on_tick};
    struct itimerval often = {{0, OFTEN_US}, {0, OFTEN_US}}, never = {{0, 0}, {0, 0}};
    unsigned row = 0;
    sigaction(SIGALRM, &action, NULL);
    is_go = true;
    for (unsigned round = 0; round < REPEATS; round++) {
        shared = open_depot(60000);
        memset(seen, 0, sizeof seen);
        setitimer(ITIMER_REAL, &often, NULL);
        put_many(&row);
        setitimer(ITIMER_REAL, &never, NULL);
        check_seen();
        free(shared);
    }
}
