// SPDX-License-Identifier: Apache-2.0
/* What is kept of builds: their machines, their calls of each cause, and how two of them differ. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "differ.h"
#include "stores.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000u)

static const struct store_actor me = {7, 50};
static const struct sonde__build_id wanted = {.size = 2, .bytes = {1, 2}};

/* A report of an audit with calls of up to two causes. */
struct sent {
    uint32_t project;
    const char *build, *device;
    struct {
        const char *group;
        uint64_t count;
        struct digest_call call;
    } calls[2];
    bool waits;
};

struct made {
    struct digest_event events[2];
    struct digest_call calls[2];
    char *listed[1];
    struct digest digest;
};

static const struct digest *make(const struct sent *sent, struct made *made)
{
    char *text = (char *)(uintptr_t) "x";
    *made = (struct made){.listed = {(char *)(uintptr_t) "ids"}};
    made->digest = (struct digest){.kind = 5,
                                   .time_ns = HOUR_NS,
                                   .program = text,
                                   .build = (char *)(uintptr_t)sent->build,
                                   .device = (char *)(uintptr_t)sent->device,
                                   .os = text,
                                   .arch = text,
                                   .events = made->events,
                                   .listed = made->listed,
                                   .listed_count = 1,
                                   .has_calls = true};
    for (unsigned i = 0; i < 2 && sent->calls[i].group != NULL; i++) {
        struct digest_event *event = &made->events[made->digest.event_count++];
        *event = (struct digest_event){.kind = DIGEST_FINDING,
                                       .count = sent->calls[i].count,
                                       .severity = 2,
                                       .call = &made->calls[i]};
        snprintf(event->group, sizeof event->group, "%s", sent->calls[i].group);
        made->calls[i] = sent->calls[i].call;
        made->calls[i].rule = made->calls[i].rule != NULL ? made->calls[i].rule : "ids";
        made->calls[i].api = "gethostname";
        made->calls[i].path = made->calls[i].path != NULL ? made->calls[i].path : "save\nmain";
        made->calls[i].sdk = made->calls[i].sdk != NULL ? made->calls[i].sdk : "";
        made->calls[i].is_stable = sent->calls[i].group[0] != '?';
    }
    if (sent->waits) {
        made->digest.wants.ids[made->digest.wants.count++] = wanted;
    }
    return &made->digest;
}

static uint8_t next_id;

static void add(struct store *store, const struct sent *sent)
{
    struct made made;
    struct store_report report = {.project = sent->project != 0 ? sent->project : 1,
                                  .received_ns = 5 * HOUR_NS + next_id,
                                  .size_bytes = 1,
                                  .digest = make(sent, &made)};
    report.id.bytes[0] = ++next_id;
    report.blob.bytes[0] = next_id;
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
}

static void add_all(struct store *store, const struct sent *sent, unsigned count)
{
    CHECK_EQ(store_begin(store), STORE_OK);
    for (unsigned i = 0; i < count; i++) {
        add(store, &sent[i]);
    }
    CHECK_EQ(store_commit(store, (struct journal_place){1, next_id}), STORE_OK);
}

/* --- what is there, as text --- */

struct text {
    char bytes[4096];
    size_t used;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text->bytes + text->used, sizeof text->bytes - text->used, format, list);
    va_end(list);
    text->used += (size_t)size;
    CHECK(text->used < sizeof text->bytes);
}

static void put_build(void *ctx, const struct store_build *build)
{
    put(ctx, "%s: %llu-%llu h, %llu reports, %llu recorded, %llu machines%s\n", build->name,
        (unsigned long long)(build->first_ns / HOUR_NS),
        (unsigned long long)(build->last_ns / HOUR_NS), (unsigned long long)build->reports,
        (unsigned long long)build->recorded, (unsigned long long)build->devices,
        build->is_baseline ? ", baseline" : "");
}

static void put_sum(struct text *text, const struct store_call_sum *sum)
{
    put(text, "%llu (%llu %llu %llu) over %llu, %llu reports, %llu machines",
        (unsigned long long)sum->count, (unsigned long long)sum->before,
        (unsigned long long)sum->given, (unsigned long long)sum->refused,
        (unsigned long long)sum->over, (unsigned long long)sum->reports,
        (unsigned long long)sum->devices);
}

static void put_call(void *ctx, const struct store_call *call, const struct store_call_sum *sum)
{
    put(ctx, "group %lld kind %u severity %u %s %s by %.4s sdk '%s'%s: ", (long long)call->group,
        call->kind, call->severity, call->rule, call->api, call->path, call->sdk,
        call->is_stable ? "" : " unstable");
    put_sum(ctx, sum);
    put(ctx, "\n");
}

static void check_builds(struct store *store, const char *expected)
{
    struct text text = {.used = 0};
    CHECK_EQ(store_builds(store, 1, 10, put_build, &text), STORE_OK);
    CHECK_STR(text.bytes, expected);
}

static void check_calls(struct store *store, const char *build, const char *expected)
{
    struct text text = {.used = 0};
    CHECK_EQ(store_calls(store, 1, build, 10, put_call, &text), STORE_OK);
    CHECK_STR(text.bytes, expected);
}

/* --- sums --- */

static const struct sent of_builds[] = {
    {.build = "1", .device = "a", .calls = {{"g", 2, {.given = 2}}}},
    {.build = "2",
     .device = "a",
     .calls = {{"g", 6, {.before = 1, .given = 5, .over = 3, .sdk = "stats"}},
               {"h", 1, {.refused = 1}}}},
    {.build = "2", .device = "b", .calls = {{"g", 4, {.given = 4}}}},
    {.build = "2", .device = "b", .calls = {{"g", 4, {.given = 1}}}},
    {.build = "2", .device = "c"},
};

TEST_OF_STORES(calls_are_summed_by_build)
{
    const struct sent other = {.project = 2, .build = "2", .device = "z", .calls = {{"g", 9, {0}}}};
    struct store *store = stores_open();
    add_all(store, of_builds, 3);
    add_all(store, of_builds + 3, 2);
    add_all(store, &other, 1);
    check_builds(store, "1: 1-1 h, 1 reports, 1 recorded, 1 machines\n"
                        "2: 1-1 h, 4 reports, 4 recorded, 3 machines\n");
    check_calls(store, "1",
                "group 1 kind 2 severity 2 ids gethostname by save sdk '': 2 (0 2 0) over 0, 1 "
                "reports, 1 machines\n");
    check_calls(store, "2",
                "group 1 kind 2 severity 2 ids gethostname by save sdk '': 14 (1 10 0) over 3, 3 "
                "reports, 2 machines\n"
                "group 2 kind 2 severity 2 ids gethostname by save sdk '': 1 (0 0 1) over 0, 1 "
                "reports, 1 machines\n");
    check_calls(store, "3", "");
    store_close(store);
}

/* A report that is rolled back leaves nothing. */
TEST_OF_STORES(calls_of_no_transaction_are_not_summed)
{
    struct store *store = stores_open();
    add_all(store, of_builds, 1);
    CHECK_EQ(store_begin(store), STORE_OK);
    add(store, &of_builds[1]);
    store_rollback(store);
    add_all(store, of_builds, 1);
    check_builds(store, "1: 1-1 h, 2 reports, 2 recorded, 1 machines\n");
    check_calls(store, "2", "");
    store_close(store);
}

TEST_OF_STORES(calls_of_a_joint_have_its_number)
{
    int64_t joint;
    struct store *store = stores_open();
    add_all(store, of_builds, 2);
    CHECK_EQ(store_join(store, &me, 1, 1, 2, &joint), STORE_OK);
    CHECK_EQ(joint, 3);
    check_calls(store, "1",
                "group 3 kind 2 severity 2 ids gethostname by save sdk '': 2 (0 2 0) over 0, 1 "
                "reports, 1 machines\n");
    store_close(store);
}

/* --- the baseline --- */

static void keep_action(void *ctx, const struct store_action *action)
{
    put(ctx, "%lld %s\n", (long long)action->secret, action->what);
}

TEST_OF_STORES(baseline_is_a_build_of_the_project)
{
    char name[8] = "";
    uint32_t project = 0;
    struct text text = {.used = 0};
    struct store *store = stores_open();
    CHECK_EQ(store_add_project(store, "one", 1, &project), STORE_OK);
    CHECK_EQ(project, 1);
    CHECK_EQ(store_add_project(store, "other", 1, &project), STORE_OK);
    add_all(store, of_builds, 2);
    CHECK_EQ(store_baseline(store, 1, name, sizeof name), STORE_ABSENT);
    CHECK_EQ(store_set_baseline(store, &me, 1, "3"), STORE_ABSENT);
    CHECK_EQ(store_set_baseline(store, &me, 2, "1"), STORE_ABSENT);
    CHECK_EQ(store_set_baseline(store, &me, 1, "1"), STORE_OK);
    CHECK_EQ(store_baseline(store, 1, name, sizeof name), STORE_OK);
    CHECK_STR(name, "1");
    check_builds(store, "1: 1-1 h, 1 reports, 1 recorded, 1 machines, baseline\n"
                        "2: 1-1 h, 1 reports, 1 recorded, 1 machines\n");
    CHECK_EQ(store_build(store, 1, "3", put_build, &text), STORE_ABSENT);
    CHECK_EQ(store_actions(store, 1, 10, keep_action, &text), STORE_OK);
    CHECK_STR(text.bytes, "7 baseline: build 1\n");
    store_close(store);
}

/* --- two builds --- */

static void put_pair(void *ctx, const struct store_call_pair *pair)
{
    put(ctx, "group %lld %s%s: ", (long long)pair->call.group, pair->call.rule,
        pair->is_listed ? "" : " unlisted");
    put_sum(ctx, &pair->now);
    put(ctx, " | ");
    put_sum(ctx, &pair->then);
    put(ctx, "\n");
}

TEST_OF_STORES(calls_of_two_builds_are_paired)
{
    const struct sent more[] = {
        {.build = "1", .device = "a", .calls = {{"gone", 3, {0}}, {"off", 1, {.rule = "other"}}}},
        {.build = "3", .device = "a", .calls = {{"g", 9, {0}}}},
    };
    struct text text = {.used = 0};
    struct store *store = stores_open();
    add_all(store, of_builds, 2);
    add_all(store, more, 2);
    CHECK_EQ(store_compare(store, 1, "2", "1", put_pair, &text), STORE_OK);
    CHECK_STR(text.bytes,
              "group 2 ids: 1 (0 0 1) over 0, 1 reports, 1 machines | 0 (0 0 0) over 0, 0 reports, "
              "0 machines\n"
              "group 1 ids: 6 (1 5 0) over 3, 1 reports, 1 machines | 2 (0 2 0) over 0, 1 reports, "
              "1 machines\n"
              "group 3 ids: 0 (0 0 0) over 0, 0 reports, 0 machines | 3 (0 0 0) over 0, 1 reports, "
              "1 machines\n"
              "group 4 other unlisted: 0 (0 0 0) over 0, 0 reports, 0 machines | 1 (0 0 0) over 0, "
              "1 reports, 1 machines\n");
    store_close(store);
}

/* --- reports that are grouped anew --- */

static void keep_waiting(void *ctx, const struct store_waiting *waiting)
{
    *(struct store_waiting *)ctx = *waiting;
}

/* What a report without names added to its build's calls leaves them when it is named. */
TEST_OF_STORES(calls_leave_with_their_report)
{
    const struct sent bare = {
        .build = "2",
        .device = "a",
        .waits = true,
        .calls = {{"?", 6, {.before = 1, .given = 4, .over = 3}}, {"g", 1, {.refused = 1}}}};
    const struct sent named = {
        .build = "2",
        .device = "a",
        .calls = {{"g", 6, {.before = 1, .given = 4, .over = 3}}, {"h", 1, {.refused = 1}}}};
    const struct sent later = {.build = "2", .device = "b", .calls = {{"?", 1, {.before = 1}}}};
    struct made made;
    struct store_waiting waiting = {.number = 0};
    struct store *store = stores_open();
    add_all(store, &bare, 1);
    add_all(store, &later, 1);
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_waiting(store, 1, &wanted, 1, keep_waiting, &waiting), STORE_OK);
    CHECK_EQ(store_regroup(store, &waiting, make(&named, &made)), STORE_OK);
    CHECK_EQ(store_commit_change(store), STORE_OK);
    check_builds(store, "2: 1-1 h, 2 reports, 2 recorded, 2 machines\n");
    check_calls(store, "2",
                "group 2 kind 2 severity 2 ids gethostname by save sdk '': 6 (1 4 0) over 3, 1 "
                "reports, 1 machines\n"
                "group 1 kind 2 severity 2 ids gethostname by save sdk '' unstable: 1 (1 0 0) over "
                "0, 1 reports, 1 machines\n"
                "group 3 kind 2 severity 2 ids gethostname by save sdk '': 1 (0 0 1) over 0, 1 "
                "reports, 1 machines\n");
    store_close(store);
}

/* --- what a difference is --- */

TEST(differences_are_judged_as_by_sonde_diff)
{
    const struct differ_builds builds = {.now = 2, .then = 1, .percent = 150};
    static const struct {
        struct store_call_sum now, then;
        bool is_listed, is_stable;
        enum differ_change change;
        uint32_t why;
    } cases[] = {
        {{.count = 2}, {.count = 1}, 1, 1, DIFFER_SAME, 0},
        {{.count = 3}, {.count = 1}, 0, 0, DIFFER_CHANGED, DIFFER_MORE},
        {{.count = 29}, {.count = 10}, 1, 1, DIFFER_SAME, 0},
        {{.count = 30}, {.count = 10}, 1, 1, DIFFER_CHANGED, DIFFER_MORE},
        {{.count = 12}, {.count = 10}, 1, 1, DIFFER_CHANGED, DIFFER_FEWER},
        {{.count = 1}, {.count = 0}, 1, 1, DIFFER_NEW, 0},
        {{.count = 0}, {.count = 1}, 1, 1, DIFFER_GONE, 0},
        {{.count = 1}, {.count = 0}, 0, 1, DIFFER_UNSURE, DIFFER_UNLISTED},
        {{.count = 0}, {.count = 1}, 0, 0, DIFFER_UNSURE, DIFFER_UNLISTED | DIFFER_UNSTABLE},
        {{.count = 2, .before = 1},
         {.count = 1, .given = 1},
         1,
         1,
         DIFFER_CHANGED,
         DIFFER_BEFORE_CONSENT},
        /* the base does not say whether its calls were before consent */
        {{.count = 2, .before = 1}, {.count = 1}, 1, 1, DIFFER_SAME, 0},
        {{.count = 2, .refused = 1},
         {.count = 1, .before = 1},
         1,
         1,
         DIFFER_CHANGED,
         DIFFER_NOT_BEFORE_CONSENT},
        {{.count = 2, .over = 1}, {.count = 1}, 1, 1, DIFFER_CHANGED, DIFFER_OVER_LIMIT},
        {{.count = 3},
         {.count = 1, .over = 1},
         1,
         1,
         DIFFER_CHANGED,
         DIFFER_WITHIN_LIMIT | DIFFER_MORE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct store_call_pair pair = {.call = {.is_stable = cases[i].is_stable},
                                             .now = cases[i].now,
                                             .then = cases[i].then,
                                             .is_listed = cases[i].is_listed};
        struct differ_result result = differ_judge(&builds, &pair);
        CHECK_EQ(result.change, cases[i].change);
        CHECK_EQ(result.why, cases[i].why);
    }
}
