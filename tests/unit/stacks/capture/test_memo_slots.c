// SPDX-License-Identifier: Apache-2.0
/* Which threads get and reuse memos (capture_memo.h). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_memo.h"
#include "memo_check.h"
#include "test.h"
#include "test_signals.h"

enum { DEPTH = MEMO_DEPTH };

static int with_memo;

static bool has_memo(void)
{
    struct sonde__memo *memo = sonde__capture_memo_enter();
    bool has = memo != NULL && memo->first < SONDE__MEMO_FRAMES;
    sonde__capture_memo_leave(memo);
    return has;
}

static void *take_once(void *unused)
{
    struct taken taken;
    take(&taken, DEPTH, 0, 0);
    with_memo += has_memo();
    return unused;
}

TEST(a_slot_for_each_thread_and_again)
{
    CHECK_OK(sonde_stack_prepare());
    for (int i = 0; i < 4 * SONDE__CAPTURE_MEMOS; i++) {
        pthread_t thread;
        CHECK_OK(pthread_create(&thread, NULL, take_once, NULL));
        CHECK_OK(pthread_join(thread, NULL));
    }
    /* the kernel may release the last thread's id late */
    CHECK(with_memo >= 4 * SONDE__CAPTURE_MEMOS - 8);
    CHECK(sonde__capture_memo_refused() <= 8);
}

static void *take_memo(void *ret_memo)
{
    struct taken taken;
    take(&taken, DEPTH, 0, 0);
    struct sonde__memo *memo = sonde__capture_memo_enter();
    sonde__capture_memo_leave(memo);
    *(struct sonde__memo **)ret_memo = memo;
    return NULL;
}

static pthread_barrier_t barrier, leave;

/* Wait for the test's thread; then for all others. */
static void *take_memo_and_wait(void *ret_memo)
{
    (void)take_memo(ret_memo);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&leave);
    return NULL;
}

static void start_and_wait(pthread_t *ret_thread, struct sonde__memo **ret_memo)
{
    CHECK_OK(pthread_create(ret_thread, NULL, take_memo_and_wait, ret_memo));
    pthread_barrier_wait(&barrier);
}

static void begin_threads(unsigned count)
{
    CHECK_OK(pthread_barrier_init(&barrier, NULL, 2));
    CHECK_OK(pthread_barrier_init(&leave, NULL, count + 1));
}

static void end_threads(const pthread_t *threads, unsigned count)
{
    pthread_barrier_wait(&leave);
    for (unsigned i = 0; i < count; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
    }
    pthread_barrier_destroy(&barrier);
    pthread_barrier_destroy(&leave);
}

/* A thread on the stack of an ended thread gets its memo, whatever other threads exist. */
TEST(a_slot_stays_with_its_stack)
{
    enum { STACK_BYTES = 256 * 1024, OTHERS = 3 };
    char *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sonde__memo *first = NULL, *others[OTHERS];
    pthread_t threads[OTHERS];
    pthread_attr_t attr;
    CHECK(stack != MAP_FAILED);
    CHECK_OK(sonde_stack_prepare());
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstack(&attr, stack, STACK_BYTES));
    begin_threads(OTHERS);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        struct sonde__memo *memo = NULL;
        CHECK_OK(pthread_create(&thread, &attr, take_memo, &memo));
        CHECK_OK(pthread_join(thread, NULL));
        CHECK(memo != NULL && (i == 0 || memo == first));
        first = memo;
        for (int j = 0; i == 0 && j < OTHERS; j++) {
            start_and_wait(&threads[j], &others[j]);
            CHECK(others[j] != NULL && others[j] != first);
        }
    }
    end_threads(threads, OTHERS);
    pthread_attr_destroy(&attr);
    munmap(stack, STACK_BYTES);
}

enum { BYTES_OF_A_STACK = 256 * 1024 };

static pthread_attr_t on_stack(char *stack)
{
    pthread_attr_t attr;
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstack(&attr, stack, BYTES_OF_A_STACK));
    return attr;
}

static char *map_stack(void)
{
    void *stack =
        mmap(NULL, BYTES_OF_A_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    return stack;
}

static void run_on(char *stack, void *(*function)(void *), void *ctx)
{
    pthread_attr_t attr = on_stack(stack);
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, &attr, function, ctx));
    CHECK_OK(pthread_join(thread, NULL));
    pthread_attr_destroy(&attr);
}

static void *take_if_held(void *ret_held)
{
    struct taken taken;
    *(bool *)ret_held = has_memo();
    take(&taken, DEPTH, 0, 0);
    return NULL;
}

static void *end_in_a_capture(void *unused)
{
    struct taken taken;
    take(&taken, DEPTH, 0, 0);
    CHECK(sonde__capture_memo_enter() != NULL);
    return unused;
}

/* The next thread on a stack inherits the memo's contents, unless they were just changed. */
TEST(a_memo_stays_for_the_next_thread_on_its_stack)
{
    char *stack = map_stack();
    char *other = map_stack();
    bool held = true;
    CHECK_OK(sonde_stack_prepare());
    run_on(stack, take_if_held, &held);
    CHECK(!held);
    run_on(other, take_if_held, &held);
    CHECK(!held);
    run_on(stack, take_if_held, &held);
    CHECK(held);
    run_on(stack, end_in_a_capture, NULL);
    run_on(stack, take_if_held, &held);
    CHECK(!held);
    run_on(other, take_if_held, &held);
    CHECK(held);
    munmap(stack, BYTES_OF_A_STACK);
    munmap(other, BYTES_OF_A_STACK);
}

static __attribute__((noinline)) int check_at(int depth, volatile uint32_t *bits)
{
    volatile char room[64];
    room[0] = (char)depth;
    if (depth == 0) {
        check_with(DEPTH, 0, 0);
    } else if (*bits >> depth & 1) {
        room[1] = (char)check_at(depth - 1, bits);
    } else {
        room[2] = (char)check_at(depth - 1, bits);
    }
    return room[0] + room[1];
}

static void *check_some(void *ctx)
{
    uint32_t bits = *(const uint32_t *)ctx * 2654435761u;
    begin_state(bits);
    for (int i = 0; i < 3; i++) {
        (void)check_at((int)(bits >> 28) + i, &bits);
    }
    return NULL;
}

/* The inherited memo gives the next thread correct stacks. */
TEST(threads_one_after_another_on_a_stack)
{
    char *stack = map_stack();
    CHECK_OK(sonde_stack_prepare());
    for (uint32_t i = 0; i < 300; i++) {
        run_on(stack, check_some, &i);
    }
    munmap(stack, BYTES_OF_A_STACK);
}

/* The page that holds the frames of most stacks. */
static bool is_in_memory(const struct sonde__memo *memo)
{
    unsigned char there = 0;
    uint64_t page = (uint64_t)(uintptr_t)(memo + 1) - 1;
    CHECK_OK(mincore((void *)(uintptr_t)(page & ~(uint64_t)4095), 1, &there));
    return (there & 1) != 0;
}

/* Memory for the memos of the next threads is allocated ahead, and no more than that. */
TEST(the_next_slots_are_prepared)
{
    enum { NEXT = 7, SLOTS_MAPPED = 16 };
    struct sonde__memo *own_memo, *memos[NEXT];
    pthread_t threads[NEXT];
    if (sysconf(_SC_PAGESIZE) != 4096) {
        SKIP("written for pages of 4 KiB");
    }
    CHECK_OK(sonde_stack_prepare());
    (void)take_memo(&own_memo);
    CHECK(own_memo != NULL);
    uint64_t at = (uint64_t)(uintptr_t)own_memo;
    for (int i = 1; i < SLOTS_MAPPED; i++) {
        const void *next = (const void *)(uintptr_t)(at + (uint64_t)i * SONDE__MEMO_BYTES);
        CHECK_EQ(is_in_memory(next), i <= NEXT);
    }
    begin_threads(NEXT);
    for (int i = 0; i < NEXT; i++) {
        start_and_wait(&threads[i], &memos[i]);
        CHECK_EQ((uint64_t)(uintptr_t)memos[i], at + (uint64_t)(i + 1) * SONDE__MEMO_BYTES);
    }
    end_threads(threads, NEXT);
}

static void *take_and_wait(void *unused)
{
    begin_state((uint64_t)(uintptr_t)&unused);
    for (int i = 0; i < 3; i++) {
        pthread_barrier_wait(&barrier);
        check_with(DEPTH, 0, 0);
    }
    return unused;
}

TEST(more_threads_than_slots)
{
    enum { THREADS = SONDE__CAPTURE_MEMOS + 20 };
    static pthread_t threads[THREADS];
    pthread_attr_t attr;
    CHECK_OK(sonde_stack_prepare());
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstacksize(&attr, 256 * 1024));
    CHECK_OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_create(&threads[i], &attr, take_and_wait, NULL));
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
    }
    CHECK(sonde__capture_memo_refused() >= 20);
    pthread_attr_destroy(&attr);
    pthread_barrier_destroy(&barrier);
}

/* All slots are leased, then their threads end. A thread on a new stack gets a slot. */
TEST(slots_of_ended_threads_are_taken)
{
    enum { STACK_BYTES = 256 * 1024, THREADS = SONDE__CAPTURE_MEMOS };
    static pthread_t threads[THREADS];
    static struct sonde__memo *memos[THREADS];
    struct sonde__memo *last = NULL;
    size_t size = ((size_t)THREADS + 1) * STACK_BYTES;
    char *stacks = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_attr_t attr;
    CHECK(stacks != MAP_FAILED);
    CHECK_OK(sonde_stack_prepare());
    CHECK_OK(pthread_attr_init(&attr));
    begin_threads(THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_attr_setstack(&attr, stacks + (size_t)i * STACK_BYTES, STACK_BYTES));
        CHECK_OK(pthread_create(&threads[i], &attr, take_memo_and_wait, &memos[i]));
        pthread_barrier_wait(&barrier);
        with_memo += memos[i] != NULL;
    }
    CHECK(with_memo >= THREADS - 1); /* the main thread may have a slot */
    end_threads(threads, THREADS);
    CHECK_OK(pthread_attr_setstack(&attr, stacks + (size_t)THREADS * STACK_BYTES, STACK_BYTES));
    CHECK_OK(pthread_create(&threads[0], &attr, take_memo, &last));
    CHECK_OK(pthread_join(threads[0], NULL));
    CHECK(last != NULL);
    pthread_attr_destroy(&attr);
    munmap(stacks, size);
}

static void *take_memo_and_index(void *ret_index)
{
    struct sonde__memo *memo = NULL;
    (void)take_memo(&memo);
    *(uint32_t *)ret_index = sonde__capture_memo_index();
    return NULL;
}

/* In a fork child only the slots of the other threads are free. */
TEST(a_fork_child_has_the_slots_of_others)
{
    enum { OTHERS = 4 };
    struct sonde__memo *own_memo, *memos[OTHERS];
    pthread_t threads[OTHERS];
    int status;
#if defined(SONDE_EMULATED)
    SKIP("the emulator starts no thread in the child of a program with threads");
#endif
    if (TEST_SIGNALS_ARE_LATE) {
        SKIP("the sanitizer starts no thread in the child of a program with threads");
    }
    CHECK_OK(sonde_stack_prepare());
    (void)take_memo(&own_memo);
    CHECK_EQ(sonde__capture_memo_index(), 0);
    begin_threads(OTHERS);
    for (int i = 0; i < OTHERS; i++) {
        start_and_wait(&threads[i], &memos[i]);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        uint32_t index = 0;
        pthread_t thread;
        struct sonde__memo *memo;
        (void)take_memo(&memo);
        bool is_right = memo == own_memo && sonde__capture_memo_index() == 0 &&
                        pthread_create(&thread, NULL, take_memo_and_index, &index) == 0 &&
                        pthread_join(thread, NULL) == 0 && index == 1;
        _exit(is_right ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    end_threads(threads, OTHERS);
}

TEST(a_fork_child_keeps_its_own)
{
    pid_t child;
    int status;
    CHECK_OK(sonde_stack_prepare());
    begin_state(10);
    check_with(DEPTH, 0, 0);
    child = fork();
    if (child == 0) {
        bool has = has_memo();
        struct sonde__memo *memo = sonde__capture_memo_enter();
        sonde__capture_memo_leave(memo);
        check_with(DEPTH, 0, 0);
        for (int i = 0; i < 2 * SONDE__CAPTURE_MEMOS; i++) {
            pthread_t thread;
            CHECK_OK(pthread_create(&thread, NULL, take_once, NULL));
            CHECK_OK(pthread_join(thread, NULL));
            if (sonde__capture_memo_enter() != memo) {
                FAIL("another thread took the slot");
            }
            sonde__capture_memo_leave(memo);
        }
        _exit(has ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* A handler interrupts a capture: it sees the mark. */
TEST(a_capture_inside_a_capture)
{
    struct sonde__memo *memo;
    CHECK_OK(sonde_stack_prepare());
    begin_state(11);
    check_with(DEPTH, 0, 0);
    memo = sonde__capture_memo_enter();
    CHECK(memo != NULL);
    uint32_t first = memo->first;
    check_with(DEPTH, 0, 0);
    check_with(20, 3, 1);
    CHECK(sonde__capture_memo_enter() == NULL);
    CHECK_EQ(memo->first, first); /* unchanged */
    sonde__capture_memo_leave(memo);
    CHECK(sonde__capture_memo_enter() == memo);
    sonde__capture_memo_leave(memo);
}

/* The memo saves the walk: capturing the same stack again reads only the cells. */
TEST(a_repeated_stack_is_not_walked)
{
    struct sonde__memo *memo;
    struct taken *taken = malloc(sizeof *taken);
    CHECK_OK(sonde_stack_prepare());
    for (int i = 0; i < 2; i++) {
        take(taken, DEPTH, 0, 0);
    }
    memo = sonde__capture_memo_enter();
    CHECK(memo != NULL);
    CHECK(memo->root.by != SONDE__MEMO_NO_ROOT);
    CHECK_EQ(SONDE__MEMO_FRAMES - memo->first, taken->stack.count);
    for (uint32_t i = 0; i < taken->stack.count; i++) {
        CHECK_EQ(memo->frames[memo->first + i].pc, taken->pcs[i]);
        CHECK(i == 0 || (memo->frames[memo->first + i].cell & SONDE__MEMO_ODD) == 0);
    }
    sonde__capture_memo_leave(memo);
    free(taken);
}

/* Memory that the loader keeps after its first dlopen would look like a leak. */
static const char library[] = "libBrokenLocale.so.1";
static __attribute__((constructor)) void load_once(void)
{
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

/* A new image snapshot invalidates the memo of the one before. */
TEST(a_new_snapshot_begins_anew)
{
    struct taken *taken = malloc(sizeof *taken);
    struct sonde__memo *memo;
    uint64_t generation;
    void *handle;
    CHECK_OK(sonde_stack_prepare());
    take(taken, DEPTH, 0, 0);
    memo = sonde__capture_memo_enter();
    CHECK(memo != NULL);
    generation = memo->generation;
    sonde__capture_memo_leave(memo);
    handle = dlopen(library, RTLD_NOW);
    CHECK(handle != NULL);
    CHECK_OK(sonde_stack_prepare());
    take(taken, DEPTH, 0, 0);
    CHECK(memo->generation != generation);
    dlclose(handle);
    free(taken);
}
