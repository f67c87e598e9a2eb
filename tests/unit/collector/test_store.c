// SPDX-License-Identifier: Apache-2.0
/* The database and the files: a report counts once, sums add up, keys end. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob.h"
#include "seen.h"
#include "stores.h"
#include "test.h"

/* An arena of another thread would count as a leak. */
static __attribute__((constructor)) void use_one_arena(void)
{
    mallopt(M_ARENA_MAX, 1);
}

static struct digest_event event_of(const char *group, uint64_t ns)
{
    struct digest_event event = {
        .kind = DIGEST_STALL, .count = 1, .total_ns = ns, .longest_ns = ns};
    snprintf(event.group, sizeof event.group, "%s", group);
    snprintf(event.title, sizeof event.title, "title of %s", group);
    snprintf(event.summary, sizeof event.summary, "%llu", (unsigned long long)ns);
    return event;
}

/* Add a report with one event. */
static enum store_status add(struct store *store, unsigned id, const char *group, uint64_t ns,
                             char *device, char *build)
{
    struct digest_event event = event_of(group, ns);
    const struct digest digest = {.kind = 2,
                                  .time_ns = 5000,
                                  .program = (char *)(uintptr_t) "p",
                                  .build = build,
                                  .device = device,
                                  .os = (char *)(uintptr_t) "o",
                                  .arch = (char *)(uintptr_t) "a",
                                  .events = &event,
                                  .event_count = 1};
    struct store_report report = {
        .project = 1, .received_ns = 6000 + id, .size_bytes = 10, .digest = &digest};
    report.id.bytes[0] = (uint8_t)id;
    return store_add_report(store, &report);
}

static void keep_group(void *ctx, const struct store_group *group)
{
    struct store_group *kept = ctx;
    *kept = *group;
    kept->summary = strcmp(group->summary, "300") == 0 ? "300" : "other";
}

/* Of the first build one stall, of the second two. */
static void check_sum(void *ctx, const struct store_sum *sum)
{
    bool is_first = strcmp(sum->build, "b1") == 0;
    (void)ctx;
    CHECK_EQ(sum->hour, 0);
    CHECK_EQ(sum->count, is_first ? 1 : 2);
    CHECK_EQ(sum->total_ns, is_first ? 100 : 500);
    CHECK_EQ(sum->longest_ns, is_first ? 100 : 300);
}

static const struct store_filter one_of_all = {.limit = 1};

TEST_OF_STORES(report_counts_once_and_sums_add_up)
{
    static char one[] = "m1", two[] = "m2", old[] = "b1", new[] = "b2";
    struct store *store = stores_open();
    struct store_group group = {0};
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(add(store, 1, "g", 100, one, old), STORE_OK);
    CHECK_EQ(add(store, 1, "g", 100, one, old), STORE_KNOWN);
    CHECK_EQ(add(store, 2, "g", 200, two, new), STORE_OK);
    CHECK_EQ(add(store, 3, "g", 300, two, new), STORE_OK);
    CHECK_EQ(add(store, 4, "other", 1, two, new), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){3, 77}), STORE_OK);
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(add(store, 5, "g", 1000, one, old), STORE_OK);
    store_rollback(store);
    CHECK_EQ(store_groups(store, 1, &one_of_all, keep_group, &group), STORE_OK);
    CHECK_EQ(group.count, 3);
    CHECK_EQ(group.total_ns, 600);
    CHECK_EQ(group.longest_ns, 300);
    CHECK_STR(group.summary, "300");
    CHECK_EQ(group.longest.bytes[0], 3);
    CHECK_EQ(store_sums(store, group.number, STORE_BY_HOUR_AND_BUILD, 10, check_sum, NULL),
             STORE_OK);
    CHECK_EQ(group.devices, 2);
    CHECK_EQ(store_groups(store, 2, &one_of_all, keep_group, &group), STORE_OK);
    CHECK_EQ(store_group(store, 2, 1, keep_group, &group), STORE_ABSENT);
    store_close(store);
    store = stores_open();
    CHECK_EQ(store_place(store).segment, 3);
    CHECK_EQ(store_place(store).offset, 77);
    struct report_id id = {{1}};
    CHECK_EQ(store_knows(store, 1, &id), STORE_KNOWN);
    CHECK_EQ(store_knows(store, 2, &id), STORE_ABSENT);
    id.bytes[0] = 5;
    CHECK_EQ(store_knows(store, 1, &id), STORE_ABSENT);
    store_close(store);
}

static bool is_known(struct store *store, unsigned id)
{
    struct report_id report = {{(uint8_t)id}};
    enum store_status status = store_knows(store, 1, &report);
    CHECK(status == STORE_KNOWN || status == STORE_ABSENT);
    return status == STORE_KNOWN;
}

/* The filter of ids changes no answer: not before it has the old reports, not with new ones. */
TEST_OF_STORES(reports_are_known_with_and_without_the_filter)
{
    static char one[] = "m1", old[] = "b1";
    struct store *store = stores_open();
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(add(store, 1, "g", 100, one, old), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, 1}), STORE_OK);
    CHECK(is_known(store, 1) && !is_known(store, 2));
    store_close(store);
    store = stores_open();
    CHECK(is_known(store, 1) && !is_known(store, 2));
    CHECK_EQ(store_learn(store), STORE_OK);
    CHECK(is_known(store, 1) && !is_known(store, 2));
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(add(store, 2, "g", 100, one, old), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, 2}), STORE_OK);
    CHECK(is_known(store, 1) && is_known(store, 2) && !is_known(store, 3));
    store_close(store);
}

/* Few new ids are taken for known ones: else each of them is a question to the database. */
TEST(filter_knows_most_new_ids)
{
    unsigned wrong = 0;
    struct seen *seen = seen_begin();
    struct report_id id = {{0}};
    CHECK(seen_may_have(seen, 1, &id));
    seen_is_whole(seen);
    CHECK(!seen_may_have(seen, 1, &id));
    for (uint32_t i = 0; i < 400000; i++) {
        memcpy(id.bytes, &i, sizeof i);
        if (i % 2 == 0) {
            seen_add(seen, 1, &id);
        }
    }
    for (uint32_t i = 0; i < 400000; i++) {
        memcpy(id.bytes, &i, sizeof i);
        CHECK(i % 2 != 0 || seen_may_have(seen, 1, &id));
        wrong += i % 2 != 0 && seen_may_have(seen, 1, &id);
        wrong += seen_may_have(seen, 2, &id);
    }
    CHECK(wrong < 600); /* of 600,000 */
    seen_end(seen);
}

static void count_one(void *ctx, const struct store_group *group)
{
    (void)group;
    ++*(unsigned *)ctx;
}

/* A question of too many steps ends; in lane 0, whose questions are short, none does. */
TEST_OF_STORES(long_question_ends)
{
    enum { GROUPS = 20000, GROUPS_OF_POSTGRES = 5000 };
    const uint32_t groups = stores_where == NULL ? GROUPS : GROUPS_OF_POSTGRES;
    static char one[] = "m1", old[] = "b1";
    char name[32];
    unsigned count = 0;
    const struct store_filter all = {.limit = groups};
    struct store *store = stores_open();
    CHECK_EQ(store_begin(store), STORE_OK);
    struct digest_event event = event_of("x", 1);
    struct digest digest = {.kind = 2,
                            .build = old,
                            .device = one,
                            .program = one,
                            .os = one,
                            .arch = one,
                            .events = &event,
                            .event_count = 1};
    for (uint32_t i = 0; i < groups; i++) {
        struct store_report report = {.project = 1, .received_ns = 1, .digest = &digest};
        memcpy(report.id.bytes, &i, sizeof i);
        snprintf(name, sizeof name, "g%u", i);
        memcpy(event.group, name, sizeof name);
        CHECK_EQ(store_add_report(store, &report), STORE_OK);
    }
    CHECK_EQ(store_commit(store, (struct journal_place){1, 1}), STORE_OK);
    store_use_lane(1);
    CHECK_EQ(store_groups(store, 1, &all, count_one, &count), STORE_OK);
    CHECK_EQ(count, groups);
    store_limit_steps(store, stores_where == NULL ? 200000 : 100000); /* 1 ms */
    CHECK_EQ(store_groups(store, 1, &all, count_one, &count), STORE_LONG);
    store_limit_steps(store, 500000000);
    CHECK_EQ(store_check(store), STORE_OK);
    store_use_lane(0);
    count = 0;
    CHECK_EQ(store_groups(store, 1, &all, count_one, &count), STORE_OK);
    CHECK_EQ(count, groups);
    store_close(store);
}

static void *ask_in_another_lane(void *ctx)
{
    uint32_t number;
    CHECK_EQ(store_find_project(ctx, "none", &number), STORE_ABSENT);
    return NULL;
}

/* Another thread's short question is answered while this one lasts. */
static void ask_meanwhile(void *ctx, const struct store_group *group)
{
    pthread_t thread;
    (void)group;
    CHECK_EQ(pthread_create(&thread, NULL, ask_in_another_lane, ctx), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

TEST_OF_STORES(question_does_not_hold_up_short_ones)
{
    static char one[] = "m1", old[] = "b1";
    struct store *store = stores_open();
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(add(store, 1, "g", 100, one, old), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, 1}), STORE_OK);
    store_use_lane(2);
    CHECK_EQ(store_groups(store, 1, &one_of_all, ask_meanwhile, store), STORE_OK);
    store_use_lane(0);
    store_close(store);
}

TEST_OF_STORES(key_is_rotated_with_its_role)
{
    struct store *store = stores_open();
    struct store_key key = {.project = 2, .role = STORE_WRITE, .hash = ids_hash("x", 1)}, found;
    const struct hash other = ids_hash("y", 1);
    int64_t number, made = 0;
    CHECK_EQ(store_add_key(store, &key, &number), STORE_OK);
    CHECK_EQ(store_rotate_key(store, number, &key.hash, 9, &made), STORE_KNOWN);
    CHECK_EQ(store_rotate_key(store, number + 1, &other, 9, &made), STORE_ABSENT);
    CHECK_EQ(store_find_key(store, &key.hash, &found), STORE_OK);
    CHECK_EQ(store_rotate_key(store, number, &other, 9, &made), STORE_OK);
    CHECK_EQ(store_find_key(store, &key.hash, &found), STORE_ABSENT);
    CHECK_EQ(store_find_key(store, &other, &found), STORE_OK);
    CHECK_EQ(found.number, made);
    CHECK_EQ(found.role, STORE_WRITE);
    CHECK_EQ(found.project, 2);
    CHECK_EQ(store_rotate_key(store, number, &other, 9, &made), STORE_ABSENT);
    store_close(store);
}

TEST_OF_STORES(keys_are_found_until_they_are_revoked)
{
    struct store *store = stores_open();
    struct store_key key = {.project = 1, .role = STORE_READ, .hash = ids_hash("x", 1)}, found;
    int64_t number;
    CHECK_EQ(store_add_key(store, &key, &number), STORE_OK);
    CHECK_EQ(store_add_key(store, &key, &number), STORE_KNOWN);
    CHECK_EQ(store_find_key(store, &key.hash, &found), STORE_OK);
    CHECK_EQ(found.role, STORE_READ);
    CHECK_EQ(store_revoke_key(store, found.number, 9), STORE_OK);
    CHECK_EQ(store_revoke_key(store, found.number, 9), STORE_ABSENT);
    CHECK_EQ(store_find_key(store, &key.hash, &found), STORE_ABSENT);
    store_close(store);
}

TEST(a_newer_database_is_refused)
{
    char command[512];
    struct store *store = stores_open();
    struct sonde_error error;
    store_close(store);
    snprintf(command, sizeof command, "sqlite3 '%s/collector.db' 'PRAGMA user_version = 99'",
             test_folder());
    CHECK_EQ(system(command), 0);
    CHECK_EQ(store_open(test_folder(), NULL, &store, &error), STORE_FAILED);
    CHECK_CONTAINS(error.what, "version 99");
}

/* The URI of another database is refused before anybody is asked, and its password is not shown. */
TEST(databases_of_other_kinds_are_refused)
{
    static const char *const others[] = {"mysql://u:secret@127.0.0.1/x", "sqlite:///secret",
                                         "POSTGRESQL://u:secret@127.0.0.1:1/x",
                                         "postgresqls://secret", "://secret"};
    static const char *const ours[] = {"postgresql://u@127.0.0.1:1/x", "postgres://u@127.0.0.1:1/x",
                                       "host=127.0.0.1 port=1 dbname='a://b'"};
    struct store *store;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct sonde_error error = {.what = ""};
        CHECK_EQ(store_open(NULL, others[i], &store, &error), STORE_FAILED);
        CHECK_CONTAINS(error.what, ":// is no database of this program: expected is "
                                   "postgresql://USER@HOST/NAME or 'host=HOST");
        CHECK(strstr(error.what, "secret") == NULL);
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        struct sonde_error error = {.what = ""};
        CHECK_EQ(store_open(NULL, ours[i], &store, &error), STORE_FAILED);
        CHECK(strstr(error.what, "is no database of this program") == NULL);
    }
}

/* Earlier versions let others read the database. */
TEST(database_is_its_users_alone)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    char path[512];
    struct stat file;
    struct store *store = stores_open(), *other = NULL;
    struct sonde_error error;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/collector.db%s", test_folder(), endings[i]);
        CHECK_EQ(chmod(path, 0644), 0);
    }
    CHECK_EQ(store_open(test_folder(), NULL, &other, &error), STORE_OK);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/collector.db%s", test_folder(), endings[i]);
        CHECK_EQ(stat(path, &file), 0);
        CHECK_EQ(file.st_mode & 0777, 0600);
    }
    store_close(other);
    store_close(store);
}

TEST(file_is_given_back_or_found_damaged)
{
    struct hash hash, same;
    void *bytes;
    size_t size;
    char path[512], name[IDS_HASH_TEXT];
    const struct blobs blobs = {.folder = open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const struct blob blob = {.bytes = "a report", .size = 8};
    CHECK_EQ(blob_put(&blobs, &blob, &hash), 0);
    CHECK_EQ(blob_put(&blobs, &blob, &same), 0);
    CHECK(memcmp(&hash, &same, sizeof hash) == 0);
    CHECK_EQ(blob_get(&blobs, &hash, &bytes, &size), 0);
    CHECK(size == 8 && memcmp(bytes, "a report", 8) == 0);
    free(bytes);
    ids_hash_text(&hash, name);
    snprintf(path, sizeof path, "%s/%.2s/%s", test_folder(), name, name + 2);
    char *packed = test_read_file(path, &size);
    for (size_t i = 0; i < size; i++) {
        packed[i] ^= 8;
        test_write_file(path, packed, size);
        packed[i] ^= 8;
        int os_error = blob_get(&blobs, &hash, &bytes, &size);
        if (os_error == 0) { /* a bit that means nothing */
            free(bytes);
        } else {
            CHECK_EQ(os_error, EBADMSG);
        }
    }
    free(packed);
    hash.bytes[0] ^= 1;
    CHECK_EQ(blob_get(&blobs, &hash, &bytes, &size), ENOENT);
    close(blobs.folder);
}
