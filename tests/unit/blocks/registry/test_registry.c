// SPDX-License-Identifier: Apache-2.0
/* The registry against the test's own records, with fake runtimes. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "os.h"
#include "runtime.h"
#include "test.h"

/* OPERATIONS: per thread. MAILBOXES: references that any thread may take. OFTEN_US: from the end of
 * one handler to the next signal. */
enum { THREADS = 4, MAILBOXES = 64, LINES = 1 << 12, NODES = 4096 };
#if defined(SONDE_SANITIZED) || !defined(__x86_64__)
enum { OPERATIONS = 400, OFTEN_US = 50000 }; /* a capture takes milliseconds there */
#else
enum { OPERATIONS = 100000, OFTEN_US = 100 };
#endif

static struct sonde__registry_calls the_calls;
static _Atomic uint64_t clock_now;

/* Each block has a unique time, which identifies it. */
static uint64_t next_time(void)
{
    return atomic_fetch_add(&clock_now, 1) + 1;
}

static void begin(enum runtime which, uint32_t lines)
{
    void *memory = aligned_alloc(64, (sonde__registry_size(lines) + 63) / 64 * 64);
    CHECK(memory != NULL);
    memset(memory, 0, sonde__registry_size(lines));
    the_calls = (struct sonde__registry_calls){
        .registry = {memory, lines},
        .now_ns = next_time,
    };
    CHECK_EQ(sonde__record_open(NODES, &the_calls.record), SONDE_OK);
    runtime = which;
    calls = &the_calls;
}

static void end(void)
{
    calls = NULL;
    sonde__record_close(the_calls.record);
    free(the_calls.registry.memory);
}

static uint32_t count_live(void)
{
    struct sonde__registry_block block;
    uint32_t live = 0;
    for (uint32_t i = 0; i < sonde__registry_places(&the_calls.registry); i++) {
        live += sonde__registry_get(&the_calls.registry, i, &block);
    }
    return live;
}

static bool is_registered(const struct block *block)
{
    struct sonde__registry_block found;
    return sonde__registry_find(&the_calls.registry, (uintptr_t)block, &found);
}

static void check_total(struct sonde__registry_total expected)
{
    struct sonde__registry_total total = sonde__registry_total(&the_calls.registry);
    CHECK_EQ(total.made, expected.made);
    CHECK_EQ(total.ended, expected.ended);
    CHECK_EQ(total.dropped, expected.dropped);
    CHECK_EQ(total.replaced, expected.replaced);
    CHECK_EQ(total.unseen, expected.unseen);
    CHECK_EQ(total.unknown, expected.unknown);
}

TEST(follows_a_block_from_copy_to_release_in_each_runtime)
{
    for (enum runtime which = 0; which < RUNTIMES; which++) {
        struct block inner, outer;
        struct sonde__registry_block found;
        begin(which, LINES);
        block_init(&inner, NULL, 1);
        block_init(&outer, &inner, 2);
        struct block *heap = block_copy(&outer);
        CHECK(heap != &outer && heap->captured != &inner);
        CHECK_EQ(count_live(), 2); /* the copy made the captured block, too */
        CHECK(sonde__registry_find(&the_calls.registry, (uintptr_t)heap, &found));
        CHECK_EQ(found.tid, sonde__os_tid());
        CHECK_EQ(found.size_bytes, sizeof *heap);
        CHECK_EQ(found.invoke, (uintptr_t)heap->invoke);
        CHECK(found.stack != SONDE__DEPOT_NONE);
        CHECK_EQ(found.form, which == BY_ONE     ? SONDE__REGISTRY_BY_ONE
                             : which == RESERVED ? SONDE__REGISTRY_RESERVED
                                                 : SONDE__REGISTRY_BY_TWO);
        struct block *held = heap->captured;
        CHECK(is_registered(held));
        CHECK(block_copy(held) == held);
        CHECK(block_copy(heap) == heap);
        block_release(heap);
        CHECK_EQ(count_live(), 2);
        block_release(heap); /* the last reference; the captured block still has one */
        CHECK(!is_registered(heap));
        CHECK_EQ(count_live(), 1);
        CHECK_EQ(block_references(held), 1);
        block_release(held);
        CHECK_EQ(count_live(), 0);
        check_total((struct sonde__registry_total){.made = 2, .ended = 2});
        end();
    }
}

/* Copying a block retains a captured block that is already on the heap. */
TEST(counts_a_captured_heap_block)
{
    for (enum runtime which = 0; which < RUNTIMES; which++) {
        struct block inner, outer;
        begin(which, LINES);
        block_init(&inner, NULL, 1);
        struct block *held = block_copy(&inner);
        block_init(&outer, held, 2);
        struct block *heap = block_copy(&outer);
        CHECK(heap->captured == held);
        CHECK_EQ(block_references(held), 2);
        block_release(held);
        CHECK(is_registered(held));
        block_release(heap);
        CHECK(!is_registered(held));
        check_total((struct sonde__registry_total){.made = 2, .ended = 2});
        end();
    }
}

TEST(ignores_blocks_outside_the_heap)
{
    struct block global, here;
    begin(BY_ONE, LINES);
    block_init(&global, NULL, 1);
    global.flags = 1 << 28;
    CHECK(block_copy(&global) == &global);
    block_release(&global);
    block_init(&here, NULL, 2);
    block_release(&here);
    CHECK(block_copy(NULL) == NULL);
    block_release(NULL);
    check_total((struct sonde__registry_total){0});
    end();
}

TEST(counts_blocks_whose_calls_were_not_seen)
{
    struct block block;
    begin(BY_ONE, LINES);
    block_init(&block, NULL, 1);
    calls = NULL;
    struct block *older = block_copy(&block);
    calls = &the_calls;
    CHECK(block_copy(older) == older); /* made earlier: not in the table, and counted as unknown */
    block_release(older);
    block_release(older);
    check_total((struct sonde__registry_total){.unknown = 1});

    struct block *seen = block_copy(&block);
    (void)block_copy(seen);
    calls = NULL;
    block_release(seen);
    calls = &the_calls;
    block_release(seen); /* the last reference by the runtime's count */
    CHECK(!is_registered(seen));
    check_total((struct sonde__registry_total){.made = 1, .ended = 1, .unseen = 1, .unknown = 1});
    end();
}

static char room[sizeof(struct block)] __attribute__((aligned(16)));

static void *allocate_room(size_t size)
{
    (void)size;
    return room;
}

static void free_room(void *block)
{
    (void)block;
}

/* A new block reuses the address of one whose end the registry did not see. */
TEST(replaces_a_block_at_a_reused_address)
{
    struct sonde__registry_block first, second;
    struct block block;
    begin(BY_ONE, LINES);
    runtime_allocate = allocate_room;
    runtime_free = free_room;
    block_init(&block, NULL, 1);
    struct block *heap = block_copy(&block);
    CHECK(sonde__registry_find(&the_calls.registry, (uintptr_t)heap, &first));
    calls = NULL;
    block_release(heap);
    calls = &the_calls;
    CHECK(block_copy(&block) == heap);
    CHECK(sonde__registry_find(&the_calls.registry, (uintptr_t)heap, &second));
    CHECK(second.time_ns != first.time_ns);
    CHECK_EQ(count_live(), 1);
    block_release(heap);
    CHECK_EQ(count_live(), 0);
    check_total((struct sonde__registry_total){.made = 2, .ended = 1, .replaced = 1});
    end();
}

/* A saturated count: the block is never freed. */
TEST(keeps_a_block_that_is_never_freed)
{
    struct block block;
    begin(BY_ONE, LINES);
    block_init(&block, NULL, 1);
    struct block *heap = block_copy(&block);
    heap->flags |= 0xffff;
    sonde__registry_release(&the_calls.registry,
                            sonde__registry_place(&the_calls.registry, (uintptr_t)heap),
                            UINT32_MAX);
    CHECK(is_registered(heap));
    heap->flags &= ~0xfffeu;
    block_release(heap);
    CHECK(!is_registered(heap));
    end();
}

TEST(counts_blocks_that_a_full_table_drops)
{
    enum { SMALL = 4, MANY = 100 };
    struct block block, *heap[MANY];
    unsigned live = 0;
    begin(BY_TWO, SMALL);
    block_init(&block, NULL, 1);
    for (unsigned i = 0; i < MANY; i++) {
        heap[i] = block_copy(&block);
    }
    for (unsigned i = 0; i < MANY; i++) {
        live += is_registered(heap[i]);
    }
    CHECK(live >= SONDE__REGISTRY_LINE && live <= SMALL * SONDE__REGISTRY_LINE);
    CHECK_EQ(count_live(), live);
    check_total((struct sonde__registry_total){.made = MANY, .dropped = MANY - live});
    for (unsigned i = 0; i < MANY; i++) {
        block_release(heap[i]);
    }
    CHECK_EQ(count_live(), 0);
    block_release(block_copy(&block)); /* there is room again */
    check_total((struct sonde__registry_total){
        .made = MANY + 1, .ended = live + 1, .dropped = MANY - live});
    end();
}

/* --- many threads, and a handler --- */

static struct block *_Atomic mailboxes[MAILBOXES];
static _Atomic uint64_t made, handled, mixtures, missing;
static _Atomic bool is_over;

/* Memory that any thread may reuse at once. */
enum { POOL = 1 << 16 };
static union place {
    union place *next;
    struct block block;
} pool[POOL], *pool_free;
static uint32_t pool_used;
static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *allocate_in_pool(size_t size)
{
    (void)size;
    pthread_mutex_lock(&pool_mutex);
    union place *place = pool_free;
    if (place != NULL) {
        pool_free = place->next;
    } else if (pool_used < POOL) {
        place = &pool[pool_used++];
    } else {
        abort();
    }
    pthread_mutex_unlock(&pool_mutex);
    return place;
}

static void free_in_pool(void *block)
{
    union place *place = block;
    pthread_mutex_lock(&pool_mutex);
    place->next = pool_free;
    pool_free = place;
    pthread_mutex_unlock(&pool_mutex);
}

static void count_made(struct block *block)
{
    (void)block;
    atomic_fetch_add(&made, 1);
}

static uint32_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Put a reference into a mailbox; release the old one. */
static void post(struct block *block, uint32_t at)
{
    struct block *old = atomic_exchange(&mailboxes[at % MAILBOXES], block);
    if (old != NULL) {
        block_release(old);
    }
}

static void operate(uint64_t *random)
{
    struct block inner, outer;
    uint32_t what = random_of(random) % 8;
    struct block *block = atomic_exchange(&mailboxes[random_of(random) % MAILBOXES], NULL);
    if (block == NULL || what == 0) {
        block_init(&inner, NULL, 0);
        block_init(&outer, what % 2 != 0 ? &inner : block, 0);
        struct block *heap = block_copy(&outer);
        if (!is_registered(heap)) {
            atomic_fetch_add(&missing, 1);
        }
        post(heap, random_of(random));
    } else if (what < 6) { /* to several threads, which may release it at the same time */
        for (uint32_t i = 0; i < what; i++) {
            post(block_copy(block), random_of(random));
        }
        if (!is_registered(block)) {
            atomic_fetch_add(&missing, 1);
        }
    }
    if (block != NULL) {
        block_release(block);
    }
}

static void *work(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    runtime_allocate = allocate_in_pool;
    runtime_free = free_in_pool;
    unsigned count = runtime == BY_ONE ? OPERATIONS : OPERATIONS / 4;
    for (unsigned i = 0; i < count; i++) {
        operate(&random);
    }
    return NULL;
}

static char handler_rooms[THREADS + 2][2][sizeof(struct block)] __attribute__((aligned(16)));
static _Atomic uint32_t handler_threads;
static _Thread_local uint32_t handler_thread, handler_rooms_used;

static void *allocate_in_handler(size_t size)
{
    (void)size;
    return handler_rooms[handler_thread][handler_rooms_used++];
}

/* One signal at a time: a handler that takes longer than a period would leave no time for the work
 * that it interrupts. */
static void arm(void)
{
    const struct itimerval once = {{0, 0}, {0, OFTEN_US}};
    (void)setitimer(ITIMER_PROF, &once, NULL);
}

static void handle(int signal)
{
    struct block inner, outer;
    void *(*allocate)(size_t) = runtime_allocate;
    void (*release)(void *) = runtime_free;
    (void)signal;
    if (handler_thread == 0) {
        handler_thread = atomic_fetch_add(&handler_threads, 1) + 1;
    }
    if (calls == NULL || handler_thread > THREADS + 1) {
        return;
    }
    runtime_allocate = allocate_in_handler;
    runtime_free = free_room;
    handler_rooms_used = 0;
    block_init(&inner, NULL, 0);
    block_init(&outer, &inner, 0);
    struct block *heap = block_copy(&outer);
    if (!is_registered(heap) || !is_registered(heap->captured)) {
        atomic_fetch_add(&missing, 1);
    }
    block_release(heap);
    atomic_fetch_add(&handled, 1);
    runtime_allocate = allocate;
    runtime_free = release;
    if (!atomic_load(&is_over)) {
        arm();
    }
}

/* Ids of threads have 64 bits on Darwin. */
TEST(an_entry_keeps_all_bits)
{
    begin(BY_ONE, LINES);
    const struct sonde__registry_block blocks[] = {
        {.address = 4096,
         .tid = UINT64_MAX,
         .stack = UINT32_MAX,
         .size_bytes = SONDE__REGISTRY_SIZE_MAX,
         .form = SONDE__REGISTRY_RESERVED},
        {.address = 8192, .tid = (uint64_t)5 << 32, .size_bytes = UINT32_MAX},
    };
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__registry_block found;
        CHECK(sonde__registry_add(&the_calls.registry, &blocks[i]));
        CHECK(sonde__registry_find(&the_calls.registry, blocks[i].address, &found));
        CHECK_EQ(found.tid, blocks[i].tid);
        CHECK_EQ(found.stack, blocks[i].stack);
        CHECK_EQ(found.size_bytes, SONDE__REGISTRY_SIZE_MAX);
        CHECK_EQ(found.form, blocks[i].form);
    }
    end();
}

/* An entry whose words all derive from address and time. */
static struct sonde__registry_block entry_of(uint64_t address, uint64_t time)
{
    return (struct sonde__registry_block){
        .address = address,
        .time_ns = time,
        .invoke = address ^ time,
        .stack = (uint32_t)(time * 3),
        .tid = time * 5 + address,
        .size_bytes = (uint32_t)(time * 7) % (SONDE__REGISTRY_SIZE_MAX + 1),
        .form = (uint32_t)(time * 11) % (SONDE__REGISTRY_RESERVED + 1),
    };
}

static bool is_same(const struct sonde__registry_block *a, const struct sonde__registry_block *b)
{
    return a->address == b->address && a->time_ns == b->time_ns && a->invoke == b->invoke &&
           a->tid == b->tid && a->stack == b->stack && a->size_bytes == b->size_bytes &&
           a->form == b->form;
}

static void *rewrite(void *seed)
{
    const struct sonde__registry *registry = &the_calls.registry;
    for (uint64_t i = 1; !atomic_load(&is_over); i++) {
        uint64_t address = ((uintptr_t)seed << 32) + i % 3 * 4096 + 64;
        const struct sonde__registry_block block = entry_of(address, i);
        if (sonde__registry_add(registry, &block)) {
            (void)sonde__registry_release(registry, sonde__registry_place(registry, address), 0);
        }
    }
    return NULL;
}

/* A handler that replaces all entries and interrupts anything, reads included. */
static void replace_all(int signal)
{
    static volatile uint64_t times;
    const struct sonde__registry *registry = &the_calls.registry;
    (void)signal;
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t address = ((uint64_t)99 << 32) + i * 256 + times % 2 * 8;
        uint32_t place = sonde__registry_place(registry, address ^ 8);
        if (place != SONDE__REGISTRY_NONE) {
            (void)sonde__registry_release(registry, place, 0);
        }
        const struct sonde__registry_block block = entry_of(address, times);
        (void)sonde__registry_add(registry, &block);
    }
    times = times + 1;
}

/* Many threads take and free few places. */
TEST(reads_each_entry_whole)
{
    const struct sigaction action = {.sa_handler = replace_all, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, OFTEN_US}, {0, OFTEN_US}}, never = {{0, 0}, {0, 0}};
    struct sonde__registry_block block;
    pthread_t threads[2];
    sigset_t all, before;
    unsigned read = 0;
    begin(BY_ONE, 4);
    replace_all(0);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (uintptr_t i = 0; i < 2; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, rewrite, (void *)(i + 1)), 0);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL); /* only this thread gets the signal */
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (read < 20 * OPERATIONS) {
        for (uint32_t i = 0; i < sonde__registry_places(&the_calls.registry); i++) {
            if (sonde__registry_get(&the_calls.registry, i, &block)) {
                const struct sonde__registry_block whole = entry_of(block.address, block.time_ns);
                CHECK(is_same(&whole, &block));
                read++;
            }
        }
    }
    CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(count_live(), 4); /* the handler's */
    end();
}

/* Reads all entries while they change. */
static void *read_all(void *unused)
{
    struct sonde__registry_block block;
    while (!atomic_load(&is_over)) {
        for (uint32_t i = 0; i < sonde__registry_places(&the_calls.registry); i++) {
            if (sonde__registry_get(&the_calls.registry, i, &block) &&
                (block.size_bytes != sizeof(struct block) || block.address % 8 != 0 ||
                 block.tid == 0 || block.invoke == 0 || block.time_ns > atomic_load(&clock_now))) {
                atomic_fetch_add(&mixtures, 1);
            }
        }
    }
    return unused;
}

static void check_against_mailboxes(void)
{
    uint32_t expected = 0;
    for (unsigned i = 0; i < MAILBOXES; i++) { /* each block once, with what it captures */
        for (struct block *block = mailboxes[i]; block != NULL; block = block->captured) {
            CHECK(is_registered(block));
            expected += block->serial == 0;
            block->serial = 1;
        }
    }
    CHECK_EQ(count_live(), expected);
}

static void check_threads(enum runtime which)
{
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    const struct itimerval never = {{0, 0}, {0, 0}};
    pthread_t threads[THREADS], reader;
    begin(which, LINES);
    runtime_made = count_made;
    CHECK_EQ(sigaction(SIGPROF, &action, NULL), 0);
    arm();
    CHECK_EQ(pthread_create(&reader, NULL, read_all, NULL), 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&is_over, true);
    pthread_join(reader, NULL);
    CHECK_EQ(setitimer(ITIMER_PROF, &never, NULL), 0);
    CHECK_EQ(missing, 0);
    CHECK_EQ(mixtures, 0);
    CHECK(handled > 0 || which != BY_ONE || OPERATIONS < 100000); /* others may be too quick */
    check_against_mailboxes();
    runtime_free = free_in_pool;
    for (unsigned i = 0; i < MAILBOXES; i++) {
        post(NULL, i);
    }
    CHECK_EQ(count_live(), 0);
    check_total((struct sonde__registry_total){.made = made, .ended = made});
    end();
}

TEST_TIMEOUT(counts_by_one_with_four_threads, 120)
{
    check_threads(BY_ONE);
}

TEST_TIMEOUT(counts_by_two_with_four_threads, 120)
{
    check_threads(BY_TWO);
}

TEST_TIMEOUT(counts_inlined_copies_with_four_threads, 120)
{
    check_threads(INLINED);
}

TEST_TIMEOUT(counts_in_the_reserved_word_with_four_threads, 120)
{
    check_threads(RESERVED);
}
