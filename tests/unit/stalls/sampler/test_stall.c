// SPDX-License-Identifier: Apache-2.0
/* The time that each sample of a stall covers, and the time that none does, computed by hand. */
#include "sampler_stall.h"

#include "report_model.h"
#include "test.h"

#define MS 1000000ull

static void add_sample(struct sonde__sampler_stall *stall, uint64_t pc, uint64_t at_ms,
                       const struct sonde__sampler_gap *gap)
{
    uint8_t how[1] = {0};
    struct sonde__sample sample = {.stack = {.pcs = &pc, .how = how, .count = 1, .capacity = 1}};
    CHECK(sonde__sample_keep(&sample));
    sonde__sampler_stall_add(stall, &sample, at_ms * MS, gap);
}

/* A sample of a thread that still waits adds nothing; a sample of one that runs on adds little. */
TEST(what_a_sample_would_tell)
{
    struct sonde__sampler_stall stall;
    struct sonde__sampler_gap gap = {
        .step_ns = 10 * MS, .apart_ns = 40 * MS, .moved_ns = 10 * MS, .still_ns = 1 * MS};
    sonde__sampler_stall_init(&stall);
    CHECK(sonde__sampler_stall_wants(&stall, 10 * MS, &gap));
    add_sample(&stall, 1, 10, &gap);
    CHECK(!sonde__sampler_stall_wants(&stall, 20 * MS, &gap));
    CHECK(!sonde__sampler_stall_wants(&stall, 40 * MS, &gap));
    CHECK(sonde__sampler_stall_wants(&stall, 50 * MS, &gap));
    gap.moved_ns = UINT64_MAX; /* the thread has waited since then */
    CHECK(sonde__sampler_stall_wants(&stall, 20 * MS, &gap));
    gap.moved_ns = 0;
    CHECK(!sonde__sampler_stall_wants(&stall, 500 * MS, &gap));
    sonde__sampler_stall_done(&stall);
}

/* Weights of samples, computed by hand. */
TEST(weights_of_samples)
{
    struct sonde__sampler_stall stall;
    struct sonde__sampler_gap gap = {.step_ns = 10 * MS,
                                     .moved_ns = 3 * MS,
                                     .still_ns = 2 * MS,
                                     .reason = SONDE__REPORT_UNCOVERED_LATE,
                                     .cpu_ns = 1 * MS,
                                     .waits = "where"};
    sonde__sampler_stall_init(&stall);
    add_sample(&stall, 1, 100, &gap); /* the thread waited for a CPU from the first look on */
    gap.moved_ns = UINT64_MAX;
    add_sample(&stall, 2, 120, &gap);
    add_sample(&stall, 2, 130, &gap);
    add_sample(&stall, 3, 230, &gap); /* late */
    sonde__sampler_stall_end(&stall, 236 * MS, &gap);
    CHECK_EQ(stall.count, 3);
    CHECK_EQ(stall.samples[0].time_ns, 2 * MS);
    CHECK_EQ(stall.samples[0].weight_ns, 108 * MS);
    CHECK_EQ(stall.samples[1].time_ns, 110 * MS);
    CHECK_EQ(stall.samples[1].weight_ns, 30 * MS);
    CHECK_EQ(stall.samples[2].time_ns, 220 * MS);
    CHECK_EQ(stall.samples[2].weight_ns, 16 * MS);
    CHECK_EQ(stall.uncovered_count, 2);
    CHECK_EQ(stall.uncovered[0].duration_ns, 2 * MS);
    CHECK_EQ(stall.uncovered[0].cpu_ns, 1 * MS);
    CHECK_STR(stall.uncovered[0].detail, "where");
    CHECK_EQ(stall.uncovered[1].time_ns, 140 * MS);
    CHECK_EQ(stall.uncovered[1].duration_ns, 80 * MS);
    sonde__sampler_stall_done(&stall);
}

/* A better sample of the same place takes the time of the one that was taken just before. */
TEST(a_sample_that_is_taken_back_covers_nothing)
{
    struct sonde__sampler_stall stall;
    struct sonde__sampler_gap gap = {
        .step_ns = 10 * MS, .moved_ns = UINT64_MAX, .reason = SONDE__REPORT_UNCOVERED_LATE};
    sonde__sampler_stall_init(&stall);
    add_sample(&stall, 1, 10, &gap);
    const struct sonde__sampler_mark mark = sonde__sampler_stall_mark(&stall);
    add_sample(&stall, 2, 100, &gap);
    CHECK_EQ(stall.uncovered_count, 2);
    sonde__sampler_stall_return(&stall, &mark);
    add_sample(&stall, 3, 101, &gap);
    sonde__sampler_stall_end(&stall, 110 * MS, &gap);
    CHECK_EQ(stall.count, 2);
    CHECK_EQ(stall.samples[0].weight_ns, 15 * MS);
    CHECK_EQ(stall.samples[1].sample.stack.pcs[0], 3);
    CHECK_EQ(stall.samples[1].time_ns, 91 * MS);
    CHECK_EQ(stall.samples[1].weight_ns, 19 * MS);
    CHECK_EQ(stall.uncovered_count, 2);
    CHECK_EQ(stall.uncovered[1].time_ns, 20 * MS);
    CHECK_EQ(stall.uncovered[1].duration_ns, 71 * MS);
    sonde__sampler_stall_done(&stall);
}

/* The scheduler tells when the thread left a place and came to the next. */
TEST(weights_between_switches)
{
    struct sonde__sampler_stall stall;
    struct sonde__sampler_gap gap = {
        .step_ns = 10 * MS, .moved_ns = UINT64_MAX, .reason = SONDE__REPORT_UNCOVERED_LATE};
    sonde__sampler_stall_init(&stall);
    add_sample(&stall, 1, 10, &gap);
    gap.left_ns = gap.came_ns = 12 * MS;
    add_sample(&stall, 2, 30, &gap);
    gap.left_ns = 34 * MS;
    gap.came_ns = 44 * MS;
    add_sample(&stall, 3, 50, &gap); /* a short phase lay between */
    gap.left_ns = 60 * MS;
    gap.came_ns = 240 * MS;
    add_sample(&stall, 4, 250, &gap); /* a long phase lay between */
    gap.left_ns = gap.came_ns = 270 * MS;
    sonde__sampler_stall_end(&stall, 280 * MS, &gap);
    CHECK_EQ(stall.count, 4);
    CHECK_EQ(stall.samples[1].time_ns, 12 * MS);
    CHECK_EQ(stall.samples[1].weight_ns, 27 * MS);
    CHECK_EQ(stall.samples[2].time_ns, 39 * MS);
    CHECK_EQ(stall.samples[2].weight_ns, 21 * MS);
    CHECK_EQ(stall.samples[3].time_ns, 240 * MS);
    CHECK_EQ(stall.samples[3].weight_ns, 30 * MS);
    CHECK_EQ(stall.uncovered[1].time_ns, 60 * MS);
    CHECK_EQ(stall.uncovered[1].duration_ns, 180 * MS);
    CHECK_EQ(stall.uncovered[2].time_ns, 270 * MS);
    sonde__sampler_stall_done(&stall);
}

/* Ticks of a thread that ran on show its places less exactly: what lies between is divided. */
TEST(weights_between_ticks)
{
    struct sonde__sampler_stall stall;
    struct sonde__sampler_gap gap = {
        .step_ns = 10 * MS, .moved_ns = UINT64_MAX, .reason = SONDE__REPORT_UNCOVERED_LATE};
    sonde__sampler_stall_init(&stall);
    add_sample(&stall, 1, 10, &gap);
    gap.moved_ns = 90 * MS;
    gap.left_ns = 20 * MS;
    gap.came_ns = 40 * MS;
    add_sample(&stall, 2, 100, &gap);
    gap.left_ns = 110 * MS;
    gap.came_ns = 160 * MS; /* too far apart */
    add_sample(&stall, 3, 200, &gap);
    CHECK_EQ(stall.count, 3);
    CHECK_EQ(stall.samples[1].time_ns, 30 * MS);
    CHECK_EQ(stall.samples[1].weight_ns, 80 * MS);
    CHECK_EQ(stall.samples[2].time_ns, 160 * MS);
    CHECK_EQ(stall.uncovered[1].duration_ns, 50 * MS);
    sonde__sampler_stall_done(&stall);
}

/* Between two waits the thread did something that no sample shows. */
TEST(time_between_two_waits_is_not_theirs)
{
    struct sonde__sampler_stall stall;
    struct sonde__sampler_gap gap = {
        .step_ns = 20 * MS, .moved_ns = UINT64_MAX, .reason = SONDE__REPORT_UNCOVERED_LATE};
    sonde__sampler_stall_init(&stall);
    add_sample(&stall, 1, 20, &gap);
    gap.left_ns = 60 * MS;
    gap.came_ns = 115 * MS;
    add_sample(&stall, 2, 120, &gap);
    gap.left_ns = 140 * MS;
    gap.came_ns = 195 * MS; /* the same wait again: it was hardly elsewhere */
    add_sample(&stall, 2, 200, &gap);
    sonde__sampler_stall_end(&stall, 205 * MS, &(struct sonde__sampler_gap){.step_ns = 20 * MS});
    CHECK_EQ(stall.count, 2);
    CHECK_EQ(stall.samples[0].time_ns + stall.samples[0].weight_ns, 60 * MS);
    CHECK_EQ(stall.samples[1].time_ns, 115 * MS);
    CHECK_EQ(stall.samples[1].weight_ns, 90 * MS);
    CHECK_EQ(stall.uncovered_count, 2);
    CHECK_EQ(stall.uncovered[1].duration_ns, 55 * MS);
    sonde__sampler_stall_done(&stall);
}

/* The first look at a turn comes some ms after its begin. What the thread did in that time is known
 * if it did the same all the time. */
TEST(the_first_sample_covers_an_even_head)
{
    static const struct {
        char state;
        uint64_t cpu_ms, runqueue_ms;
        bool even;
    } heads[] = {{'S', 0, 0, true},  {'S', 1, 9, true},  {'D', 0, 3, true},   {'S', 5, 0, false},
                 {'R', 16, 0, true}, {'R', 4, 12, true}, {'R', 6, 0, false},  {'R', 0, 0, false},
                 {'t', 0, 0, false}, {'T', 0, 0, false}, {'S', 16, 0, false}, {'R', 12, 0, true}};
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct sonde__sampler_stall stall;
        const struct sonde__sampler_head head = {18 * MS, heads[i].cpu_ms * MS,
                                                 heads[i].runqueue_ms * MS, heads[i].state};
        const bool even = sonde__sampler_stall_is_even(&head, 10 * MS);
        const struct sonde__sampler_gap gap = {
            .step_ns = 10 * MS, .moved_ns = 5 * MS, .still_ns = 18 * MS, .even = even};
        CHECK_EQ(even, heads[i].even);
        sonde__sampler_stall_init(&stall);
        add_sample(&stall, 1, 30, &gap);
        CHECK_EQ(stall.samples[0].time_ns, heads[i].even ? 0 : 18 * MS);
        CHECK_EQ(stall.uncovered_count, !heads[i].even);
        sonde__sampler_stall_done(&stall);
    }
}

/* Not if the thread has waited elsewhere since, or the first look was very late. */
TEST(the_first_sample_covers_no_long_head)
{
    struct sonde__sampler_stall stall;
    struct sonde__sampler_gap gap = {
        .step_ns = 10 * MS, .moved_ns = UINT64_MAX, .still_ns = 8 * MS, .even = true};
    sonde__sampler_stall_init(&stall);
    add_sample(&stall, 1, 30, &gap);
    CHECK_EQ(stall.samples[0].time_ns, 25 * MS);
    sonde__sampler_stall_done(&stall);
}

/* In a long head a thread may have waited elsewhere, or have run through other phases. A wait for a
 * processor does not move it, however long. */
TEST(a_long_head_is_even_only_if_the_thread_hardly_ran)
{
    static const struct {
        struct sonde__sampler_head head;
        bool even;
    } heads[] = {{{20 * MS, 0, 0, 'S'}, true},
                 {{21 * MS, 0, 0, 'S'}, false},
                 {{60 * MS, 5 * MS, 55 * MS, 'R'}, true},
                 {{60 * MS, 20 * MS, 40 * MS, 'R'}, true},
                 {{60 * MS, 21 * MS, 39 * MS, 'R'}, false},
                 {{60 * MS, 5 * MS, 0, 'R'}, false},
                 {{60 * MS, 5 * MS, 40 * MS, 'R'}, false}};
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        CHECK_EQ(sonde__sampler_stall_is_even(&heads[i].head, 10 * MS), heads[i].even);
    }
}

/* The look saw the thread in one wait, and the sample, which came late, in the next one. */
TEST(a_thread_that_went_on_before_its_sample_has_moved)
{
    const struct sonde__os_schedstat look = {.cpu_ns = 5 * MS, .slices = 7};
    const struct sonde__os_schedstat next_wait = {.cpu_ns = 5 * MS, .slices = 8};
    const struct sonde__os_schedstat ran_on = {.cpu_ns = 9 * MS, .slices = 8};
    CHECK_EQ(sonde__sampler_stall_moved(0, true, &look, &look), 0);
    CHECK(sonde__sampler_stall_moved(0, true, &look, &next_wait) == UINT64_MAX);
    CHECK(sonde__sampler_stall_moved(UINT64_MAX, false, &look, &look) == UINT64_MAX);
    CHECK_EQ(sonde__sampler_stall_moved(2 * MS, false, &look, &ran_on), 6 * MS); /* preempted */
}

/* The first sample came late, but the scheduler tells when the thread came to its place. */
TEST(the_first_sample_begins_where_the_thread_came)
{
    struct sonde__sampler_stall stall;
    const struct sonde__sampler_gap gap = {.step_ns = 20 * MS,
                                           .moved_ns = UINT64_MAX,
                                           .still_ns = 8 * MS,
                                           .even = true,
                                           .left_ns = 54 * MS,
                                           .came_ns = 74 * MS};
    sonde__sampler_stall_init(&stall);
    add_sample(&stall, 1, 110, &gap);
    CHECK_EQ(stall.samples[0].time_ns, 74 * MS);
    CHECK_EQ(stall.samples[0].weight_ns, 36 * MS);
    CHECK_EQ(stall.uncovered[0].duration_ns, 74 * MS);
    sonde__sampler_stall_done(&stall);
}

/* The end stamp comes from a clock with steps of some ms: samples may come after it. */
TEST(samples_after_the_end_are_cut)
{
    for (uint64_t end_ms = 1; end_ms < 130; end_ms++) {
        struct sonde__sampler_stall stall;
        const struct sonde__sampler_gap gap = {
            .step_ns = 10 * MS, .moved_ns = UINT64_MAX, .reason = SONDE__REPORT_UNCOVERED_LATE};
        uint64_t sum = 0;
        sonde__sampler_stall_init(&stall);
        add_sample(&stall, 1, 20, &gap);
        add_sample(&stall, 2, 30, &gap);
        add_sample(&stall, 3, 110, &gap);
        sonde__sampler_stall_end(&stall, end_ms * MS, &gap);
        for (uint32_t i = 0; i < stall.count; i++) {
            sum += stall.samples[i].weight_ns;
        }
        for (uint32_t i = 0; i < stall.uncovered_count; i++) {
            sum += stall.uncovered[i].duration_ns;
        }
        CHECK_EQ(sum, end_ms * MS);
        sonde__sampler_stall_done(&stall);
    }
}
