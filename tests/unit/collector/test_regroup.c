// SPDX-License-Identifier: Apache-2.0
/* Reports that wait for symbols, and are grouped anew: what they added leaves one cause and comes
 * to another, to the last event. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "test.h"

#define HOUR_NS 3600000000000u

static struct store *open_store(void)
{
    struct store *store;
    struct sonde_error error;
    if (store_open(test_folder(), NULL, &store, &error) != STORE_OK) {
        FAIL("%s", error.what);
    }
    return store;
}

static const struct sonde__build_id first_id = {.size = 2, .bytes = {1, 2}};
static const struct sonde__build_id second_id = {.size = 2, .bytes = {1, 3}};

/* A report of two stalls, an hour apart. */
struct sent {
    const char *groups[2];
    const char *device;
    uint64_t ns;
    const struct sonde__build_id *wants[2];
};

struct made {
    struct digest_tag tag;
    struct digest_event events[2];
    struct digest digest;
};

static const struct digest *make(const struct sent *sent, struct made *made)
{
    *made = (struct made){.tag = {.name = "kind", .value = "test"}};
    for (unsigned i = 0; i < 2; i++) {
        struct digest_event *event = &made->events[i];
        *event = (struct digest_event){.kind = DIGEST_STALL,
                                       .begin_ns = i * HOUR_NS,
                                       .count = 1,
                                       .total_ns = sent->ns,
                                       .longest_ns = sent->ns,
                                       .is_fatal = i == 1};
        snprintf(event->group, sizeof event->group, "%s", sent->groups[i]);
        snprintf(event->title, sizeof event->title, "title of %s", sent->groups[i]);
        snprintf(event->summary, sizeof event->summary, "%s", sent->groups[i]);
    }
    made->digest = (struct digest){.kind = 2,
                                   .time_ns = HOUR_NS,
                                   .program = (char *)(uintptr_t) "p",
                                   .build = (char *)(uintptr_t) "b",
                                   .device = (char *)(uintptr_t)sent->device,
                                   .os = (char *)(uintptr_t) "o",
                                   .arch = (char *)(uintptr_t) "a",
                                   .tags = &made->tag,
                                   .tag_count = 1,
                                   .events = made->events,
                                   .event_count = 2};
    for (unsigned i = 0; i < 2 && sent->wants[i] != NULL; i++) {
        made->digest.wants.ids[made->digest.wants.count++] = *sent->wants[i];
    }
    return &made->digest;
}

static void add(struct store *store, uint32_t project, const struct sent *sent)
{
    static uint8_t next_id;
    struct made made;
    struct store_report report = {.project = project,
                                  .received_ns = 10 * HOUR_NS,
                                  .size_bytes = 1,
                                  .digest = make(sent, &made)};
    report.id.bytes[0] = ++next_id;
    report.blob.bytes[0] = next_id;
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, next_id}), STORE_OK);
}

struct list {
    struct store_waiting all[8];
    unsigned count;
};

static void take(void *ctx, const struct store_waiting *waiting)
{
    struct list *list = ctx;
    CHECK(list->count < 8);
    list->all[list->count++] = *waiting;
}

static struct list waiting(struct store *store, uint32_t project, const struct sonde__build_id *id)
{
    struct list list = {.count = 0};
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_waiting(store, project, id, 8, take, &list), STORE_OK);
    CHECK_EQ(store_commit_change(store), STORE_OK);
    return list;
}

static void regroup(struct store *store, const struct store_waiting *which, const struct sent *now)
{
    struct made made;
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_regroup(store, which, now != NULL ? make(now, &made) : NULL), STORE_OK);
    CHECK_EQ(store_commit_change(store), STORE_OK);
}

/* All that the database has, but for the numbers of rows and causes without events. */
static char *dump(void)
{
    static const char *const questions[] = {
        "SELECT 'cause', id, count, total_ns, longest_ns, devices, fatal, hex(longest) FROM cause"
        " WHERE count > 0 ORDER BY id",
        "SELECT 'sum', c.id, hour, build, s.count, s.total_ns FROM sum s JOIN cause c"
        " ON c.number = s.cause ORDER BY 2, 3, 4",
        "SELECT 'tag', c.id, name, value, t.count FROM tag t JOIN cause c ON c.number = t.cause"
        " ORDER BY 2, 3, 4",
        "SELECT 'device', c.id, d.id FROM device d JOIN cause c ON c.number = d.cause"
        " ORDER BY 2, 3",
        "SELECT 'event', c.id, report, e.count, e.total_ns FROM event e JOIN cause c"
        " ON c.number = e.cause ORDER BY 2, 3",
        "SELECT 'want', hex(id), report FROM want ORDER BY 2, 3",
        "SELECT 'part', report, p.number, c.id, p.time_ns, p.count, p.total_ns, p.fatal FROM part p"
        " JOIN cause c ON c.number = p.cause ORDER BY 2, 3",
    };
    char path[256], *text = NULL;
    size_t size = 0;
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/collector.db", test_folder());
    CHECK_EQ(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    FILE *out = open_memstream(&text, &size);
    CHECK(out != NULL);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        sqlite3_stmt *rows;
        CHECK_EQ(sqlite3_prepare_v2(db, questions[i], -1, &rows, NULL), SQLITE_OK);
        while (sqlite3_step(rows) == SQLITE_ROW) {
            for (int column = 0; column < sqlite3_column_count(rows); column++) {
                fprintf(out, "%s ", (const char *)sqlite3_column_text(rows, column));
            }
            fputc('\n', out);
        }
        sqlite3_finalize(rows);
    }
    fclose(out);
    sqlite3_close(db);
    return text;
}

static const struct sent bare = {{"lib", "lib"}, "d1", 100, {&first_id, &second_id}};
static const struct sent named = {{"save", "load"}, "d1", 100, {NULL, NULL}};

/* The database after a report came without names, and was grouped anew, is that of one to which it
 * came with names. */
TEST(report_grouped_anew_is_as_if_it_had_come_so)
{
    const struct sent others[] = {{{"lib", "save"}, "d2", 300, {NULL, NULL}},
                                  {{"lib", "load"}, "d1", 50, {NULL, NULL}}};
    struct store *store = open_store();
    add(store, 1, &bare);
    add(store, 1, &others[0]);
    add(store, 1, &others[1]);
    struct list list = waiting(store, 1, &first_id);
    CHECK_EQ(list.count, 1);
    CHECK_EQ(list.all[0].blob.bytes[0], 1);
    regroup(store, &list.all[0], &named);
    CHECK_EQ(waiting(store, 1, &first_id).count, 0);
    CHECK_EQ(waiting(store, 1, &second_id).count, 0);
    char *anew = dump();
    CHECK_STR(anew, "cause lib 2 350 300 2 0 02000000000000000000000000000000 \n"
                    "cause load 2 150 100 1 2 01000000000000000000000000000000 \n"
                    "cause save 2 400 300 2 1 02000000000000000000000000000000 \n"
                    "sum lib 1 b 2 350 \nsum load 2 b 2 150 \nsum save 1 b 1 100 \n"
                    "sum save 2 b 1 300 \n"
                    "tag lib kind test 2 \ntag load kind test 2 \ntag save kind test 2 \n"
                    "device lib d1 \ndevice lib d2 \ndevice load d1 \ndevice save d1 \n"
                    "device save d2 \n"
                    "event lib 2 1 300 \nevent lib 3 1 50 \nevent load 1 1 100 \n"
                    "event load 3 1 50 \nevent save 1 1 100 \nevent save 2 1 300 \n");
    free(anew);
    store_close(store);
}

/* The longest leaves, and the machine with it; a cause that has nothing more is not listed, and is
 * the same one when an event comes again. */
static void count_group(void *ctx, const struct store_group *group)
{
    unsigned *count = ctx;
    CHECK(group->count != 0);
    ++*count;
}

TEST(cause_that_reports_leave_keeps_what_is_left)
{
    const struct sent small = {{"lib", "lib"}, "d2", 10, {NULL, NULL}};
    const struct store_filter all = {.limit = 10};
    unsigned count = 0;
    struct store *store = open_store();
    add(store, 1, &small);
    add(store, 1, &bare);
    struct list list = waiting(store, 1, &first_id);
    regroup(store, &list.all[0], &named);
    char *left = dump();
    CHECK_CONTAINS(left, "cause lib 2 20 20 1 1 01000000000000000000000000000000 \n");
    CHECK_CONTAINS(left, "device lib d2 \ndevice load");
    free(left);
    store_close(store);

    store = open_store();
    add(store, 2, &bare); /* another project */
    list = waiting(store, 2, &first_id);
    CHECK_EQ(list.count, 1);
    CHECK_EQ(waiting(store, 1, &first_id).count, 0);
    CHECK_EQ(waiting(store, 0, &first_id).count, 1);
    regroup(store, &list.all[0], &named);
    CHECK_EQ(store_groups(store, 2, &all, count_group, &count), STORE_OK);
    CHECK_EQ(count, 2);
    add(store, 2, &small);
    count = 0;
    CHECK_EQ(store_groups(store, 2, &all, count_group, &count), STORE_OK);
    CHECK_EQ(count, 3);
    store_close(store);
}

/* Two reports of one machine, one of which stays in the cause: in one transaction or in two. */
TEST(reports_are_grouped_anew_in_one_transaction)
{
    const struct sent stays = {{"lib", "lib"}, "d1", 100, {NULL, NULL}};
    char *dumps[2];
    for (unsigned i = 0; i < 2; i++) {
        struct store *store = open_store();
        struct made made;
        uint32_t project = i + 1;
        add(store, project, &bare);
        add(store, project, &bare);
        struct list list = waiting(store, project, &first_id);
        CHECK_EQ(list.count, 2);
        CHECK_EQ(store_begin(store), STORE_OK);
        CHECK_EQ(store_regroup(store, &list.all[0], make(&stays, &made)), STORE_OK);
        if (i == 1) {
            CHECK_EQ(store_commit_change(store), STORE_OK);
            CHECK_EQ(store_begin(store), STORE_OK);
        }
        CHECK_EQ(store_regroup(store, &list.all[1], make(&named, &made)), STORE_OK);
        CHECK_EQ(store_commit_change(store), STORE_OK);
        store_close(store);
        dumps[i] = dump();
    }
    /* the first project, and then both */
    CHECK_CONTAINS(dumps[0], "cause lib 2 200 100 1 1 ");
    CHECK_CONTAINS(dumps[0], "device lib d1 \ndevice load d1 \n");
    CHECK_CONTAINS(dumps[1], "device lib d1 \ndevice lib d1 \n");
    free(dumps[0]);
    free(dumps[1]);
}

/* A report that still waits for another build-id can be grouped anew again. */
TEST(report_can_wait_for_several)
{
    const struct sent half = {{"save", "lib"}, "d1", 100, {&second_id, NULL}};
    struct store *store = open_store();
    add(store, 1, &bare);
    struct list list = waiting(store, 1, &first_id);
    regroup(store, &list.all[0], &half);
    CHECK_EQ(waiting(store, 1, &first_id).count, 0);
    list = waiting(store, 1, &second_id);
    CHECK_EQ(list.count, 1);
    regroup(store, &list.all[0], &named);
    CHECK_EQ(waiting(store, 1, &second_id).count, 0);
    char *now = dump();
    CHECK_STR(now, "cause load 1 100 100 1 1 01000000000000000000000000000000 \n"
                   "cause save 1 100 100 1 0 01000000000000000000000000000000 \n"
                   "sum load 2 b 1 100 \nsum save 1 b 1 100 \n"
                   "tag load kind test 1 \ntag save kind test 1 \n"
                   "device load d1 \ndevice save d1 \n"
                   "event load 1 1 100 \nevent save 1 1 100 \n");
    free(now);
    store_close(store);
}

static void ignore_blob(void *ctx, const struct hash *blob)
{
    (void)ctx, (void)blob;
}

/* One that cannot be read stays where it is; one whose file is not kept waits for nothing. */
TEST(report_without_its_file_waits_for_nothing)
{
    const struct store_keep keep = {.before_ns = 20 * HOUR_NS};
    struct store_keep_cursor cursor = {0, 0};
    uint32_t removed;
    struct store *store = open_store();
    add(store, 1, &bare);
    struct list list = waiting(store, 1, &first_id);
    regroup(store, &list.all[0], NULL);
    CHECK_EQ(waiting(store, 1, &second_id).count, 0);
    add(store, 1, &bare);
    CHECK_EQ(store_keep(store, &keep, &cursor, ignore_blob, NULL, &removed), STORE_OK);
    CHECK_EQ(waiting(store, 1, &first_id).count, 0);
    char *now = dump();
    CHECK_CONTAINS(now, "cause lib 4 400 ");
    CHECK(strstr(now, "part") == NULL && strstr(now, "want") == NULL);
    free(now);
    store_close(store);
}
