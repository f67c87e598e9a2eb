// SPDX-License-Identifier: Apache-2.0
/* Borders between two samples of a thread that ran on, from ticks of its CPU time. */
#include "sampler_border.h"
#include "test.h"

#define MS 1000000ull

/* Functions of 0x100 bytes; none is known below 0x1000. */
enum { MAIN = 0x1000, FIRST = 0x1100, SECOND = 0x1200, SHARED = 0x1300, THIRD = 0x1400 };

static bool find_function(const void *ctx, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end)
{
    (void)ctx;
    *ret_start = pc & ~0xffull;
    *ret_end = *ret_start + 0x100;
    return pc >= MAIN;
}

/* The first sample is of FIRST in MAIN, the second of SECOND in MAIN; both may be in SHARED, which
 * FIRST calls at its end. */
static struct sonde__sampler_border begin(bool shared)
{
    uint64_t a[] = {SHARED + 8, FIRST + 0x100, MAIN + 16},
             b[] = {SHARED + 9, SECOND + 16, MAIN + 32};
    unsigned from = shared ? 0 : 1;
    a[1] = shared ? a[1] : FIRST + 16;
    const struct sonde_stack first = {.pcs = a + from, .count = 3 - from};
    const struct sonde_stack second = {.pcs = b + from, .count = 3 - from};
    struct sonde__sampler_border border;
    sonde__sampler_border_begin(&border, &first, &second, find_function, NULL);
    return border;
}

/* A tick each 2 ms from `from_ms` on. caller: a word of the stack, or 0. */
static void tick(struct sonde__sampler_border *b, uint64_t from_ms, unsigned count, uint64_t pc,
                 uint64_t caller)
{
    for (unsigned i = 0; i < count; i++) {
        const struct sonde__host_tick at = {.time_ns = (from_ms + i * 2) * MS,
                                            .pc = pc,
                                            .words = {0, MAIN + 64, 0xffffffffffffffff, caller},
                                            .count = 4};
        (void)sonde__sampler_border_tick(b, &at);
    }
}

static void check_border(const struct sonde__sampler_border *b, uint64_t left_ms, uint64_t came_ms)
{
    uint64_t left_ns = 1, came_ns = 1;
    CHECK(sonde__sampler_border_find(b, 0, UINT64_MAX, &left_ns, &came_ns));
    CHECK_EQ(left_ns, left_ms * MS);
    CHECK_EQ(came_ns, came_ms == UINT64_MAX ? UINT64_MAX : came_ms * MS);
}

TEST(ticks_show_when_a_thread_left_a_function)
{
    struct sonde__sampler_border b = begin(false);
    tick(&b, 100, 4, FIRST + 4, 0);
    tick(&b, 108, 6, SECOND + 4, 0);
    check_border(&b, 106, 108);
}

TEST(callers_tell_the_place_of_a_function_that_both_call)
{
    struct sonde__sampler_border b = begin(true);
    tick(&b, 100, 5, SHARED, FIRST + 0x100); /* a call at its end */
    tick(&b, 110, 3, SHARED, SECOND + 1);
    check_border(&b, 108, 110);
}

TEST(a_function_that_only_one_sample_shows_may_belong_to_both)
{
    uint64_t a[] = {FIRST + 16, MAIN + 16}, c[] = {SHARED + 9, SECOND + 16, MAIN + 32};
    const struct sonde_stack first = {.pcs = a, .count = 2}, second = {.pcs = c, .count = 3};
    struct sonde__sampler_border b;
    sonde__sampler_border_begin(&b, &first, &second, find_function, NULL);
    tick(&b, 100, 3, FIRST, 0);
    tick(&b, 106, 1, SHARED, FIRST + 16);
    tick(&b, 108, 2, FIRST, 0);
    tick(&b, 112, 9, SHARED, SECOND + 16);
    check_border(&b, 110, 112);
}

TEST(time_in_other_functions_is_between_both)
{
    struct sonde__sampler_border b = begin(false);
    tick(&b, 100, 2, FIRST, 0);
    tick(&b, 104, 5, THIRD, 0);
    tick(&b, 114, 3, SECOND, 0);
    check_border(&b, 102, 114);
}

TEST(a_place_without_ticks_has_no_end_or_no_begin)
{
    struct sonde__sampler_border b = begin(false);
    tick(&b, 100, 4, FIRST, 0);
    check_border(&b, 106, UINT64_MAX);
    b = begin(false);
    tick(&b, 100, 4, SECOND, 0);
    check_border(&b, 0, 100);
}

TEST(a_thread_that_alternates_has_no_border)
{
    struct sonde__sampler_border b = begin(false);
    uint64_t left_ns, came_ns;
    for (unsigned i = 0; i < 8; i++) {
        tick(&b, 100 + i * 4, 1, SECOND, 0);
        tick(&b, 102 + i * 4, 1, FIRST, 0);
    }
    CHECK(!sonde__sampler_border_find(&b, 0, UINT64_MAX, &left_ns, &came_ns));
    b = begin(false);
    CHECK(!sonde__sampler_border_find(&b, 0, UINT64_MAX, &left_ns, &came_ns));
    tick(&b, 100, 9, 0x10, 0); /* an unknown function */
    CHECK(!sonde__sampler_border_find(&b, 0, UINT64_MAX, &left_ns, &came_ns));
}

TEST(samples_of_one_function_have_no_border)
{
    uint64_t a[] = {FIRST + 16, MAIN + 16}, c[] = {FIRST + 18, MAIN + 16};
    const struct sonde_stack first = {.pcs = a, .count = 2}, second = {.pcs = c, .count = 2};
    struct sonde__sampler_border b;
    uint64_t left_ns, came_ns;
    sonde__sampler_border_begin(&b, &first, &second, find_function, NULL);
    tick(&b, 100, 4, FIRST, 0);
    tick(&b, 108, 4, MAIN, 0);
    CHECK(!sonde__sampler_border_find(&b, 0, UINT64_MAX, &left_ns, &came_ns));
}

/* The samples are at 90 and 200 ms. */
static void check_off(const struct sonde__sampler_border *b, uint64_t left_us, uint64_t came_us)
{
    uint64_t left_ns = 1, came_ns = 1;
    CHECK(sonde__sampler_border_find(b, 90 * MS, 200 * MS, &left_ns, &came_ns));
    CHECK_EQ(left_ns, left_us * 1000);
    CHECK_EQ(came_ns, came_us * 1000);
}

/* The thread could run, and had no processor: it stayed in the function that it ran before. */
TEST(time_without_a_processor_belongs_to_one_place)
{
    struct sonde__sampler_border b = begin(false);
    tick(&b, 100, 2, FIRST, 0);
    sonde__sampler_border_off(&b, 103500000, 159500000);
    tick(&b, 160, 3, SECOND, 0);
    check_off(&b, 103000, 103000);
    b = begin(false);
    tick(&b, 100, 2, FIRST, 0);
    sonde__sampler_border_off(&b, 102200000, 160000000);
    tick(&b, 162, 3, SECOND, 0);
    check_off(&b, 160900, 160900);
}

/* Between the samples it ran for less than a tick takes. */
TEST(time_without_a_processor_between_two_samples)
{
    struct sonde__sampler_border b = begin(false);
    sonde__sampler_border_off(&b, 90500000, 150000000);
    sonde__sampler_border_off(&b, 151000000, 199000000);
    check_off(&b, 150750, 150750);
}

TEST(time_without_a_processor_beside_long_work_is_between_both)
{
    struct sonde__sampler_border b = begin(false);
    tick(&b, 100, 2, FIRST, 0);
    sonde__sampler_border_off(&b, 110000000, 150000000);
    tick(&b, 160, 2, SECOND, 0);
    check_off(&b, 102000, 160000);
}

/* More ticks than are kept. */
TEST(ticks_beyond_the_last_are_ignored)
{
    struct sonde__sampler_border b = begin(false);
    tick(&b, 100, 400, FIRST, 0);
    tick(&b, 900, 400, SECOND, 0);
    check_border(&b, 898, 900);
    CHECK_EQ(b.count, SONDE__SAMPLER_TICKS_MAX);
}
