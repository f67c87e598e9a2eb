// SPDX-License-Identifier: Apache-2.0
/* Which parts of a thread's own stack are checked, and which are then trusted
 * (capture_own_stack.h). The test makes a stack with a hole, as between a coroutine's stack and the
 * thread's. */
#include <pthread.h>
#include <sys/mman.h>

#include "capture_own_stack.h"
#include "os.h"
#include "test.h"

enum { PAGE = 65536, PAGES = 96, HOLE = 20, HOLES = 47 };

static uint64_t stack;

static uint64_t page(unsigned index)
{
    return stack + (uint64_t)index * PAGE;
}

static void *with_a_hole(void *unused)
{
    uint64_t end = sonde__os_thread_pointer();
    uint64_t seen;
    CHECK_OK(mprotect((void *)(uintptr_t)page(HOLE), PAGE, PROT_NONE));

    /* nothing was checked yet; a check goes as far as asked, or one page more */
    CHECK_EQ(sonde__capture_own_stack_seen(page(10) + 8), page(10) + 8);
    seen = sonde__capture_own_stack_to(page(10) + 8, page(10) + 16);
    CHECK(seen >= page(10) + 16 && seen <= page(11));
    CHECK_EQ(sonde__capture_own_stack_seen(page(10) + 8), seen);
    CHECK_EQ(sonde__capture_own_stack_seen(page(10)), page(10)); /* below it nothing */
    CHECK_EQ(sonde__capture_own_stack_seen(seen), seen);

    /* further outward, and again: at least what was there */
    CHECK(sonde__capture_own_stack_to(page(10) + 8, page(11) + 8) >= page(11) + 8);
    CHECK(sonde__capture_own_stack_to(page(10) + 8, page(10) + 16) >= page(11) + 8);
    CHECK(sonde__capture_own_stack_seen(page(10) + 8) >= page(11) + 8);

    /* further inward */
    CHECK(sonde__capture_own_stack_to(page(9) + 8, page(9) + 16) >= page(11) + 8);
    CHECK(sonde__capture_own_stack_seen(page(9) + 8) >= page(11) + 8);

    /* up to the hole, never over it, in any order */
    CHECK_EQ(sonde__capture_own_stack_to(page(HOLE - 1), page(HOLE) + 8), page(HOLE));
    CHECK_EQ(sonde__capture_own_stack(page(HOLE - 1)), page(HOLE));
    CHECK_EQ(sonde__capture_own_stack_seen(page(HOLE - 1)), page(HOLE));
    CHECK_EQ(sonde__capture_own_stack_to(page(HOLE) - 4096, page(HOLE) + PAGE), page(HOLE));
    CHECK_EQ(sonde__capture_own_stack_to(page(HOLE) + 8, page(HOLE) + 16), page(HOLE) + 8);
    CHECK(sonde__capture_own_stack_to(page(HOLE + 1), page(HOLE + 1) + 8) > page(HOLE + 1));
    CHECK_EQ(sonde__capture_own_stack_to(page(HOLE - 1), page(HOLE + 1) + 8), page(HOLE));
    CHECK_EQ(sonde__capture_own_stack_seen(page(HOLE) - 8), page(HOLE));

    /* at once only so far, step by step to the thread's variables, not beyond */
    seen = page(HOLE + 1);
    CHECK_EQ(sonde__capture_own_stack_to(seen, end), seen);
    while (seen < end) {
        uint64_t next = sonde__capture_own_stack_to(page(HOLE + 1), seen + 8);
        CHECK(next > seen && next <= end);
        seen = next;
    }
    CHECK_EQ(sonde__capture_own_stack_to(page(HOLE + 1), end + 8), end);
    CHECK_EQ(sonde__capture_own_stack_to(end, end + 8), end); /* no stack of ours */
    CHECK_EQ(sonde__capture_own_stack_seen(page(HOLE + 1)), end);
    return unused;
}

static void run_on_it(void *(*function)(void *))
{
    pthread_attr_t attr;
    pthread_t thread;
    void *memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    stack = ((uint64_t)(uintptr_t)memory + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstack(&attr, (void *)(uintptr_t)stack, (size_t)(PAGES - 1) * PAGE));
    CHECK_OK(pthread_create(&thread, &attr, function, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    pthread_attr_destroy(&attr);
    munmap(memory, (size_t)PAGES * PAGE);
}

TEST(nothing_is_taken_for_granted_over_a_hole)
{
    run_on_it(with_a_hole);
}

/* Every page of a stack is checked before it counts, whatever was asked before. */
static void *with_many_holes(void *unused)
{
    uint32_t random = 7;
    for (unsigned i = 1; i < HOLES; i += 3) {
        CHECK_OK(mprotect((void *)(uintptr_t)page(i), PAGE, PROT_NONE));
    }
    for (unsigned i = 0; i < 20000; i++) {
        random = random * 1664525u + 1013904223u;
        uint64_t sp = stack + (random >> 8) % (HOLES * PAGE / 8) * 8;
        uint64_t to = sp + 8 + (random >> 3) % (2 * PAGE / 8) * 8;
        unsigned at = (unsigned)((sp - stack) / PAGE);
        unsigned hole = at % 3 == 1 ? at : at + (4 - at % 3) % 3;
        uint64_t end = at % 3 == 1 ? sp : page(hole);
        uint64_t seen = sonde__capture_own_stack_to(sp, to);
        CHECK(seen <= end);
        CHECK(seen >= to || seen == end);
        CHECK_EQ(sonde__capture_own_stack_seen(sp), seen);
    }
    return unused;
}

TEST(whatever_was_asked_before)
{
    run_on_it(with_many_holes);
}
