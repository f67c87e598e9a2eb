// SPDX-License-Identifier: Apache-2.0
/* One report of a group's events, out of several reports. */
#include <stdlib.h>
#include <string.h>

#include "bench_collector.h"
#include "cause.h"
#include "merge.h"
#include "report_read.h"
#include "test.h"

static struct sonde__report *read_cause(unsigned cause)
{
    size_t size;
    struct sonde__report *report;
    void *bytes = bench_report(cause, 0, &size);
    CHECK_OK(sonde__report_read(bytes, size, &report, NULL, NULL));
    free(bytes);
    return report;
}

static struct sonde__report *made(void)
{
    struct sonde__report *report;
    CHECK_OK(sonde__report_create(&report));
    sonde__report_set_header(
        report, &(struct sonde__report_header){.kind = SONDE__REPORT_CALLS, .executable = "/app"});
    return report;
}

/* Stack nodes of an app's functions, the last name innermost. */
static uint32_t stack_of(struct sonde__report *report, const char *const *names, unsigned count)
{
    uint32_t node = 0,
             image = sonde__report_add_image(
                 report, &(struct sonde__report_image){.path = sonde__report_string(report, "/app"),
                                                       .flags = SONDE__REPORT_IMAGE_APP});
    for (unsigned i = 0; i < count; i++) {
        const struct sonde__report_frame frame = {.image = image,
                                                  .offset = 4096 + 16 * i,
                                                  .name = sonde__report_string(report, names[i]),
                                                  .name_offset = 4};
        node = sonde__report_add_node(report, node, sonde__report_add_frame(report, &frame));
    }
    return node;
}

static const char *const saving[] = {"main", "save"}, *const loading[] = {"main", "load"};

/* Calls of open() under a rule, from save() and from load(); other ids first, if asked. */
static struct sonde__report *made_calls(uint64_t count, bool has_others)
{
    struct sonde__report *report = made();
    if (has_others) {
        (void)stack_of(report, (const char *const[]){"x", "y", "z"}, 3);
        (void)sonde__report_add_rule(
            report, &(struct sonde__report_rule){.name = sonde__report_string(report, "other")});
    }
    uint32_t rule = sonde__report_add_rule(
        report, &(struct sonde__report_rule){.name = sonde__report_string(report, "files"),
                                             .severity = SONDE__REPORT_SEVERITY_ERROR});
    const struct sonde__report_argument argument = {1, sonde__report_string(report, "/f"), 1, 0};
    struct sonde__report_call call = {.function = sonde__report_string(report, "open"),
                                      .stack = stack_of(report, saving, 2),
                                      .count = count,
                                      .first_ns = 100 * count,
                                      .last_ns = 1000 * count,
                                      .over_limit = 1,
                                      .rule = rule,
                                      .arguments = &argument,
                                      .argument_count = 1};
    sonde__report_add_call(report, &call);
    call.stack = stack_of(report, loading, 2);
    sonde__report_add_call(report, &call);
    return report;
}

static void add_report(struct merge *merge, struct sonde__report *report)
{
    CHECK_OK(merge_add(merge, report));
    sonde__report_destroy(report);
}

/* They are one behind the other; those of another cause are left out. */
TEST(stalls_of_one_cause_follow_each_other)
{
    char cause[DIGEST_GROUP_TEXT];
    struct merge *merge;
    struct sonde__report *first = read_cause(3);
    CHECK_OK(cause_of_stall(first, sonde__report_stall(first, 0), cause));
    CHECK_OK(merge_begin(&merge));
    CHECK_OK(merge_cause(merge, cause));
    add_report(merge, first);
    add_report(merge, read_cause(4));
    add_report(merge, read_cause(3));
    CHECK_EQ(merge_count(merge), 2);
    const struct sonde__report *all = merge_report(merge, "two");
    CHECK_EQ(sonde__report_stall_count(all), 2);
    CHECK_EQ(sonde__report_stall(all, 0)->begin_ns, 0);
    CHECK_EQ(sonde__report_stall(all, 1)->begin_ns, sonde__report_stall(all, 0)->duration_ns);
    for (uint32_t i = 0; i < 2; i++) {
        char same[DIGEST_GROUP_TEXT];
        CHECK_OK(cause_of_stall(all, sonde__report_stall(all, i), same));
        CHECK_STR(same, cause);
    }
    CHECK_STR(sonde__report_note(all, 0), "two");
    merge_end(merge);
}

/* Whatever ids they had; without what cannot be added up. */
TEST(calls_of_one_place_are_added_up)
{
    char cause[DIGEST_GROUP_TEXT];
    struct merge *merge;
    struct cause_room *room = calloc(1, sizeof *room);
    struct sonde__report *first = made_calls(3, false);
    cause_of_call(first, sonde__report_call(first, 0), room, cause);
    CHECK_OK(merge_begin(&merge));
    CHECK_OK(merge_cause(merge, cause));
    add_report(merge, first);
    add_report(merge, made_calls(4, true));
    CHECK_EQ(merge_count(merge), 7);
    const struct sonde__report *all = merge_report(merge, "");
    CHECK_EQ(sonde__report_call_count(all), 1);
    const struct sonde__report_call *call = sonde__report_call(all, 0);
    CHECK_EQ(call->count, 7);
    CHECK_EQ(call->over_limit, 2);
    CHECK_EQ(call->first_ns, 300);
    CHECK_EQ(call->last_ns, 4000);
    CHECK_EQ(call->argument_count, 0);
    CHECK_EQ(sonde__report_rule_count(all), 1);
    CHECK_STR(sonde__report_text(all, sonde__report_rule(all, call->rule)->name), "files");
    char same[DIGEST_GROUP_TEXT];
    cause_of_call(all, call, room, same);
    CHECK_STR(same, cause);
    merge_end(merge);
    free(room);
}

/* A thread in which something went wrong; the others are not of the group. */
TEST(errors_are_threads)
{
    char cause[DIGEST_GROUP_TEXT];
    struct merge *merge;
    CHECK_OK(merge_begin(&merge));
    for (unsigned i = 0; i < 3; i++) {
        struct sonde__report *report = made();
        struct sonde__report_thread thread = {.tid = i,
                                              .stack =
                                                  stack_of(report, i == 1 ? loading : saving, 2),
                                              .note = sonde__report_string(report, "error: Oops")};
        sonde__report_add_thread(report, &thread);
        if (i == 0) {
            CHECK_OK(cause_of_error(report, sonde__report_thread(report, 0), cause));
            CHECK_OK(merge_cause(merge, cause));
        }
        thread.note = 0;
        sonde__report_add_thread(report, &thread);
        add_report(merge, report);
    }
    CHECK_EQ(merge_count(merge), 2);
    const struct sonde__report *all = merge_report(merge, "");
    CHECK_EQ(sonde__report_thread_count(all), 2);
    CHECK_EQ(sonde__report_thread(all, 1)->tid, 2);
    char same[DIGEST_GROUP_TEXT];
    CHECK_OK(cause_of_error(all, sonde__report_thread(all, 1), same));
    CHECK_STR(same, cause);
    merge_end(merge);
}

/* Events without a known cause are in no group. */
TEST(no_cause_is_no_group)
{
    struct merge *merge;
    struct sonde__report *report = made();
    sonde__report_add_stall(report, &(struct sonde__report_stall){.duration_ns = 1000});
    CHECK_OK(merge_begin(&merge));
    CHECK_OK(merge_cause(merge, ""));
    add_report(merge, report);
    CHECK_EQ(merge_count(merge), 0);
    merge_end(merge);
}
