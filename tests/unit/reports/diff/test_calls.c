// SPDX-License-Identifier: Apache-2.0
/* What makes two recorded calls the same. That real compilers make such stacks is tested by
 * tests/integration/diff. */
#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "made.h"
#include "test.h"

static struct sonde__diff compare(const struct made *old_made, const struct made *new_made)
{
    static const struct sonde__report *reports[2];
    static const char *const names[] = {"old", "new"};
    struct sonde__diff_side sides[2];
    struct sonde__diff diff;
    reports[0] = old_made->report;
    reports[1] = new_made->report;
    for (unsigned i = 0; i < 2; i++) {
        sides[i] = (struct sonde__diff_side){&reports[i], &names[i], 1};
    }
    CHECK_OK(sonde__diff_make(&sides[0], &sides[1], SONDE__DIFF_PERCENT, &diff));
    return diff;
}

/* "new 1, not comparable 2", and in brackets the doubts as numbers. */
static const char *states(const struct sonde__diff *diff)
{
    static const char *const words[] = {"new", "worse", "unsure", "better", "gone", "same"};
    static char text[256];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < SONDE__DIFF_STATES; i++) {
        if (diff->call_states[i] != 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %u",
                                     used != 0 ? ", " : "", words[i], diff->call_states[i]);
        }
    }
    return text;
}

/* Compare one call of getenv on each side. debug: which side has debug information, as "old",
 * "new", "both" or "". */
static const char *pair(const char *old_stack, const char *new_stack, const char *debug)
{
    struct made old_made = made_recording(), new_made = made_recording();
    old_made.has_debug_info = strcmp(debug, "old") == 0 || strcmp(debug, "both") == 0;
    new_made.has_debug_info = strcmp(debug, "new") == 0 || strcmp(debug, "both") == 0;
    made_call(&old_made, "getenv", 0, old_stack, 1);
    made_call(&new_made, "getenv", 0, new_stack, 1);
    struct sonde__diff diff = compare(&old_made, &new_made);
    const char *text = states(&diff);
    sonde__diff_done(&diff);
    sonde__report_destroy(old_made.report);
    sonde__report_destroy(new_made.report);
    return text;
}

TEST(calls_parts_and_clones_are_their_function)
{
    CHECK_STR(pair("main load read", "main load.part.0 read.isra.0.constprop.1", ""), "same 1");
    CHECK_STR(pair("main load read", "main load load.part.0 read read.cold", ""), "same 1");
    CHECK_STR(pair("main load", "main load.llvm.123", "both"), "same 1");
    CHECK_STR(pair("main load", "main load.2", "both"), "new 1, gone 1");
}

TEST(calls_inlined_and_tail_calls_are_calls)
{
    CHECK_STR(pair("main load read", "main ~load read", "both"), "same 1");
    CHECK_STR(pair("main load read", "main >load read", "both"), "same 1");
    CHECK_STR(pair("main load read", "main ~load ~read", "both"), "same 1");
    CHECK_STR(pair("main load read", "main >save read", "both"), "new 1, gone 1");
}

TEST(calls_recursion_and_libraries_make_no_difference)
{
    CHECK_STR(pair("main load load read", "main load load load read", ""), "same 1");
    CHECK_STR(pair("@start main @qsort compare", "@begin main compare @strdup", ""), "same 1");
}

/* Without debug information an inlined function leaves no trace. */
TEST(calls_that_may_be_inlined_are_in_doubt)
{
    CHECK_STR(pair("main load read", "main read", ""), "unsure 2");
    CHECK_STR(pair("main read", "main load read", ""), "unsure 2");
    CHECK_STR(pair("main load read", "main read", "old"), "unsure 2");
    CHECK_STR(pair("main load read", "main read", "new"), "new 1, gone 1");
    CHECK_STR(pair("main load read", "main read", "both"), "new 1, gone 1");
    CHECK_STR(pair("main a read", "main b read", ""), "new 1, gone 1");
    CHECK_STR(pair("main load read", "run main read", ""), "new 1, gone 1");
    /* innermost and outermost */
    CHECK_STR(pair("main load read", "main load", ""), "unsure 2");
    CHECK_STR(pair("main load read", "load read", ""), "new 1, gone 1");
    /* each hides something of the other */
    CHECK_STR(pair("main a b c", "main b c d", ""), "unsure 2");
}

TEST(calls_behind_several_tail_calls_are_in_doubt)
{
    CHECK_STR(pair("main load read", "main ?x read", "both"), "unsure 2");
    CHECK_STR(pair("main load read", "main read", "both"), "new 1, gone 1");
}

/* A call that comes in addition is new, whatever may be inlined. */
TEST(calls_that_are_added_are_new)
{
    struct made old_made = made_recording(), new_made = made_recording();
    made_call(&old_made, "getenv", 0, "main read", 1);
    made_call(&new_made, "getenv", 0, "main read", 1);
    made_call(&new_made, "getenv", 0, "main evil read", 1);
    struct sonde__diff diff = compare(&old_made, &new_made);
    CHECK_STR(states(&diff), "new 1, same 1");
    CHECK_EQ(diff.calls[0].state, SONDE__DIFF_NEW);
    CHECK(diff.calls[0].is_stable);
    sonde__diff_done(&diff);
    /* one of the same name that is gone elsewhere makes no doubt */
    made_call(&old_made, "secure_getenv", 0, "main x read", 1);
    made_call(&new_made, "secure_getenv", 0, "", 0);
    diff = compare(&old_made, &new_made);
    CHECK_STR(states(&diff), "new 1, gone 1, same 1");
    sonde__diff_done(&diff);
    sonde__report_destroy(old_made.report);
    sonde__report_destroy(new_made.report);
}

/* A function that the old recording did not list may have been called then, too. */
TEST(calls_of_functions_that_were_not_recorded_are_in_doubt)
{
    struct made old_made = made_recording(), new_made = made_recording();
    made_call(&old_made, "getenv", 0, "main read", 1);
    made_call(&new_made, "getenv", 0, "main read", 1);
    made_call(&new_made, "open", 0, "main read", 1);
    struct sonde__diff diff = compare(&old_made, &new_made);
    CHECK_STR(states(&diff), "unsure 1, same 1");
    CHECK_EQ(diff.calls[0].doubt, SONDE__DIFF_UNLISTED);
    sonde__diff_done(&diff);
    made_call(&old_made, "open", 0, "", 0); /* listed, and not called */
    diff = compare(&old_made, &new_made);
    CHECK_STR(states(&diff), "new 1, same 1");
    sonde__diff_done(&diff);
    sonde__report_destroy(old_made.report);
    sonde__report_destroy(new_made.report);
}

TEST(calls_are_compared_by_rule)
{
    struct made old_made = made_recording(), new_made = made_recording();
    uint32_t old_rule = made_rule(&old_made, "secrets", SONDE__REPORT_SEVERITY_ERROR);
    uint32_t other = made_rule(&new_made, "identity", SONDE__REPORT_SEVERITY_NOTE);
    uint32_t new_rule = made_rule(&new_made, "secrets", SONDE__REPORT_SEVERITY_ERROR);
    made_call(&old_made, "open", old_rule, "main read", 1);
    made_call(&new_made, "open", new_rule, "main read", 1);
    made_call(&new_made, "open", new_rule, "main", 1);
    made_call(&new_made, "open", other, "main read", 1); /* a rule that the old side has not */
    struct sonde__diff diff = compare(&old_made, &new_made);
    CHECK_STR(states(&diff), "new 1, unsure 1, same 1");
    sonde__diff_done(&diff);
    sonde__report_destroy(old_made.report);
    sonde__report_destroy(new_made.report);
}

/* A program that was given another name: its functions without names may have moved. */
TEST(calls_of_a_renamed_program_are_in_doubt)
{
    struct made old_made = made_recording_of("/opt/app-1.2");
    struct made new_made = made_recording_of("/opt/app-1.3");
    made_call(&old_made, "getenv", 0, "main +40", 1);
    made_call(&new_made, "getenv", 0, "main +80", 1);
    made_call(&new_made, "getenv", 0, "main evil", 1);
    struct sonde__diff diff = compare(&old_made, &new_made);
    CHECK_STR(states(&diff), "new 1, unsure 2");
    sonde__diff_done(&diff);
    sonde__report_destroy(old_made.report);
    sonde__report_destroy(new_made.report);
}

/* Without anything to compare with, all calls are listed, once for each key. */
TEST(calls_without_an_old_side_are_a_list)
{
    struct made made = made_recording();
    made_call(&made, "getenv", 0, "main read", 1);
    made_call(&made, "getenv", 0, "main @x read", 2);
    made_call(&made, "getenv", 0, "main +40", 1);
    made_call(&made, "open", 0, "", 0);
    const struct sonde__report *report = made.report;
    static const char *const name = "new";
    struct sonde__diff diff;
    CHECK_OK(sonde__diff_make(&(struct sonde__diff_side){0},
                              &(struct sonde__diff_side){&report, &name, 1}, SONDE__DIFF_PERCENT,
                              &diff));
    CHECK_STR(states(&diff), "new 2");
    CHECK_EQ(diff.calls[0].amounts[SONDE__DIFF_NEW_SIDE].count, 3);
    CHECK(diff.calls[0].is_stable);
    CHECK(!diff.calls[1].is_stable); /* a function without a name */
    sonde__diff_done(&diff);
    sonde__report_destroy(made.report);
}

/* Calls of one key and side are joined: from the first to the last of all, by all their threads. */
TEST(joined_calls_have_the_first_and_the_last_time)
{
    static const struct {
        uint64_t first_ns, last_ns, threads;
    } seen[] = {{500, 600, 1}, {100, 200, 2}, {300, 900, 4}, {0, 0, 4}};
    struct made old_made = made_recording(), new_made = made_recording();
    for (unsigned i = 0; i < 4; i++) {
        const struct sonde__report_call call = {.function =
                                                    sonde__report_string(new_made.report, "getenv"),
                                                .stack = made_stack(&new_made, "main read"),
                                                .count = 1,
                                                .end = SONDE_END_ROOT,
                                                .first_ns = seen[i].first_ns,
                                                .last_ns = seen[i].last_ns,
                                                .threads = seen[i].threads};
        sonde__report_add_call(new_made.report, &call);
    }
    made_call(&old_made, "getenv", 0, "main read", 1);
    struct sonde__diff diff = compare(&old_made, &new_made);
    CHECK_EQ(diff.call_count, 1);
    CHECK_EQ(diff.calls[0].first_ns, 100);
    CHECK_EQ(diff.calls[0].last_ns, 900);
    CHECK_EQ(diff.calls[0].threads, 7);
    CHECK_EQ(diff.calls[0].amounts[SONDE__DIFF_NEW_SIDE].count, 4);
    sonde__diff_done(&diff);
    sonde__report_destroy(old_made.report);
    sonde__report_destroy(new_made.report);
}
