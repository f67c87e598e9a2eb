// SPDX-License-Identifier: Apache-2.0
/* The tests of the store on PostgreSQL, and what is only there: texts and numbers that the server
 * would refuse, several collectors, days, a server that goes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "blob.h"
#include "postgres.h"
#include "stores.h"

static struct postgres_server server;

static void run_sql(const char *text)
{
    free(postgres_ask(&server, text));
}

static void check_sql(const char *text, const char *expected)
{
    char *value = postgres_ask(&server, text);
    CHECK_STR(value, expected);
    free(value);
}

static void begin_case(void)
{
    char text[64];
    snprintf(text, sizeof text, "CREATE SCHEMA case%u", ++stores_number);
    run_sql(text);
}

static void start(void)
{
    server = postgres_start();
    stores_where = server.where;
}

TEST_TIMEOUT(stores_on_postgres, 180)
{
    start();
    for (const struct stores_case *one = stores_cases; one != NULL; one = one->next) {
        begin_case();
        fprintf(stderr, "%s\n", one->name);
        one->run();
    }
    CHECK(stores_number > 10);
    postgres_stop(&server);
}

struct sent {
    uint8_t id;
    const char *group, *summary;
    uint64_t received_ns, ns;
};

static enum store_status add(struct store *store, const struct sent *sent)
{
    char *text = (char *)(uintptr_t) "x";
    struct digest_event event = {
        .kind = DIGEST_STALL, .count = sent->ns, .total_ns = sent->ns, .longest_ns = sent->ns};
    snprintf(event.group, sizeof event.group, "%s", sent->group);
    snprintf(event.title, sizeof event.title, "%s", sent->summary);
    snprintf(event.summary, sizeof event.summary, "%s", sent->summary);
    struct digest_tag tag = {.name = "n"};
    snprintf(tag.value, sizeof tag.value, "%s", sent->summary);
    const struct digest digest = {.kind = 2,
                                  .program = text,
                                  .build = (char *)(uintptr_t)sent->summary,
                                  .device = (char *)(uintptr_t)sent->summary,
                                  .os = text,
                                  .arch = text,
                                  .tags = &tag,
                                  .tag_count = 1,
                                  .events = &event,
                                  .event_count = 1};
    struct store_report report = {.project = 1,
                                  .received_ns = sent->received_ns,
                                  .blob = {{sent->id}},
                                  .size_bytes = INT64_MAX,
                                  .digest = &digest};
    report.id.bytes[0] = sent->id;
    return store_add_report(store, &report);
}

static enum store_status commit_one(struct store *store, const struct sent *sent)
{
    CHECK_EQ(store_begin(store), STORE_OK);
    enum store_status status = add(store, sent);
    CHECK_EQ(store_commit(store, (struct journal_place){1, sent->id}), STORE_OK);
    return status;
}

struct looked {
    uint64_t count;
    char title[64];
};

static void look(void *ctx, const struct store_group *group)
{
    struct looked *looked = ctx;
    looked->count = group->count;
    snprintf(looked->title, sizeof looked->title, "%s", group->title);
}

/* Bytes that are no UTF-8, quotes, and sums that no column has room for. */
TEST_TIMEOUT(hostile_texts_and_numbers_are_stored, 90)
{
    struct looked looked;
    start();
    begin_case();
    struct store *store = stores_open();
    static const char text[] = "a\xff\xc0\"{},\\'\xe2\x82";
    for (uint8_t i = 1; i <= 3; i++) {
        CHECK_EQ(commit_one(store, &(struct sent){i, "g", text, 1, INT64_MAX}), STORE_OK);
    }
    CHECK_EQ(commit_one(store, &(struct sent){4, "h", "NULL", 1, 1}), STORE_OK);
    CHECK_EQ(commit_one(store, &(struct sent){5, "i", "", 1, 1}), STORE_OK);
    CHECK_EQ(store_group(store, 1, 1, look, &looked), STORE_OK);
    CHECK_STR(looked.title, "a??\"{},\\'??");
    CHECK_EQ(looked.count, 9000000000000000000);
    CHECK_EQ(store_group(store, 1, 2, look, &looked), STORE_OK);
    CHECK_STR(looked.title, "NULL");
    check_sql("SELECT count(*) FROM case1.tag WHERE value IN ('NULL', '')", "2\n");
    store_close(store);
    postgres_stop(&server);
}

/* Each has its own place in its own journal; a report that both have counts once. */
TEST_TIMEOUT(collectors_share_a_database, 90)
{
    struct looked looked;
    char one[300], other[300];
    start();
    snprintf(one, sizeof one, "%s/one", test_folder());
    snprintf(other, sizeof other, "%s/other", test_folder());
    CHECK(mkdir(one, 0700) == 0 && mkdir(other, 0700) == 0);
    struct store *same;
    struct sonde_error error;
    struct store *a = stores_open_in(one, stores_where), *b = stores_open_in(other, stores_where);
    CHECK_EQ(store_learn(b), STORE_OK);
    CHECK_EQ(commit_one(a, &(struct sent){7, "g", "x", 1, 1}), STORE_OK);
    CHECK_EQ(commit_one(b, &(struct sent){7, "g", "x", 1, 1}), STORE_KNOWN);
    CHECK_EQ(commit_one(b, &(struct sent){9, "g", "x", 1, 1}), STORE_OK);
    CHECK_EQ(store_place(a).offset, 7);
    CHECK_EQ(store_place(b).offset, 9);
    CHECK_EQ(store_group(a, 1, 1, look, &looked), STORE_OK);
    CHECK_EQ(looked.count, 2);
    CHECK_EQ(store_open(one, stores_where, &same, &error), STORE_FAILED);
    CHECK_CONTAINS(error.what, "was its data folder copied");
    store_close(a);
    a = stores_open_in(one, stores_where);
    CHECK_EQ(store_place(a).offset, 7);
    store_close(a);
    store_close(b);
    postgres_stop(&server);
}

/* The journal of a folder belongs to one database. */
TEST_TIMEOUT(folder_belongs_to_one_database, 90)
{
    struct store *store;
    struct sonde_error error;
    char folder[300], path[320];
    start();
    begin_case();
    store_close(stores_open());
    snprintf(folder, sizeof folder, "%s/case%u", test_folder(), stores_number);
    CHECK_EQ(store_open(folder, NULL, &store, &error), STORE_FAILED);
    CHECK_CONTAINS(error.what, "belongs to a collector with --database");
    CHECK_EQ(store_open(folder, stores_where, &store, &error), STORE_FAILED);
    CHECK_CONTAINS(error.what, "belongs to another database");
    snprintf(path, sizeof path, "%s/collector", folder);
    test_write_file(path, "1 2 3\n", 6);
    CHECK_EQ(store_open(folder, stores_where, &store, &error), STORE_FAILED);
    CHECK_CONTAINS(error.what, "is damaged");
    snprintf(path, sizeof path, "%s/collector.db", folder);
    test_write_file(path, "", 0);
    CHECK_EQ(store_open(folder, stores_where, &store, &error), STORE_FAILED);
    CHECK_CONTAINS(error.what, "has a database of its own");
    run_sql("UPDATE sonde_version SET number = 99");
    CHECK_EQ(store_open(test_folder(), stores_where, &store, &error), STORE_FAILED);
    CHECK_CONTAINS(error.what, "version 99");
    postgres_stop(&server);
}

/* A transaction in which the server went fails whole; the next one has a new connection. */
TEST_TIMEOUT(server_may_go_and_come, 90)
{
    struct looked looked;
    start();
    begin_case();
    struct store *store = stores_open();
    CHECK_EQ(commit_one(store, &(struct sent){1, "g", "x", 1, 1}), STORE_OK);
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(add(store, &(struct sent){2, "g", "x", 1, 1}), STORE_OK);
    postgres_stop(&server);
    CHECK_EQ(store_commit(store, (struct journal_place){1, 2}), STORE_FAILED);
    CHECK_EQ(store_begin(store), STORE_FAILED);
    CHECK_EQ(store_check(store), STORE_FAILED);
    postgres_again(&server);
    for (unsigned i = 0; i < 100 && store_check(store) != STORE_OK; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); /* a second between tries */
    }
    CHECK_EQ(store_place(store).offset, 1);
    while (store_begin(store) != STORE_OK) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    CHECK_EQ(add(store, &(struct sent){2, "g", "x", 1, 1}), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, 2}), STORE_OK);
    CHECK_EQ(store_group(store, 1, 1, look, &looked), STORE_OK);
    CHECK_EQ(looked.count, 2);
    store_close(store);
    postgres_stop(&server);
}

static void count_drop(void *ctx, const struct hash *blob)
{
    (void)blob;
    ++*(unsigned *)ctx;
}

/* Days have their tables, which go whole; so do files. */
TEST_TIMEOUT(days_and_files_go, 90)
{
    enum { DAYS = 5 };
    const uint64_t day_ns = (uint64_t)86400 * 1000000000u;
    start();
    unsigned dropped = 0;
    uint32_t count;
    void *bytes;
    size_t size;
    struct hash hashes[DAYS + 1];
    begin_case();
    struct store *store = stores_open();
    const struct blobs blobs = {-1, store};
    for (uint8_t i = 1; i <= (uint8_t)DAYS; i++) {
        const struct blob blob = {.bytes = &i, .size = 1};
        CHECK_EQ(store_begin(store), STORE_OK);
        CHECK_EQ(blob_put(&blobs, &blob, &hashes[i]), 0);
        struct store_report report = {
            .project = i, .received_ns = i * day_ns, .blob = hashes[i], .why = "damaged"};
        report.id.bytes[0] = i;
        CHECK_EQ(store_add_report(store, &report), STORE_OK);
        CHECK_EQ(add(store, &(struct sent){(uint8_t)(100 + i), "g", "x", i * day_ns, 1}), STORE_OK);
        CHECK_EQ(store_commit(store, (struct journal_place){1, i}), STORE_OK);
    }
    check_sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'event_0_%' AND relkind = 'r'",
              "5\n");
    const struct store_keep rule = {.before_ns = 3 * day_ns};
    struct store_keep_cursor cursor = {0, 0};
    CHECK_EQ(store_keep(store, &rule, &cursor, count_drop, &dropped, &count), STORE_OK);
    CHECK_EQ(dropped, count);
    CHECK_EQ(count, 4); /* two that are there, and two that are not */
    check_sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'event_0_%' AND relkind = 'r'",
              "3\n");
    check_sql("SELECT count(*) FROM case1.event", "3\n");
    CHECK_EQ(blob_get(&blobs, &hashes[2], &bytes, &size), ENOENT);
    CHECK_EQ(blob_get(&blobs, &hashes[3], &bytes, &size), 0);
    CHECK(size == 1 && *(uint8_t *)bytes == 3);
    free(bytes);
    store_close(store);
    postgres_stop(&server);
}

/* A database of the version without hooks is brought to this one. */
TEST_TIMEOUT(older_shared_database_is_brought_forward, 90)
{
    int64_t number = 0;
    const struct store_actor me = {1, 1};
    const struct store_hook hook = {.project = 1, .url = "http://a/", .events = 1, .kinds = 2};
    start();
    begin_case();
    struct store *store = stores_open();
    CHECK_EQ(store_add_project(store, "p", 1, &(uint32_t){0}), STORE_OK);
    CHECK_EQ(commit_one(store, &(struct sent){1, "g", "x", 1, 1}), STORE_OK);
    store_close(store);
    run_sql("DROP TABLE case1.hook, case1.message");
    run_sql("DROP INDEX case1.cause_impact, case1.report_newest");
    run_sql("ALTER TABLE case1.cause DROP COLUMN spike_ns");
    run_sql("DROP TABLE case1.machine, case1.build_sum, case1.listed, case1.sift, case1.sifted,"
            " case1.manifest, case1.recorded_api");
    run_sql("ALTER TABLE case1.build DROP COLUMN last_ns, DROP COLUMN reports,"
            " DROP COLUMN recorded, DROP COLUMN callers");
    run_sql("ALTER TABLE case1.project DROP COLUMN baseline");
    run_sql("ALTER TABLE case1.part DROP COLUMN before_count, DROP COLUMN given_count,"
            " DROP COLUMN refused_count, DROP COLUMN over_count, DROP COLUMN is_summed,"
            " DROP COLUMN direct_count, DROP COLUMN system_count");
    run_sql("UPDATE case1.sonde_version SET number = 2");
    store = stores_open();
    CHECK_EQ(store_add_hook(store, &me, &hook, &number), STORE_OK);
    CHECK_EQ(commit_one(store, &(struct sent){2, "g", "x", 1, 1}), STORE_OK);
    CHECK_EQ(commit_one(store, &(struct sent){3, "h", "x", 1, 1}), STORE_OK);
    check_sql("SELECT count(*) FROM case1.message", "1\n");
    check_sql("SELECT reports FROM case1.build", "3\n");
    check_sql("SELECT devices FROM case1.build_sum WHERE cause = 0", "1\n");
    store_close(store);
    postgres_stop(&server);
}
