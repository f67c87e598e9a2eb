// SPDX-License-Identifier: Apache-2.0
#include "memo_check.h"

#include <string.h>

#include "capture_memo.h"
#include "test.h"

static __thread struct state own_memory;
__thread struct state *own;

void begin_state(uint64_t seed)
{
    own = &own_memory;
    memset(own, 0, sizeof *own);
    own->random = seed * 0x9e3779b97f4a7c15u + 1;
}

void end_state(void)
{
    CHECK(own->checks > 100);
}

uint32_t next_random(uint32_t below)
{
    own->random = own->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(own->random >> 33) % below;
}

__attribute__((noinline)) void take(struct taken *taken, uint32_t capacity, uint32_t outer,
                                    uint32_t skip)
{
    memset(taken->pcs, 0, sizeof taken->pcs);
    memset(taken->how, 0xee, sizeof taken->how);
    sonde_stack_init(&taken->stack, taken->pcs, taken->how, capacity, outer);
    CHECK_OK(sonde_stack_capture(&taken->stack, skip));
}

void check_equal(const struct taken *a, const struct taken *b)
{
    CHECK_EQ(a->stack.count, b->stack.count);
    for (uint32_t i = 0; i < a->stack.count; i++) {
        if (a->pcs[i] != b->pcs[i] || a->how[i] != b->how[i]) {
            FAIL("frame %u of %u: table %lx %x, memo %lx %x", i, a->stack.count,
                 (unsigned long)a->pcs[i], a->how[i], (unsigned long)b->pcs[i], b->how[i]);
        }
    }
    CHECK_EQ(a->stack.end, b->stack.end);
    CHECK_EQ(a->stack.end_at, b->stack.end_at);
    CHECK_EQ(a->stack.lost_at, b->stack.lost_at);
    CHECK_EQ(a->stack.lost_count, b->stack.lost_count);
    for (uint32_t i = b->stack.capacity; i < MEMO_DEPTH && i < b->stack.capacity + 16; i++) {
        CHECK_EQ(b->how[i], 0xee); /* nothing behind the end */
        CHECK_EQ(b->pcs[i], 0);
    }
}

/* By the tables, with what the memo holds of earlier, and once more. */
__attribute__((noinline)) void check_with(uint32_t capacity, uint32_t outer, uint32_t skip)
{
    for (volatile int round = 0; round < 3; round++) { /* one call in the code, not three */
        sonde__capture_memo_disable(round == 0);
        take(round == 0 ? &own->table : &own->memo, capacity, outer, skip);
        if (round > 0) {
            check_equal(&own->table, &own->memo);
        }
    }
    own->checks++;
}

__attribute__((noinline)) void check_here(void)
{
    uint32_t capacity = MEMO_DEPTH;
    uint32_t outer = 0;
    uint32_t skip = 0;
    if (next_random(4) == 0) {
        capacity = 1 + next_random(next_random(2) == 0 ? 20 : 200);
        outer = next_random(3) == 0 ? next_random(capacity) : 0;
        skip = next_random(2) == 0 ? next_random(8) : 0;
    }
    check_with(capacity, outer, skip);
}

int shapes(void)
{
#if defined(SONDE_EMULATED)
    return 600;
#else
    return test_long() ? 100000 : 3000;
#endif
}
