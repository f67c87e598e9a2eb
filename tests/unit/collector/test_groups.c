// SPDX-License-Identifier: Apache-2.0
/* Groups in the database: states, groups of several causes, tags, sums, and older databases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stores.h"
#include "test.h"

#define HOUR_NS 3600000000000u

struct sent {
    const char *group, *device, *build;
    uint64_t time_ns, ns;
};

/* Add a report of one stall. */
static void add(struct store *store, const struct sent *sent)
{
    static uint8_t next_id;
    struct digest_tag tag = {.name = "device"};
    struct digest_event event = {
        .kind = DIGEST_STALL, .count = 1, .total_ns = sent->ns, .longest_ns = sent->ns};
    snprintf(tag.value, sizeof tag.value, "%s", sent->device);
    snprintf(event.group, sizeof event.group, "%s", sent->group);
    snprintf(event.title, sizeof event.title, "title of %s", sent->group);
    snprintf(event.summary, sizeof event.summary, "%s", sent->group);
    const struct digest digest = {.kind = 2,
                                  .time_ns = sent->time_ns,
                                  .program = (char *)(uintptr_t) "p",
                                  .build = (char *)(uintptr_t)sent->build,
                                  .device = (char *)(uintptr_t)sent->device,
                                  .os = (char *)(uintptr_t) "o",
                                  .arch = (char *)(uintptr_t) "a",
                                  .tags = &tag,
                                  .tag_count = 1,
                                  .events = &event,
                                  .event_count = 1};
    struct store_report report = {
        .project = 1, .received_ns = sent->time_ns, .size_bytes = 1, .digest = &digest};
    report.id.bytes[0] = ++next_id;
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, next_id}), STORE_OK);
}

struct seen_group {
    int64_t number, joined;
    uint64_t count, total_ns, longest_ns, devices, first_ns, last_ns;
    enum state state;
    char group[64], title[64], first_build[16], last_build[16], assignee[32];
};

static void keep(void *ctx, const struct store_group *group)
{
    struct seen_group *kept = ctx;
    *kept = (struct seen_group){group->number,
                                group->joined,
                                group->count,
                                group->total_ns,
                                group->longest_ns,
                                group->devices,
                                group->first_ns,
                                group->last_ns,
                                group->mark.state,
                                "",
                                "",
                                "",
                                "",
                                ""};
    snprintf(kept->group, sizeof kept->group, "%s", group->group);
    snprintf(kept->title, sizeof kept->title, "%s", group->title);
    snprintf(kept->first_build, sizeof kept->first_build, "%s", group->first_build);
    snprintf(kept->last_build, sizeof kept->last_build, "%s", group->last_build);
    snprintf(kept->assignee, sizeof kept->assignee, "%s", group->assignee);
}

static struct seen_group look(struct store *store, int64_t number)
{
    struct seen_group group = {0};
    CHECK_EQ(store_group(store, 1, number, keep, &group), STORE_OK);
    return group;
}

static void count_one(void *ctx, const struct store_group *group)
{
    (void)group;
    ++*(unsigned *)ctx;
}

/* The groups in a state (0: all). */
static unsigned count_groups(struct store *store, enum state state)
{
    unsigned count = 0;
    const struct store_filter filter = {.states = state != 0 ? 1u << state : 0, .limit = 100};
    CHECK_EQ(store_groups(store, 1, &filter, count_one, &count), STORE_OK);
    return count;
}

static const struct store_actor me = {7, 5 * HOUR_NS};

TEST_OF_STORES(state_is_kept_and_changed_by_events)
{
    struct store *store = stores_open();
    struct state_mark mark = {.state = STATE_RESOLVED_IN, .since_ns = 1, .build = "1.5"};
    add(store, &(struct sent){"a", "m1", "1.4", HOUR_NS, 100});
    CHECK_EQ(look(store, 1).state, STATE_OPEN);
    CHECK_EQ(store_set_state(store, &me, 1, 1, &mark), STORE_OK);
    CHECK_EQ(store_assign(store, &me, 1, 1, "ann"), STORE_OK);
    add(store, &(struct sent){"a", "m1", "1.4", 2 * HOUR_NS, 100});
    CHECK_EQ(look(store, 1).state, STATE_RESOLVED_IN);
    CHECK_EQ(count_groups(store, STATE_RESOLVED_IN), 1);
    add(store, &(struct sent){"a", "m1", "1.10", 3 * HOUR_NS, 100});
    CHECK_EQ(look(store, 1).state, STATE_REGRESSED);
    CHECK_STR(look(store, 1).assignee, "ann");
    CHECK_EQ(count_groups(store, STATE_RESOLVED_IN), 0);
    mark = (struct state_mark){.state = STATE_IGNORED, .build = "", .until_count = 5};
    CHECK_EQ(store_set_state(store, &me, 1, 1, &mark), STORE_OK);
    add(store, &(struct sent){"a", "m1", "1.4", 4 * HOUR_NS, 100});
    CHECK_EQ(look(store, 1).state, STATE_IGNORED);
    add(store, &(struct sent){"a", "m1", "1.4", 4 * HOUR_NS, 100});
    CHECK_EQ(look(store, 1).state, STATE_OPEN);
    CHECK_EQ(store_set_state(store, &me, 1, 99, &mark), STORE_ABSENT);
    CHECK_EQ(store_set_state(store, &me, 2, 1, &mark), STORE_ABSENT);
    store_close(store);
}

static void keep_actions(void *ctx, const struct store_action *action)
{
    char *text = ctx;
    size_t used = strlen(text);
    snprintf(text + used, 400 - used, "%lld %s\n", (long long)action->secret, action->what);
}

TEST_OF_STORES(actions_are_listed_with_their_keys)
{
    char text[400] = "";
    struct store *store = stores_open();
    struct state_mark mark = {.state = STATE_RESOLVED, .since_ns = HOUR_NS, .build = ""};
    add(store, &(struct sent){"a", "m1", "1", HOUR_NS, 100});
    CHECK_EQ(store_set_state(store, &me, 1, 1, &mark), STORE_OK);
    CHECK_EQ(store_set_state(store, &me, 1, 9, &mark), STORE_ABSENT);
    add(store, &(struct sent){"a", "m1", "2", 2 * HOUR_NS, 100});
    CHECK_EQ(store_actions(store, 1, 10, keep_actions, text), STORE_OK);
    CHECK_STR(text, "0 group 1: regressed by an event of build 2\n7 group 1: resolved \n");
    CHECK_EQ(store_actions(store, 2, 10, keep_actions, text), STORE_OK);
    store_close(store);
}

/* a and b are joined, c stays. Sums of the joint are those of its causes, before and after new
 * events, and each cause has its own again when it leaves. */
TEST_OF_STORES(causes_join_and_leave)
{
    int64_t joint, again;
    struct store *store = stores_open();
    add(store, &(struct sent){"a", "m1", "1", 1 * HOUR_NS, 100});
    add(store, &(struct sent){"b", "m1", "2", 2 * HOUR_NS, 300});
    add(store, &(struct sent){"c", "m3", "3", 3 * HOUR_NS, 50});
    CHECK_EQ(store_join(store, &me, 1, 2, 1, &joint), STORE_OK);
    CHECK_EQ(count_groups(store, 0), 2);
    add(store, &(struct sent){"a", "m2", "3", 4 * HOUR_NS, 500});
    add(store, &(struct sent){"b", "m2", "1", 5 * HOUR_NS, 10});
    struct seen_group group = look(store, joint);
    CHECK_EQ(group.count, 4);
    CHECK_EQ(group.total_ns, 910);
    CHECK_EQ(group.longest_ns, 500);
    CHECK_EQ(group.devices, 2); /* both causes have both */
    CHECK_EQ(group.first_ns, HOUR_NS);
    CHECK_EQ(group.last_ns, 5 * HOUR_NS);
    CHECK_STR(group.first_build, "1");
    CHECK_STR(group.last_build, "1");
    CHECK_STR(group.title, "title of a");
    CHECK_EQ(look(store, 1).joined, joint);
    CHECK_EQ(store_join(store, &me, 1, 1, 2, &again), STORE_UNFIT);
    CHECK_EQ(store_join(store, &me, 1, joint, 2, &again), STORE_UNFIT);
    CHECK_EQ(store_join(store, &me, 2, joint, 3, &again), STORE_ABSENT);
    CHECK_EQ(store_join(store, &me, 1, 3, 1, &again), STORE_OK);
    CHECK_EQ(again, joint);
    CHECK_EQ(look(store, joint).count, 5);
    CHECK_EQ(look(store, joint).devices, 3);
    CHECK_EQ(store_leave(store, &me, 1, 1), STORE_OK);
    group = look(store, joint);
    CHECK_EQ(group.count, 3);
    CHECK_EQ(group.longest_ns, 300);
    CHECK_EQ(group.first_ns, 2 * HOUR_NS);
    CHECK_STR(group.title, "title of b");
    group = look(store, 1);
    CHECK_EQ(group.count, 2);
    CHECK_EQ(group.total_ns, 600);
    CHECK_EQ(group.joined, 0);
    CHECK_EQ(store_leave(store, &me, 1, 1), STORE_UNFIT);
    CHECK_EQ(store_leave(store, &me, 1, joint), STORE_UNFIT);
    store_close(store);
}

/* The last cause goes on with the state of the joint, and the joint points to it. */
TEST_OF_STORES(joint_of_one_ends)
{
    int64_t joint, again;
    struct store *store = stores_open();
    struct state_mark mark = {.state = STATE_IGNORED, .build = ""};
    add(store, &(struct sent){"a", "m1", "1", 1 * HOUR_NS, 100});
    add(store, &(struct sent){"b", "m1", "2", 2 * HOUR_NS, 300});
    CHECK_EQ(store_join(store, &me, 1, 1, 2, &joint), STORE_OK);
    CHECK_EQ(store_set_state(store, &me, 1, 1, &mark), STORE_OK);
    CHECK_EQ(look(store, joint).state, STATE_IGNORED);
    CHECK_EQ(store_leave(store, &me, 1, 1), STORE_OK);
    CHECK_EQ(count_groups(store, 0), 2);
    CHECK_EQ(look(store, 2).state, STATE_IGNORED);
    CHECK_EQ(look(store, 2).joined, 0);
    CHECK_EQ(look(store, 1).state, STATE_OPEN);
    CHECK_EQ(look(store, joint).joined, 2);
    add(store, &(struct sent){"b", "m2", "2", 3 * HOUR_NS, 300});
    CHECK_EQ(look(store, 2).count, 2);
    CHECK_EQ(look(store, joint).count, 0);
    CHECK_EQ(store_join(store, &me, 1, 1, joint, &again), STORE_OK); /* means 2 */
    CHECK_EQ(look(store, again).count, 3);
    CHECK_EQ(count_groups(store, 0), 1);
    store_close(store);
}

/* Two joints become one; an event of a resolved joint's cause is a regression of the joint. */
TEST_OF_STORES(joints_join_and_regress)
{
    int64_t one, other, all;
    struct store *store = stores_open();
    struct state_mark mark = {.state = STATE_RESOLVED, .since_ns = 1, .build = ""};
    static const char *const names[] = {"a", "b", "c", "d"};
    for (unsigned i = 0; i < 4; i++) {
        add(store, &(struct sent){names[i], "m1", "1", HOUR_NS, 100});
    }
    CHECK_EQ(store_join(store, &me, 1, 1, 2, &one), STORE_OK);
    CHECK_EQ(store_join(store, &me, 1, 3, 4, &other), STORE_OK);
    CHECK_EQ(store_join(store, &me, 1, one, other, &all), STORE_OK);
    CHECK_EQ(all, other);
    CHECK_EQ(look(store, all).count, 4);
    CHECK_EQ(look(store, one).joined, all);
    CHECK_EQ(count_groups(store, 0), 1);
    CHECK_EQ(store_set_state(store, &me, 1, one, &mark), STORE_OK);
    CHECK_EQ(look(store, all).state, STATE_RESOLVED);
    add(store, &(struct sent){"a", "m1", "1", 2 * HOUR_NS, 100});
    CHECK_EQ(look(store, all).state, STATE_REGRESSED);
    CHECK_EQ(look(store, all).count, 5);
    CHECK_EQ(look(store, 1).count, 2);
    store_close(store);
}

static void keep_sum(void *ctx, const struct store_sum *sum)
{
    char *text = ctx;
    size_t used = strlen(text);
    snprintf(text + used, 400 - used, "%llu-%llu %s %llu %llu\n", (unsigned long long)sum->hour,
             (unsigned long long)sum->last_hour, sum->build, (unsigned long long)sum->count,
             (unsigned long long)sum->longest_ns);
}

static void keep_tag(void *ctx, const struct store_tag *tag)
{
    char *text = ctx;
    size_t used = strlen(text);
    snprintf(text + used, 400 - used, "%s=%s %llu\n", tag->name, tag->value,
             (unsigned long long)tag->count);
}

TEST_OF_STORES(sums_and_tags_of_all_causes)
{
    int64_t joint;
    char text[400] = "";
    struct store *store = stores_open();
    add(store, &(struct sent){"a", "m1", "1", 1 * HOUR_NS, 100});
    add(store, &(struct sent){"a", "m2", "1", 1 * HOUR_NS + 5, 150});
    add(store, &(struct sent){"b", "m1", "2", 1 * HOUR_NS, 300});
    add(store, &(struct sent){"b", "m1", "2", 30 * HOUR_NS, 10});
    CHECK_EQ(store_join(store, &me, 1, 1, 2, &joint), STORE_OK);
    CHECK_EQ(store_sums(store, joint, STORE_BY_BUILD, 10, keep_sum, text), STORE_OK);
    CHECK_STR(text, "1-30 2 2 300\n1-1 1 2 150\n");
    text[0] = '\0';
    CHECK_EQ(store_sums(store, joint, STORE_BY_HOUR, 10, keep_sum, text), STORE_OK);
    CHECK_STR(text, "30-30  1 10\n1-1  3 300\n");
    text[0] = '\0';
    CHECK_EQ(store_sums(store, joint, STORE_BY_DAY, 1, keep_sum, text), STORE_OK);
    CHECK_STR(text, "24-30  1 10\n");
    text[0] = '\0';
    CHECK_EQ(store_sums(store, 1, STORE_BY_HOUR_AND_BUILD, 10, keep_sum, text), STORE_OK);
    CHECK_STR(text, "1-1 1 2 150\n");
    text[0] = '\0';
    CHECK_EQ(store_tags(store, joint, keep_tag, text), STORE_OK);
    CHECK_STR(text, "device=m1 3\ndevice=m2 1\n");
    store_close(store);
}

static void keep_others(void *ctx, const struct store_tag *tag)
{
    if (strcmp(tag->value, "(others)") == 0) {
        *(uint64_t *)ctx += tag->count;
    }
}

TEST_OF_STORES(values_of_a_tag_are_bounded)
{
    uint64_t others = 0;
    char device[16];
    struct store *store = stores_open();
    for (unsigned i = 0; i < STORE_TAG_VALUES + 20; i++) {
        snprintf(device, sizeof device, "m%u", i);
        add(store, &(struct sent){"a", device, "1", HOUR_NS, 100});
    }
    add(store, &(struct sent){"a", "m0", "1", HOUR_NS, 100});
    CHECK_EQ(store_tags(store, 1, keep_others, &others), STORE_OK);
    CHECK_EQ(others, 20);
    store_close(store);
}

/* What its reports say of it; there is no other one. */
static void check_old_build(void *ctx, const struct store_build *build)
{
    (void)ctx;
    CHECK_STR(build->name, "1.4");
    CHECK_EQ(build->reports, 2);
    CHECK_EQ(build->recorded, 0);
    CHECK_EQ(build->devices, 2);
}

/* A database of the first version, as it was written then, is brought to this one. */
TEST(older_database_is_brought_forward)
{
    static const char old[] =
        "CREATE TABLE project(number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL,"
        " made_ns INTEGER NOT NULL);"
        "CREATE TABLE secret(number INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL,"
        " role INTEGER NOT NULL, hash BLOB UNIQUE NOT NULL, label TEXT NOT NULL,"
        " made_ns INTEGER NOT NULL, revoked_ns INTEGER NOT NULL DEFAULT 0);"
        "CREATE TABLE report(number INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
        " id BLOB NOT NULL, kind INTEGER NOT NULL, received_ns INTEGER NOT NULL, program TEXT,"
        " build TEXT, device TEXT, os TEXT, note TEXT, blob BLOB NOT NULL,"
        " size_bytes INTEGER NOT NULL, UNIQUE(project, id));"
        "CREATE TABLE cause(number INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
        " kind INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL,"
        " why TEXT, severity INTEGER NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
        " longest_ns INTEGER NOT NULL, devices INTEGER NOT NULL, fatal INTEGER NOT NULL,"
        " first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, first_build TEXT, last_build TEXT,"
        " longest BLOB NOT NULL, UNIQUE(project, kind, id));"
        "CREATE TABLE device(cause INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY(cause, id))"
        " WITHOUT ROWID;"
        "CREATE TABLE sum(cause INTEGER NOT NULL, hour INTEGER NOT NULL, build TEXT NOT NULL,"
        " count INTEGER NOT NULL, total_ns INTEGER NOT NULL, longest_ns INTEGER NOT NULL,"
        " PRIMARY KEY(cause, hour, build)) WITHOUT ROWID;"
        "CREATE TABLE event(cause INTEGER NOT NULL, report INTEGER NOT NULL,"
        " count INTEGER NOT NULL, total_ns INTEGER NOT NULL, PRIMARY KEY(cause, report))"
        " WITHOUT ROWID;"
        "CREATE TABLE place(one INTEGER PRIMARY KEY CHECK(one = 1), segment INTEGER NOT NULL,"
        " offset INTEGER NOT NULL);"
        "INSERT INTO cause VALUES(1, 1, 1, 'a', 't', 's', '', 0, 1, 100, 100, 1, 0, 1, 1, '1.4',"
        " '1.4', zeroblob(16));"
        "INSERT INTO sum VALUES(1, 7, '1.4', 1, 100, 100);"
        "INSERT INTO place VALUES(1, 4, 5);"
        "INSERT INTO report VALUES(1, 1, zeroblob(16), 2, 50, 'p', '1.4', 'm1', 'o', '',"
        " zeroblob(32), 10), (2, 1, zeroblob(15), 2, 99, 'p', '1.4', 'm2', 'o', '', zeroblob(32),"
        " 10), (3, 1, zeroblob(14), 0, 99, 'p', '', '', 'o', 'unread', zeroblob(32), 10);"
        "PRAGMA user_version = 1;";
    char path[512], command[1200];
    snprintf(path, sizeof path, "%s/old.sql", test_folder());
    test_write_file(path, old, sizeof old - 1);
    snprintf(command, sizeof command, "sqlite3 '%s/collector.db' <'%s'", test_folder(), path);
    CHECK_EQ(system(command), 0);
    struct store *store = stores_open();
    struct state_mark mark = {.state = STATE_RESOLVED_NEXT, .since_ns = 8 * HOUR_NS, .build = ""};
    CHECK_EQ(look(store, 1).count, 1);
    CHECK_EQ(look(store, 1).state, STATE_OPEN);
    CHECK_EQ(store_place(store).segment, 4);
    CHECK_EQ(store_builds(store, 1, 10, check_old_build, NULL), STORE_OK);
    CHECK_EQ(store_set_state(store, &me, 1, 1, &mark), STORE_OK);
    add(store, &(struct sent){"a", "m1", "1.4", 9 * HOUR_NS, 100}); /* seen in the old one */
    CHECK_EQ(look(store, 1).state, STATE_RESOLVED_NEXT);
    add(store, &(struct sent){"a", "m1", "1.5", 9 * HOUR_NS, 100});
    CHECK_EQ(look(store, 1).state, STATE_REGRESSED);
    CHECK_EQ(look(store, 1).count, 3);
    CHECK_EQ(store_messages(store), 0);
    store_close(store);
}
