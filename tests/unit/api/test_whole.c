// SPDX-License-Identifier: Apache-2.0
/* Stacks of any depth, in arrays of their own. */
#include <malloc.h>
#include <pthread.h>

#include <sonde/stack.h>

#include "mem_heap.h"
#include "test.h"

static struct sonde_stack whole;
static enum sonde_status status;

static __attribute__((noinline)) unsigned recurse(int depth)
{
    volatile int kept = depth;
    if (depth == 0) {
        status = sonde_stack_capture_whole(&whole, 0);
        return 0;
    }
    return recurse(depth - 1) + (unsigned)kept;
}
static void *recurse_to(void *depth)
{
    (void)recurse(*(const int *)depth);
    return depth;
}

static void capture_at(int depth)
{
    pthread_t thread;
#if defined(SONDE_SANITIZED)
    SKIP("a sanitizer keeps a stack of calls of its own, which is not so deep");
#endif
    pthread_attr_t attr;
    (void)mallopt(M_ARENA_MAX, 1); /* a thread's own arena outlives it, and would be a leak */
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)1 << 30));
    CHECK_OK(pthread_create(&thread, &attr, recurse_to, &depth));
    CHECK_OK(pthread_join(thread, NULL));
    pthread_attr_destroy(&attr);
}

TEST(a_million_frames_are_complete)
{
    capture_at(1000000);
    CHECK_OK(status);
    CHECK_EQ(whole.end, SONDE_END_ROOT);
    CHECK_EQ(whole.lost_count, 0);
    CHECK(whole.count > 1000000 && whole.count < 1000010);
    /* one function's one call, but for the innermost, which calls the capture */
    for (uint32_t i = 2; i < 1000000; i++) {
        CHECK(whole.pcs[i] == whole.pcs[1]);
    }
    sonde_stack_free(&whole);
    sonde_stack_free(&whole);
    CHECK(whole.pcs == NULL);
}

TEST(a_deeper_one_keeps_both_ends)
{
    capture_at(1200000);
    CHECK_OK(status);
    CHECK_EQ(whole.end, SONDE_END_ROOT);
    CHECK_EQ(whole.count, SONDE_WHOLE_FRAMES_MAX);
    CHECK(whole.count + whole.lost_count > 1200000 && whole.count + whole.lost_count < 1200010);
    CHECK_EQ(whole.lost_at, SONDE_WHOLE_FRAMES_MAX - SONDE_OUTER_FRAMES);
    CHECK(whole.pcs[whole.count - 1] != whole.pcs[1]);
    sonde_stack_free(&whole);
}

TEST(shallow_and_refused_ones)
{
    struct sonde_stack skipped;
    CHECK_EQ(sonde_stack_capture_whole(NULL, 0), SONDE_USAGE);
    sonde_stack_free(NULL);
    CHECK_OK(sonde_stack_capture_whole(&whole, 0));
    CHECK_EQ(whole.end, SONDE_END_ROOT);
    CHECK_OK(sonde_stack_capture_whole(&skipped, 1));
    CHECK_EQ(skipped.count, whole.count - 1);
    CHECK_EQ(skipped.pcs[0], whole.pcs[1]);
    sonde_stack_free(&skipped);
    sonde_stack_free(&whole);
}

/* Each allocation fails in turn; the harness looks for leaks. */
TEST(no_memory)
{
    for (uint64_t i = 0; i < 4; i++) {
        sonde__mem_fail_once(i);
        enum sonde_status got = sonde_stack_capture_whole(&whole, 0);
        sonde__mem_fail_once(UINT64_MAX);
        CHECK(got == SONDE_OK || got == SONDE_MEMORY);
        CHECK_EQ(got == SONDE_MEMORY, i < 2);
        if (got == SONDE_OK) {
            sonde_stack_free(&whole);
        }
    }
}
