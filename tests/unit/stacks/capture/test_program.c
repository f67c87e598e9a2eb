// SPDX-License-Identifier: Apache-2.0
/* Stacks through code of the program without call frame information, before
 * sonde_stack_prepare(): once it is proven, no code is read again, and no system call is made for
 * it. The same after sonde_stack_prepare(), for proofs from before. */
#include <sonde/stack.h>

#include "bare_calls.h"
#include "capture_memo.h"
#include "os.h"
#include "test.h"
#include "unwind_memo.h"

size_t __wrap_sonde__os_read(uint64_t address, void *ret_bytes, size_t size);
size_t __real_sonde__os_read(uint64_t address, void *ret_bytes, size_t size);
enum sonde_status __wrap_sonde__os_code_find(int32_t fd, uint64_t address,
                                             struct sonde__os_code *ret_code);
enum sonde_status __real_sonde__os_code_find(int32_t fd, uint64_t address,
                                             struct sonde__os_code *ret_code);

static unsigned calls; /* system calls for code */

size_t __wrap_sonde__os_read(uint64_t address, void *ret_bytes, size_t size)
{
    calls++;
    return __real_sonde__os_read(address, ret_bytes, size);
}

enum sonde_status __wrap_sonde__os_code_find(int32_t fd, uint64_t address,
                                             struct sonde__os_code *ret_code)
{
    calls++;
    return __real_sonde__os_code_find(fd, address, ret_code);
}

enum { DEPTH = 64, NESTED = 12, TRIES_MAX = 200 };

static uint64_t pcs[DEPTH];
static uint8_t how[DEPTH];
static struct sonde_stack stack;

/* The return addresses that the functions have noted, in this order. */
static void check_shadow(void)
{
    uint32_t at = 0;
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    for (int i = bare_shadow_count; i-- > 0;) {
        while (at < stack.count && pcs[at] != (uint64_t)(uintptr_t)bare_shadow[i]) {
            at++;
        }
        if (at == stack.count) {
            FAIL("the caller %d of %d is missing", i, bare_shadow_count);
        }
    }
}

static unsigned take(void)
{
    calls = 0;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&stack, 0));
    return calls;
}

static void prove(void)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        (void)take();
        if (stack.end != SONDE_END_COSTLY) {
            break;
        }
    }
    check_shadow();
}

static void check_reads(void)
{
    prove();
    (void)take(); /* proofs of the first walk lose their seals */
    CHECK_EQ(take(), 0);
    check_shadow();
}

static void check_memo(void)
{
    prove();
    CHECK_OK(sonde_stack_prepare());
    (void)take();
    (void)take();
    struct sonde__memo *memo = sonde__capture_memo_enter();
    CHECK(memo != NULL);
    CHECK(memo->root.by != SONDE__MEMO_NO_ROOT && memo->proven != SONDE__MEMO_FRAMES);
    sonde__capture_memo_leave(memo);
    check_shadow();
}

static void (*check)(void);

static __attribute__((noinline)) int nest(int depth)
{
    volatile int sum = depth;
    if (depth == 0) {
        check();
    } else {
        sum += bare_calls[depth % BARE_CALLS](nest, depth - 1);
    }
    return sum;
}

static void run(void (*what)(void))
{
#if !defined(__x86_64__)
    SKIP("such code is walked by frame records here");
#endif
    check = what;
    (void)nest(NESTED);
}

TEST(proven_code_of_the_program_is_not_read_again)
{
    run(check_reads);
}

TEST(proofs_from_before_the_tables_are_remembered)
{
    run(check_memo);
}
