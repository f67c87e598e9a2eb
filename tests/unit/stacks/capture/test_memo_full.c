// SPDX-License-Identifier: Apache-2.0
/* More than a memo holds (memo_check.h): call sites without rules, and stacks deeper than it. */
#include <pthread.h>

#include "capture_memo.h"
#include "memo_check.h"
#include "test.h"
#include "unwind_memo_rules.h"

enum { DEPTH = MEMO_DEPTH };

typedef int node_function(int depth);

static __attribute__((noinline)) int roam(int depth);

/* A number around each call, so that the compiler does not make one call of them. */
#define SITE(n)                                                                                    \
    case n:                                                                                        \
        __asm__ volatile("" : : "i"(n));                                                           \
        kept += roam(depth - 1);                                                                   \
        __asm__ volatile("" : : "i"(n));                                                           \
        break;
#define SITES(n)                                                                                   \
    SITE(n) SITE(n + 1) SITE(n + 2) SITE(n + 3) SITE(n + 4) SITE(n + 5) SITE(n + 6) SITE(n + 7)
#define ROAMER(name, bytes)                                                                        \
    static __attribute__((noinline)) int name(int depth)                                           \
    {                                                                                              \
        volatile char room[bytes];                                                                 \
        volatile int kept = depth;                                                                 \
        room[0] = 1;                                                                               \
        switch (next_random(64)) {                                                                 \
            SITES(0) SITES(8) SITES(16) SITES(24) SITES(32) SITES(40) SITES(48) SITES(56)          \
        }                                                                                          \
        return kept + room[0];                                                                     \
    }
ROAMER(roam_16, 16)
ROAMER(roam_40, 40)
ROAMER(roam_120, 120)
ROAMER(roam_900, 900)
ROAMER(roam_8, 8)
ROAMER(roam_64, 64)

static int roam(int depth)
{
    static node_function *const roamers[] = {roam_16, roam_40, roam_120, roam_900, roam_8, roam_64};
    check_here();
    return depth > 0 ? roamers[next_random(6)](depth) + 1 : 0;
}

/* Rules of other addresses, which say that the stack ends, push out what is there. */
static void push_out_rules(int count)
{
    const struct sonde__memo_rule end = {.flags = SONDE__MEMO_RULE_END};
    for (int i = 0; i < count; i++) {
        uint64_t pc = (uint64_t)1 << 44 | (uint64_t)next_random(1u << 30) << 8;
        sonde__unwind_memo_rules_put(pc, &end);
    }
}

static uint32_t count_known(const struct taken *taken)
{
    struct sonde__memo_rule rule;
    uint32_t count = 0;
    for (uint32_t i = 0; i < taken->stack.count; i++) {
        count += sonde__memo_rules_find(taken->pcs[i], &rule);
    }
    return count;
}

TEST(more_call_sites_than_rules)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(15);
    for (int i = 0; i < shapes() / 10; i++) {
        roam((int)next_random(30));
        /* later on the outer frames are the memo's, and need no rules */
        CHECK(i > 0 || count_known(&own->memo) > own->memo.stack.count / 2);
        push_out_rules(i % 16 == 0 ? 200000 : 5000);
        CHECK(i % 16 != 0 || count_known(&own->memo) == 0);
    }
    end_state();
}

static __attribute__((noinline)) int recurse(int n, int top)
{
    volatile int kept = n;
    if (n == 0 || n == top / 2 || n == top - 1 || n % 9973 == 0) {
        check_with(DEPTH, 0, 0);
        check_with(200, 64, 1);
        check_with(DEPTH, 64, 0);
        check_with(700, 0, 3);
    }
    if (n > 0) {
        kept = recurse(n - 1, top) + 1;
    }
    return kept;
}

static void *recurse_deep(void *unused)
{
#ifdef SONDE_SANITIZED
    enum { DEEP = 20000 }; /* sanitizers keep a stack of their own, which is not as deep */
#else
    enum { DEEP = 100000 };
#endif
    enum { FULL = SONDE__MEMO_FRAMES };
    static const int depths[] = {47,       48,       49,   100, FULL - 9, FULL - 8, FULL - 7,
                                 FULL - 6, FULL - 5, FULL, 400, 900,      2000,     DEEP};
    begin_state(9);
    for (unsigned i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        recurse(depths[i], depths[i]);
        for (int j = 0; j < 40; j++) { /* the memo is full: its frames are shifted out */
            recurse(j, j);
        }
    }
    own->checks = 1000;
    end_state();
    return unused;
}

TEST_TIMEOUT(deeper_than_a_memo, 120)
{
    pthread_attr_t attr;
    pthread_t thread;
    CHECK_OK(sonde_stack_prepare());
    CHECK_OK(pthread_attr_init(&attr));
    CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)256 << 20));
    CHECK_OK(pthread_create(&thread, &attr, recurse_deep, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    pthread_attr_destroy(&attr);
}
