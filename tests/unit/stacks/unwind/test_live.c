// SPDX-License-Identifier: Apache-2.0
/* Walks of this very process against glibc's backtrace(): from deep recursion, a callback of libc,
 * a signal handler, an alternate stack, a new thread; with compiled tables and in place. */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "live.h"
#include "test.h"

#define FRAMES_MAX 4096

struct pair {
    struct live *live;
    struct sonde_stack ours;
    uint64_t pcs[FRAMES_MAX];
    uint8_t how[FRAMES_MAX];
    void *theirs[FRAMES_MAX];
    int their_count;
};

static struct pair pair;
static struct live live;

/* Call both at one place. The pc of frame 0 differs, as they are two calls. */
static __attribute__((noinline)) void capture_both(void)
{
    struct sonde__regs regs;
    live_regs_here(&regs);
    pair.their_count = backtrace(pair.theirs, FRAMES_MAX);
    struct sonde__walk walk = live_walk(pair.live, &regs);
    sonde_stack_init(&pair.ours, pair.pcs, pair.how, FRAMES_MAX, 0);
    sonde__unwind_walk(&walk, &pair.ours);
}

/* Sanitizers add a frame between us and backtrace(). */
static void compare(void)
{
    CHECK_EQ(pair.ours.end, SONDE_END_ROOT);
    CHECK(pair.ours.count > 2);
#if defined(SONDE_SANITIZED)
    uint32_t extra = (uint32_t)pair.their_count - pair.ours.count;
    CHECK(extra <= 1);
#else
    uint32_t extra = 0;
    CHECK_EQ(pair.ours.count, pair.their_count);
#endif
    for (uint32_t i = 1; i < pair.ours.count; i++) {
        if (pair.pcs[i] != (uint64_t)(uintptr_t)pair.theirs[i + extra]) {
            FAIL("frame %u: %#llx, backtrace() %p", i, (unsigned long long)pair.pcs[i],
                 pair.theirs[i + extra]);
        }
    }
}

static void *use_heap(void *unused)
{
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        (void)pthread_attr_destroy(&attr);
    }
    return unused;
}

/* Before the harness counts the heap: backtrace() loads libgcc, and glibc keeps a
 * thread's stack and arena.
 */
static __attribute__((constructor)) void warm_up(void)
{
    void *pcs[4];
    pthread_t thread;
    (void)backtrace(pcs, 4);
    if (pthread_create(&thread, NULL, use_heap, NULL) == 0) {
        (void)pthread_join(thread, NULL);
    }
}

static void open_pair(enum live_mode mode)
{
    live_open(&live, mode);
    pair.live = &live;
}

static __attribute__((noinline)) int recurse(int depth)
{
    volatile char room[64];
    room[0] = (char)depth;
    if (depth == 0) {
        capture_both();
        return room[0];
    }
    return recurse(depth - 1) + room[0];
}

static void check_recursion(enum live_mode mode)
{
    open_pair(mode);
    (void)recurse(1000);
    compare();
    CHECK(pair.ours.count > 1000);
    CHECK_EQ(pair.how[0], SONDE_FOUND_REGISTERS | SONDE_HOW_EXACT);
    CHECK_EQ(pair.how[5], SONDE_FOUND_CFI);
    live_close(&live);
}

TEST(recursion_by_table)
{
    check_recursion(LIVE_TABLE);
}
TEST(recursion_in_place)
{
    check_recursion(LIVE_IN_PLACE);
}

static int order_and_capture(const void *a, const void *b)
{
    if (pair.their_count == 0) {
        capture_both();
    }
    return *(const int *)a - *(const int *)b;
}

static void check_callback(enum live_mode mode)
{
    int numbers[] = {3, 1, 2, 9, 7};
    open_pair(mode);
    qsort(numbers, 5, sizeof numbers[0], order_and_capture);
    compare();
    live_close(&live);
}

TEST(callback_of_qsort_by_table)
{
    check_callback(LIVE_TABLE);
}
TEST(callback_of_qsort_in_place)
{
    check_callback(LIVE_IN_PLACE);
}

static void capture_on_signal(int number)
{
    (void)number;
    capture_both();
}

static void check_signal_frame(void)
{
    unsigned trampolines = 0;
    for (uint32_t i = 0; i + 1 < pair.ours.count; i++) {
        if ((pair.how[i] & SONDE_HOW_SIGNAL) != 0) {
            trampolines++;
            CHECK((pair.how[i + 1] & SONDE_HOW_EXACT) != 0);
            CHECK((pair.how[i] & SONDE_HOW_EXACT) == 0);
        } else if (i + 1 > 0) {
            CHECK((pair.how[i + 1] & SONDE_HOW_EXACT) == 0);
        }
    }
    CHECK_EQ(trampolines, 1);
}

static void check_signal(enum live_mode mode, int flags)
{
    struct sigaction action = {.sa_handler = capture_on_signal, .sa_flags = flags};
    stack_t stack = {.ss_size = 1 << 16};
    open_pair(mode);
    stack.ss_sp =
        mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack.ss_sp != MAP_FAILED);
    CHECK_OK(sigaltstack(&stack, NULL));
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(raise(SIGUSR1));
    compare();
    check_signal_frame();
    live_close(&live);
}

TEST(signal_handler_by_table)
{
    check_signal(LIVE_TABLE, 0);
}
TEST(signal_handler_in_place)
{
    check_signal(LIVE_IN_PLACE, 0);
}
TEST(alternate_stack_by_table)
{
    check_signal(LIVE_TABLE, SA_ONSTACK);
}
TEST(alternate_stack_in_place)
{
    check_signal(LIVE_IN_PLACE, SA_ONSTACK);
}

static void *capture_in_thread(void *unused)
{
    (void)recurse(20);
    return unused;
}

static void check_thread(enum live_mode mode)
{
    pthread_t thread;
    open_pair(mode);
    CHECK_OK(pthread_create(&thread, NULL, capture_in_thread, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    compare();
    live_close(&live);
}

TEST(new_thread_by_table)
{
    check_thread(LIVE_TABLE);
}
TEST(new_thread_in_place)
{
    check_thread(LIVE_IN_PLACE);
}

#if defined(__x86_64__)
/* Only rbp locates this function's frame; sp and pc are known, as of a blocked thread read from
 * outside. */
static volatile int room_size = 100; /* known at run time only */

static __attribute__((noinline)) int room_of(void)
{
    volatile char *room = __builtin_alloca((size_t)room_size);
    struct sonde__regs regs;
    room[0] = 1;
    live_regs_here(&regs);
    pair.their_count = backtrace(pair.theirs, FRAMES_MAX);
    struct sonde__walk walk = live_walk(pair.live, &regs);
    walk.regs.known = (uint64_t)1 << SONDE__X86_64_RSP;
    walk.infer = true;
    sonde_stack_init(&pair.ours, pair.pcs, pair.how, FRAMES_MAX, 0);
    sonde__unwind_walk(&walk, &pair.ours);
    return room[0];
}

static void *call_room_of(void *unused)
{
    CHECK_EQ(room_of(), 1);
    return unused;
}

/* On a stack that is all zero: what earlier calls leave in the frames of the harness can look like
 * another caller, and then nothing is inferred. */
TEST(unknown_frame_pointer_is_inferred)
{
    size_t size = 1 << 20;
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attr;
    pthread_t thread;
    CHECK(stack != MAP_FAILED);
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstack(&attr, stack, size));
    open_pair(LIVE_TABLE);
    CHECK_OK(pthread_create(&thread, &attr, call_room_of, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_OK(pthread_attr_destroy(&attr));
    CHECK_OK(munmap(stack, size));
    compare();
    CHECK_EQ(pair.how[1], SONDE_FOUND_INFERRED);
    live_close(&live);
}
#endif

/* Not in the function that recurses, whose frames have to be small. */
static __attribute__((noinline)) void walk_deep(void)
{
    struct sonde__regs regs;
    live_regs_here(&regs);
    struct sonde__walk walk = live_walk(pair.live, &regs);
    sonde_stack_init(&pair.ours, pair.pcs, pair.how, 256, SONDE_OUTER_FRAMES);
    sonde__unwind_walk(&walk, &pair.ours);
}

/* A million frames: nothing recurses in the walk, and both ends are kept. */
static __attribute__((noinline)) int recurse_deep(int depth)
{
    volatile unsigned kept = (unsigned)depth;
    if (depth == 0) {
        walk_deep();
        return 0;
    }
    return (int)((unsigned)recurse_deep(depth - 1) + kept);
}

static void *recurse_a_million(void *unused)
{
    (void)recurse_deep(1000000);
    return unused;
}

TEST(a_million_frames)
{
    pthread_t thread;
    pthread_attr_t attr;
    open_pair(LIVE_TABLE);
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)1 << 30));
    CHECK_OK(pthread_create(&thread, &attr, recurse_a_million, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_EQ(pair.ours.end, SONDE_END_ROOT);
    CHECK_EQ(pair.ours.count, 256);
    CHECK_EQ(pair.ours.lost_at, 192);
    CHECK(pair.ours.count + pair.ours.lost_count > 1000000);
    CHECK(pair.ours.count + pair.ours.lost_count < 1000010);
    CHECK_EQ(pair.pcs[200], pair.pcs[100]);
    CHECK(pair.pcs[255] != pair.pcs[100]);
    live_close(&live);
}
