// SPDX-License-Identifier: Apache-2.0
/* Events that are stored in one transaction change groups, sums and tags as those that are stored
 * one by one: two projects get the same reports, one of them in a transaction for each report. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gather.h"
#include "stores.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000u)
enum { FIRST = 40, REPORTS = 400, EVENTS = 3, CAUSES = 9, LINES_MAX = 4096 };

static const struct store_actor me = {7, 5 * HOUR_NS};

/* A report by its number, the same for both projects. */
struct made {
    struct digest digest;
    struct digest_event events[EVENTS];
    struct digest_tag tags[2];
    char build[16], device[16];
    uint64_t time_ns;
};

static void make(unsigned number, struct made *ret_made)
{
    static char program[] = "p", os[] = "o", arch[] = "a";
    uint64_t random = (number + 1) * 0x9e3779b97f4a7c15u;
    *ret_made = (struct made){.time_ns = (10 + random % 7) * HOUR_NS + number % 3};
    snprintf(ret_made->build, sizeof ret_made->build, "1.%u", (unsigned)(random >> 8) % 5);
    snprintf(ret_made->device, sizeof ret_made->device, "m%u", (unsigned)(random >> 16) % 11);
    for (unsigned i = 0; i < EVENTS; i++) {
        struct digest_event *event = &ret_made->events[i];
        uint64_t ns = (random >> (20 + i)) % 40;
        *event = (struct digest_event){.kind = DIGEST_STALL,
                                       .begin_ns = i,
                                       .count = 1 + (random >> i) % 3,
                                       .total_ns = ns,
                                       .longest_ns = ns,
                                       .severity = (random >> 30) % 4,
                                       .is_fatal = (random >> 33) % 2};
        snprintf(event->group, sizeof event->group, "g%u",
                 (unsigned)(random >> (24 + 3 * i)) % CAUSES);
        snprintf(event->title, sizeof event->title, "%s%u", ns % 3 == 0 ? "" : "title ",
                 ns % 3 == 0 ? 0 : number);
        event->title[0] = ns % 3 == 0 ? '\0' : event->title[0];
        snprintf(event->summary, sizeof event->summary, "%.*s", ns % 5 == 0 ? 0 : 40, event->group);
    }
    snprintf(ret_made->tags[0].name, sizeof ret_made->tags[0].name, "number");
    snprintf(ret_made->tags[0].value, sizeof ret_made->tags[0].value, "%u", number % 150);
    snprintf(ret_made->tags[1].name, sizeof ret_made->tags[1].name, "build");
    snprintf(ret_made->tags[1].value, sizeof ret_made->tags[1].value, "%s", ret_made->build);
    ret_made->digest = (struct digest){.kind = 2,
                                       .time_ns = ret_made->time_ns,
                                       .program = program,
                                       .build = ret_made->build,
                                       .device = ret_made->device,
                                       .os = os,
                                       .arch = arch,
                                       .tags = ret_made->tags,
                                       .tag_count = 2,
                                       .events = ret_made->events,
                                       .event_count = EVENTS};
}

static void add(struct store *store, uint32_t project, unsigned number)
{
    struct made made;
    make(number, &made);
    struct store_report report = {.project = project,
                                  .received_ns = made.time_ns + 1000,
                                  .size_bytes = 1,
                                  .digest = &made.digest};
    memcpy(report.id.bytes, &number, sizeof number);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
}

static void add_each(struct store *store, uint32_t project, unsigned first, unsigned end)
{
    for (; first < end; first++) {
        CHECK_EQ(store_begin(store), STORE_OK);
        add(store, project, first);
        CHECK_EQ(store_commit(store, (struct journal_place){1, first}), STORE_OK);
    }
}

/* --- what is there, as lines without numbers of rows --- */

struct lines {
    struct store *store;
    char *at[LINES_MAX];
    unsigned count;
    int64_t groups[64];
    unsigned group_count;
    const char *of;
};

static void __attribute__((format(printf, 2, 3))) put(struct lines *lines, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    CHECK(lines->count < LINES_MAX);
    CHECK(vasprintf(&lines->at[lines->count++], format, list) > 0);
    va_end(list);
}

static void put_group(void *ctx, const struct store_group *group)
{
    struct lines *lines = ctx;
    char id[IDS_REPORT_TEXT];
    ids_report_text(&group->longest, id);
    put(lines,
        "%s%s [%s] %s: %llu %llu %llu fatal %llu machines %llu severity %u first %llu %s last %llu "
        "%s shown %s state %d since %llu",
        lines->of, group->is_joint ? "joint" : group->group, group->title, group->summary,
        (unsigned long long)group->count, (unsigned long long)group->total_ns,
        (unsigned long long)group->longest_ns, (unsigned long long)group->fatal,
        (unsigned long long)group->devices, group->severity, (unsigned long long)group->first_ns,
        group->first_build, (unsigned long long)group->last_ns, group->last_build, id,
        (int)group->mark.state, (unsigned long long)group->mark.since_ns);
    if (lines->of[0] == '\0') {
        lines->groups[lines->group_count++] = group->number;
    }
}

static void put_sum(void *ctx, const struct store_sum *sum)
{
    struct lines *lines = ctx;
    put(lines, "%s sum %llu %s %llu %llu %llu", lines->of, (unsigned long long)sum->hour,
        sum->build, (unsigned long long)sum->count, (unsigned long long)sum->total_ns,
        (unsigned long long)sum->longest_ns);
}

static void put_tag(void *ctx, const struct store_tag *tag)
{
    struct lines *lines = ctx;
    put(lines, "%s tag %s=%s %llu", lines->of, tag->name, tag->value,
        (unsigned long long)tag->count);
}

static void name_group(void *ctx, const struct store_group *group)
{
    snprintf(ctx, 64, "%s", group->is_joint ? "joint" : group->group);
}

static void read_group(struct lines *lines, uint32_t project, int64_t number)
{
    char name[64] = "";
    CHECK_EQ(store_group(lines->store, project, number, name_group, name), STORE_OK);
    lines->of = name;
    CHECK_EQ(store_causes(lines->store, number, put_group, lines), STORE_OK);
    CHECK_EQ(store_sums(lines->store, number, STORE_BY_HOUR_AND_BUILD, 1000, put_sum, lines),
             STORE_OK);
    CHECK_EQ(store_tags(lines->store, number, put_tag, lines), STORE_OK);
    lines->of = "";
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_all(struct store *store, uint32_t project, struct lines *ret_lines)
{
    *ret_lines = (struct lines){.store = store, .of = ""};
    const struct store_filter filter = {.limit = 60};
    CHECK_EQ(store_groups(store, project, &filter, put_group, ret_lines), STORE_OK);
    for (unsigned i = 0; i < ret_lines->group_count; i++) {
        read_group(ret_lines, project, ret_lines->groups[i]);
    }
    qsort(ret_lines->at, ret_lines->count, sizeof *ret_lines->at, compare);
}

static void check_equal(struct store *store)
{
    static struct lines one, other;
    read_all(store, 1, &one);
    read_all(store, 2, &other);
    for (unsigned i = 0; i < one.count && i < other.count; i++) {
        CHECK_STR(other.at[i], one.at[i]);
    }
    CHECK_EQ(other.count, one.count);
    CHECK(one.count > 200);
    for (unsigned i = 0; i < one.count; i++) {
        free(one.at[i]);
        free(other.at[i]);
    }
}

/* --- the state before --- */

struct wanted {
    char name[8];
    int64_t number;
};

static void find(void *ctx, const struct store_group *group)
{
    struct wanted *wanted = ctx;
    if (strcmp(group->group, wanted->name) == 0) {
        wanted->number = group->number;
    }
}

static int64_t number_of(struct store *store, uint32_t project, unsigned cause)
{
    struct wanted wanted = {.number = 0};
    const struct store_filter filter = {.limit = 60};
    snprintf(wanted.name, sizeof wanted.name, "g%u", cause);
    CHECK_EQ(store_groups(store, project, &filter, find, &wanted), STORE_OK);
    CHECK(wanted.number != 0);
    return wanted.number;
}

/* One that is resolved in a build, one that is ignored until it has counted more, one of three
 * causes, of which one is resolved as a whole. */
static void set_states(struct store *store, uint32_t project)
{
    struct state_mark resolved = {.state = STATE_RESOLVED_IN, .since_ns = 1, .build = "1.3"};
    struct state_mark ignored = {
        .state = STATE_IGNORED, .since_ns = 1, .build = "", .until_count = 120};
    int64_t joint, one = number_of(store, project, 1), two = number_of(store, project, 2);
    int64_t three = number_of(store, project, 3);
    CHECK_EQ(store_set_state(store, &me, project, number_of(store, project, 4), &resolved),
             STORE_OK);
    CHECK_EQ(store_set_state(store, &me, project, number_of(store, project, 5), &ignored),
             STORE_OK);
    CHECK_EQ(store_join(store, &me, project, one, two, &joint), STORE_OK);
    CHECK_EQ(store_join(store, &me, project, joint, three, &joint), STORE_OK);
    ignored.until_count = 400;
    CHECK_EQ(store_set_state(store, &me, project, joint, &ignored), STORE_OK);
}

TEST_OF_STORES(events_of_one_transaction_add_up_as_those_of_many)
{
    struct store *store = stores_open();
    for (uint32_t project = 1; project <= 2; project++) {
        add_each(store, project, 0, FIRST);
        set_states(store, project);
    }
    add_each(store, 1, FIRST, REPORTS);
    CHECK_EQ(store_begin(store), STORE_OK);
    for (unsigned i = FIRST; i < REPORTS; i++) {
        add(store, 2, i);
    }
    CHECK_EQ(store_commit(store, (struct journal_place){2, 1}), STORE_OK);
    check_equal(store);
    store_close(store);
}

/* What a transaction that ends without its commit has gathered is in no other one. */
TEST_OF_STORES(events_that_were_rolled_back_are_gone)
{
    struct store *store = stores_open();
    CHECK_EQ(store_begin(store), STORE_OK);
    for (unsigned i = 0; i < 50; i++) {
        add(store, 2, i);
    }
    store_rollback(store);
    add_each(store, 1, 0, REPORTS);
    add_each(store, 2, 0, REPORTS);
    check_equal(store);
    store_close(store);
}

static void count_row(void *ctx, const struct store_row *row)
{
    (void)row;
    ++*(unsigned *)ctx;
}

/* Several events of one cause are one row of the report; another report has its own. */
TEST_OF_STORES(report_has_one_row_for_each_cause)
{
    struct store *store = stores_open();
    unsigned rows = 0;
    CHECK_EQ(store_begin(store), STORE_OK);
    for (unsigned number = 0; number < 4; number++) {
        struct made made;
        make(number, &made);
        for (unsigned i = 0; i < EVENTS; i++) {
            snprintf(made.events[i].group, sizeof made.events[i].group, "g");
        }
        struct store_report report = {
            .project = 1, .received_ns = made.time_ns, .size_bytes = 1, .digest = &made.digest};
        report.id.bytes[0] = (uint8_t)number;
        CHECK_EQ(store_add_report(store, &report), STORE_OK);
    }
    CHECK_EQ(store_commit(store, (struct journal_place){1, 1}), STORE_OK);
    CHECK_EQ(store_reports(store, 1, 1, false, 100, count_row, &rows), STORE_OK);
    CHECK_EQ(rows, 4);
    store_close(store);
}

/* Memory stays below a bound, whatever reports have. */
TEST(much_is_written_before_it_needs_much_memory)
{
    struct gather *gather = gather_begin();
    struct digest_event event = {.count = 1};
    unsigned count = 0;
    for (; !gather_is_full(gather); count++) {
        CHECK(gather_count(gather, count, &event, count, "build"));
        CHECK(count < 100000);
    }
    CHECK(count > 1000);
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQ(gather_group_at(gather, i)->number, i);
    }
    CHECK(gather_group_at(gather, count) == NULL);
    gather_clear(gather);
    CHECK(!gather_is_full(gather) && gather_group_at(gather, 0) == NULL);
    gather_end(gather);
}

/* Sums that a hostile report makes too large stay. */
TEST(sums_do_not_turn_over)
{
    struct gather *gather = gather_begin();
    struct digest_event event = {.count = UINT64_MAX, .total_ns = UINT64_MAX / 2};
    CHECK(gather_count(gather, 1, &event, 1, "build"));
    CHECK(gather_count(gather, 1, &event, 2, "build"));
    const struct gather_group *group = gather_group_at(gather, 0);
    CHECK_EQ(group->count, 9000000000000000000);
    CHECK_EQ(group->total_ns, 9000000000000000000);
    gather_end(gather);
}
