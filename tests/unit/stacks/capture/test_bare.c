// SPDX-License-Identifier: Apache-2.0
/* Stacks through code without call frame information, by the memo and by scans (memo_check.h), and
 * against the return addresses that the functions themselves have noted. */
#include "bare_calls.h"
#include "capture_memo.h"
#include "memo_check.h"
#include "test.h"

enum { DEPTH = 24, TRIES_MAX = 200 };
/* On aarch64 such code is walked by frame records, not by scans. */
#if defined(__x86_64__)
static const bool is_scanned = true;
#else
static const bool is_scanned = false;
#endif

static uint64_t with_proven; /* stacks that the memo held to the root, with such frames */

/* Each capture has a limit for proofs by scans: capture until all is proven. */
static void learn(void)
{
    sonde__capture_memo_disable(true);
    for (int i = 0; i < TRIES_MAX; i++) {
        take(&own->table, MEMO_DEPTH, 0, 0);
        if (own->table.stack.end != SONDE_END_COSTLY) {
            break;
        }
    }
}

static void check_shadow(const struct taken *taken)
{
    uint32_t at = 0;
    CHECK_EQ(taken->stack.end, SONDE_END_ROOT);
    for (int i = bare_shadow_count; i-- > 0;) {
        while (at < taken->stack.count && taken->pcs[at] != (uint64_t)(uintptr_t)bare_shadow[i]) {
            at++;
        }
        if (at == taken->stack.count) {
            FAIL("the caller %d of %d is missing", i, bare_shadow_count);
        }
    }
}

static void check_memo(void)
{
    struct sonde__memo *memo = sonde__capture_memo_enter();
    CHECK(memo != NULL);
    with_proven += memo->root.by != SONDE__MEMO_NO_ROOT && memo->proven != SONDE__MEMO_FRAMES;
    sonde__capture_memo_leave(memo);
}

static __attribute__((noinline)) int visit(int depth)
{
    BARE_ENTER();
    volatile int sum = depth;
    if (depth == 0 || next_random(3) == 0) {
        learn();
        check_with(MEMO_DEPTH, 0, 0);
        if (is_scanned) {
            check_shadow(&own->memo);
            check_memo();
        }
        check_here();
    }
    for (uint32_t i = 1 + next_random(2); depth > 0 && i > 0; i--) {
        uint32_t which = next_random(BARE_CALLS + 1);
        sum += which < BARE_CALLS ? bare_calls[which](visit, depth - 1) : visit(depth - 1);
        if (own->checks > 2000) {
            break;
        }
    }
    BARE_LEAVE();
    return sum;
}

TEST(frames_without_cfi_are_remembered)
{
    CHECK_OK(sonde_stack_prepare());
    begin_state(7);
    while (own->checks < 2000) {
        (void)visit(2 + (int)next_random(DEPTH));
    }
    end_state();
    CHECK(!is_scanned || with_proven > own->checks / 3);
}
