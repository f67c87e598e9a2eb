// SPDX-License-Identifier: Apache-2.0
/* Durations and blamed phases of thousands of stalls in virtual time (world.h). */
#include <stdio.h>

#include "decide_turns.h"
#include "report_model.h"
#include "sampler_border.h"
#include "test.h"
#include "world.h"

enum { STALLS = 3000 };

static struct world make(uint64_t seed)
{
    struct world world = {.threshold_ns = 250 * MS, .seed = seed * 0x9e3779b97f4a7c15u + 1};
    for (unsigned i = 0; i < 8; i++) {
        (void)world_random(&world, 2);
    }
    world.begin_ns = 1000 * MS + world_random(&world, 100 * MS);
    return world;
}

/* Phases in random order and of random length, 0.3 to 3 s in all. One leads the next by 10 % or
 * more. Returns its number. */
static unsigned fill_phases(struct world *w, unsigned count, bool barely)
{
    unsigned longest = (unsigned)world_random(w, count);
    uint64_t total = 300 * MS + world_random(w, 2700 * MS), sum = 0;
    w->phase_count = count;
    for (unsigned i = 0; i < count; i++) {
        bool second = barely && i == (longest + 1) % count;
        uint64_t parts = second ? 1000 : 200 + world_random(w, 801);
        w->phases_ns[i] = i == longest ? 1100 : parts;
        w->blocks[i] = world_random(w, 2) != 0;
        sum += w->phases_ns[i];
    }
    for (unsigned i = 0; i < count; i++) {
        w->phases_ns[i] = w->phases_ns[i] * total / sum;
    }
    return longest;
}

/* Each nanosecond of a stall belongs to one sample or to an uncovered part. */
static void check_whole(const struct world *w)
{
    uint64_t sum = world_given(w, PHASES_MAX), end_ns = 0;
    for (unsigned i = 0; i < w->phase_count; i++) {
        sum += world_given(w, i);
    }
    CHECK_EQ(sum, w->decision.duration_ns);
    for (uint32_t i = 0; i < w->stall.count; i++) {
        const struct sonde__sampler_sample *sample = &w->stall.samples[i];
        CHECK(sample->time_ns >= end_ns);
        end_ns = sample->time_ns + sample->weight_ns;
    }
    CHECK(end_ns <= w->decision.duration_ns);
}

static double blamed_right(unsigned phases, bool barely, uint64_t late_max_ns)
{
    unsigned right = 0;
    for (uint64_t i = 0; i < STALLS; i++) {
        struct world w = make(i);
        unsigned longest = fill_phases(&w, phases, barely);
        w.late_max_ns = late_max_ns;
        world_play(&w);
        CHECK_EQ(w.ended, 1);
        check_whole(&w);
        right += world_blamed(&w) == longest;
        world_done(&w);
    }
    return 100.0 * right / STALLS;
}

TEST(the_longest_phase_is_blamed)
{
    for (unsigned phases = 2; phases <= 5; phases++) {
        double right = blamed_right(phases, true, MS);
        fprintf(stderr, "%u phases, the second a tenth shorter: %.1f %%\n", phases, right);
        CHECK(right >= 97);
    }
}

/* The time between samples grows with the limit of a scope. */
TEST(the_longest_phase_is_blamed_in_a_long_scope)
{
    for (uint64_t times = 10; times <= 100; times *= 10) {
        unsigned right = 0, count = STALLS / 10;
        for (uint64_t i = 0; i < count; i++) {
            struct world w = make(i);
            unsigned longest = fill_phases(&w, 5, true);
            w.threshold_ns *= times;
            w.late_max_ns = MS;
            for (unsigned phase = 0; phase < w.phase_count; phase++) {
                w.phases_ns[phase] *= times;
            }
            world_play(&w);
            CHECK_EQ(w.ended, 1);
            check_whole(&w);
            right += world_blamed(&w) == longest;
            world_done(&w);
        }
        CHECK(right * 100 >= count * 97);
    }
}

TEST(the_longest_phase_is_blamed_on_a_loaded_machine)
{
    for (unsigned phases = 2; phases <= 5; phases++) {
        double right = blamed_right(phases, false, 20 * MS);
        fprintf(stderr, "%u phases, looks up to 20 ms late: %.1f %%\n", phases, right);
        CHECK(right >= 90);
    }
}

/* Assumed costs of a look, a sample and a stall: estimates, not measured. */
enum { LOOK_NS = 40000, SAMPLE_NS = 150000, STALL_NS = 2000000 };

/* For ten minutes, stalls take six tenths of a program's time, on one budget. Returns the
 * percentage of stalls whose longest phase is blamed. */
static double blamed_on_a_budget(uint64_t threshold_ns, unsigned phases, unsigned cost,
                                 double *ret_part)
{
    struct sonde__decide_budget budget;
    struct sonde__decide_turns turns;
    uint64_t now_ns = 0, spent_ns = 0;
    unsigned right = 0, count = 0;
    sonde__decide_budget_init(&budget, now_ns);
    sonde__decide_turns_init(&turns, threshold_ns, 0);
    for (enum sonde__decide_means means = SONDE__DECIDE_RICH; now_ns < 600000 * MS; count++) {
        struct world w = make(count);
        unsigned longest = fill_phases(&w, phases, true);
        w.threshold_ns = threshold_ns;
        w.traced = true;
        w.means = means;
        w.spread = sonde__decide_budget_spread(&budget);
        w.turns = &turns;
        w.late_max_ns = MS;
        world_play(&w);
        uint64_t lasted_ns = w.decision.duration_ns, pause_ns = lasted_ns * 2 / 3;
        uint64_t apart_ns = sonde__decide_turns_pause(&turns, means, UINT64_MAX, false);
        uint64_t cost_ns = (w.looks + pause_ns / apart_ns) * (uint64_t)LOOK_NS +
                           w.samples * (uint64_t)SAMPLE_NS + STALL_NS;
        cost_ns = cost_ns * cost / 100;
        right += world_blamed(&w) == longest;
        spent_ns += cost_ns;
        now_ns += lasted_ns + pause_ns;
        means = sonde__decide_budget_spend(&budget, now_ns, cost_ns);
        check_whole(&w);
        world_done(&w);
    }
    *ret_part = 100.0 * (double)spent_ns / (double)now_ns;
    return 100.0 * right / count;
}

TEST(the_longest_phase_is_blamed_for_one_percent_of_a_core)
{
    for (unsigned phases = 2; phases <= 5; phases++) {
        double part, right = blamed_on_a_budget(250 * MS, phases, 100, &part);
        fprintf(stderr, "%u phases: %.1f %%, for %.2f %% of a core\n", phases, right, part);
        CHECK(right >= 97);
        CHECK(part <= 1.01);
    }
}

/* Where everything costs more, samples are further apart. */
TEST(a_dear_machine_costs_one_percent_of_a_core)
{
    for (unsigned cost = 150; cost <= 350; cost += 50) {
        double part, right = blamed_on_a_budget(250 * MS, 5, cost, &part);
        fprintf(stderr, "%u %% of the cost: %.1f %%, for %.2f %% of a core\n", cost, right, part);
        CHECK(right >= 97 && part <= 1.01);
    }
}

/* A shorter threshold asks for more samples. */
TEST(a_short_threshold_costs_one_percent_of_a_core)
{
    for (unsigned ms = 125; ms <= 200; ms += 25) {
        for (unsigned cost = 100; cost <= 300; cost += 50) {
            double part, right = blamed_on_a_budget(ms * MS, 5, cost, &part);
            fprintf(stderr, "%u ms, %u %% of the cost: %.1f %%, for %.2f %% of a core\n", ms, cost,
                    right, part);
            CHECK(right >= 97 && part <= 1.01);
        }
    }
}

/* The scheduler's switch times replace samples. */
TEST(the_longest_phase_is_blamed_when_the_budget_is_used_up)
{
    for (unsigned phases = 2; phases <= 5; phases++) {
        unsigned right = 0;
        for (uint64_t i = 0; i < STALLS; i++) {
            struct world w = make(i);
            unsigned longest = fill_phases(&w, phases, true);
            w.traced = true;
            w.means = SONDE__DECIDE_POOR;
            w.late_max_ns = MS;
            world_play(&w);
            check_whole(&w);
            right += world_blamed(&w) == longest;
            world_done(&w);
        }
        fprintf(stderr, "%u phases, poor: %.1f %%\n", phases, 100.0 * right / STALLS);
        CHECK(right >= 97 * STALLS / 100);
    }
}

/* A culprit of 180 ms, then 120 ms of something else: sampling that began at half the threshold
 * gave the latter 64 %. */
TEST(first_phase_is_seen_from_its_begin)
{
    for (uint64_t i = 0; i < 200; i++) {
        struct world w = make(i);
        w.phase_count = 2;
        w.phases_ns[0] = 180 * MS;
        w.phases_ns[1] = 120 * MS;
        world_play(&w);
        CHECK_EQ(w.ended, 1);
        CHECK_EQ(w.decision.duration_ns, 300 * MS);
        CHECK(world_given(&w, 0) >= 150 * MS && world_given(&w, 0) <= 190 * MS);
        CHECK(world_given(&w, 1) >= 110 * MS && world_given(&w, 1) <= 130 * MS);
        CHECK(world_given(&w, PHASES_MAX) <= 25 * MS);
        check_whole(&w);
        world_done(&w);
    }
}

/* The stamps of the turn give its duration, however late the watcher looks. */
TEST(a_late_watcher_finds_the_whole_stall)
{
    for (uint64_t i = 0; i < 2000; i++) {
        struct world w = make(i);
        uint64_t sum = 0;
        (void)fill_phases(&w, 1 + (unsigned)world_random(&w, 4), false);
        w.late_max_ns = 200 * MS;
        world_play(&w);
        for (unsigned phase = 0; phase < w.phase_count; phase++) {
            sum += w.phases_ns[phase];
        }
        CHECK_EQ(w.ended, 1);
        CHECK_EQ(w.decision.duration_ns, sum);
        check_whole(&w);
        world_done(&w);
    }
}

/* A blocked thread has not moved: its first look leaves no uncovered time before it. */
TEST(a_late_look_at_a_blocked_thread_covers_the_time_before)
{
    struct world w = make(1);
    w.phase_count = 1;
    w.phases_ns[0] = 2000 * MS;
    w.blocks[0] = true;
    w.late_max_ns = 300 * MS;
    world_play(&w);
    CHECK_EQ(w.ended, 1);
    CHECK_EQ(w.stall.count, 1);
    CHECK(w.stall.uncovered_count <= 2); /* before the first look and after the last one */
    CHECK_EQ(w.stall.uncovered[0].reason, SONDE__REPORT_UNCOVERED_BEFORE);
    check_whole(&w);
    CHECK(world_given(&w, 0) > 1300 * MS);
    world_done(&w);
}

/* Phases of the length of the head: the first one is the longest by a tenth. */
TEST(a_first_phase_that_leads_is_blamed)
{
    unsigned right = 0, count = 0;
    for (uint64_t i = 0; i < STALLS; i++, count++) {
        struct world w = make(i);
        uint64_t part = 40 + world_random(&w, 60);
        w.phase_count = 5;
        for (unsigned phase = 0; phase < 5; phase++) {
            w.phases_ns[phase] = (phase == 0 ? part + part / 10 + 1 : part) * MS;
            w.blocks[phase] = world_random(&w, 2) != 0;
        }
        w.traced = true;
        w.late_max_ns = MS;
        world_play(&w);
        check_whole(&w);
        right += world_blamed(&w) == 0;
        world_done(&w);
    }
    fprintf(stderr, "5 phases, the first leads: %.1f %%\n", 100.0 * right / count);
    CHECK(right * 100 >= count * 97);
}

/* Five phases of 40 to 100 ms, one of them the longest by a tenth, beside threads that take the
 * processor for up to crowd_ns at a time. waits: none, some or all of the phases wait. */
static double blamed_in_a_crowd(uint64_t crowd_ns, unsigned waits, uint64_t late_max_ns,
                                uint64_t tick_step_ns)
{
    unsigned right = 0, count = 0;
    for (uint64_t i = 0; i < STALLS; i++) {
        struct world w = make(i);
        unsigned longest = 0, second = 1;
        w.phase_count = 5;
        for (unsigned phase = 0; phase < 5; phase++) {
            w.blocks[phase] = waits == 2 || (waits == 1 && world_random(&w, 2) != 0);
            w.phases_ns[phase] = (40 + world_random(&w, 60)) * MS / (w.blocks[phase] ? 1 : 8);
        }
        w.crowd_ns = crowd_ns;
        w.slice_ns = 3 * MS;
        w.traced = true;
        w.tick_step_ns = tick_step_ns;
        w.late_max_ns = late_max_ns;
        world_play(&w);
        for (unsigned phase = 0; phase < 5; phase++) {
            longest = w.phases_ns[phase] > w.phases_ns[longest] ? phase : longest;
        }
        second = longest == 0;
        for (unsigned phase = 0; phase < 5; phase++) {
            second = phase != longest && w.phases_ns[phase] > w.phases_ns[second] ? phase : second;
        }
        if (w.ended == 1 && w.phases_ns[longest] * 10 >= w.phases_ns[second] * 11) {
            check_whole(&w);
            count++;
            right += world_blamed(&w) == longest;
        }
        world_done(&w);
    }
    CHECK(count > STALLS / 4);
    return 100.0 * right / count;
}

/* 97 % is what the watch promises. The thread may lose its processor before the first look, which
 * comes late, too. Where all phases run, a thread that loses its processor within a tick of a
 * border may have been on either side of it, and one side is a guess. Ticks of a quarter must spare
 * half of the wrong answers. */
TEST(the_longest_phase_is_blamed_beside_busy_threads)
{
    static const char *const what[] = {"phases that run", "phases of both kinds",
                                       "phases that wait"};
    double coarse = blamed_in_a_crowd(60 * MS, 0, 20 * MS, SONDE__SAMPLER_TICK_NS);
    for (unsigned waits = 0; waits < 3; waits++) {
        double right = blamed_in_a_crowd(60 * MS, waits, 20 * MS, SONDE__SAMPLER_CROWDED_TICK_NS);
        fprintf(stderr, "%s, without a processor for up to 60 ms: %.1f %%\n", what[waits], right);
        CHECK(right >= 97);
        CHECK(waits != 0 || (100 - right) * 2 <= 100 - coarse);
    }
}

static void add_stops(struct world *w, unsigned count, uint64_t for_ns, bool machine)
{
    uint64_t at_ns = w->begin_ns - 500 * MS;
    for (unsigned i = 0; i < count; i++) {
        at_ns += 20 * MS + world_random(w, 60 * MS);
        w->stops[i].from_ns = at_ns;
        w->stops[i].for_ns = for_ns;
        w->stops[i].machine = machine;
        at_ns += for_ns;
    }
    w->stop_count = count;
}

static uint64_t off_by(const struct world *w, uint64_t true_ns)
{
    uint64_t found = w->decision.duration_ns;
    return found > true_ns ? found - true_ns : true_ns - found;
}

/* Twelve stops of 0.4 s: a turn shorter than the threshold is no stall, a longer one is. */
TEST(stops_make_no_stall_and_hide_none)
{
    for (uint64_t i = 0; i < 2000; i++) {
        struct world w = make(i);
        bool stalls = i % 2 != 0;
        w.phase_count = 1;
        w.phases_ns[0] = stalls ? 500 * MS : 200 * MS;
        w.blocks[0] = i % 4 < 2;
        w.late_max_ns = i % 8 < 4 ? MS : 100 * MS;
        add_stops(&w, 12, 400 * MS, false);
        world_play(&w);
        CHECK(w.begun <= stalls && w.ended <= stalls);
        if (stalls && !w.blocks[0]) {
            CHECK_EQ(w.ended, 1); /* its CPU time is known between two looks, too */
            CHECK(off_by(&w, 500 * MS) <= (w.late_max_ns == MS ? 10 * MS : 250 * MS));
        }
        world_done(&w);
    }
}

/* The whole machine pauses, or the program is stopped with the watch in it: no look sees that. */
TEST(pauses_of_the_machine_make_no_stall)
{
    for (uint64_t i = 0; i < 4000; i++) {
        struct world w = make(i);
        bool stalls = i % 2 != 0;
        w.phase_count = 1;
        w.phases_ns[0] = stalls ? 2000 * MS : 120 * MS + world_random(&w, 100 * MS);
        w.blocks[0] = i % 4 < 2;
        w.late_max_ns = MS;
        add_stops(&w, 1, i % 8 < 4 ? 20 * MS + world_random(&w, 300 * MS) : 20000 * MS, true);
        w.stops[0].from_ns = w.begin_ns + world_random(&w, w.phases_ns[0]);
        world_play(&w);
        CHECK_EQ(w.ended, stalls);
        if (stalls) {
            CHECK(off_by(&w, 2000 * MS) <= 250 * MS / 4 + 2 * MS);
        }
        world_done(&w);
    }
}
