// SPDX-License-Identifier: Apache-2.0
/* A backup while retention removes what it copies. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob.h"
#include "copy.h"
#include "stores.h"

static struct hash add(struct store *store, const struct blobs *blobs, unsigned id)
{
    struct digest_event event = {.kind = DIGEST_STALL, .count = 1, .group = "a"};
    const struct digest digest = stores_digest(&event, 1);
    struct store_report report = {
        .project = 1, .received_ns = id, .size_bytes = 1, .digest = &digest};
    const struct blob blob = {.bytes = &id, .size = sizeof id};
    memcpy(report.id.bytes, &id, sizeof id);
    CHECK_OK(blob_put(blobs, &blob, &report.blob));
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, 1}), STORE_OK);
    return report.blob;
}

static void drop(void *ctx, const struct hash *blob)
{
    CHECK_OK(blob_remove(ctx, blob));
}

/* The first column of a statement's first row; 0: it has none. */
static int ask(const char *folder, const char *text)
{
    char path[400];
    sqlite3 *db;
    sqlite3_stmt *statement;
    snprintf(path, sizeof path, "%s/collector.db", folder);
    CHECK_EQ(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_EQ(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
    int result = sqlite3_step(statement);
    CHECK(result == SQLITE_ROW || result == SQLITE_DONE);
    int value = result == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static int count_events(const char *folder)
{
    return ask(folder, "SELECT count(*) FROM event");
}

/* Rows of the first report in tables that have them only as long as its file is kept. */
static int count_others(const char *folder)
{
    return ask(folder, "SELECT (SELECT count(*) FROM want WHERE report = 1)"
                       " + (SELECT count(*) FROM part WHERE report = 1)"
                       " + (SELECT count(*) FROM sifted WHERE report = 1)");
}

static void add_others(const char *folder)
{
    (void)ask(folder, "INSERT INTO want VALUES(x'07', 1)");
    (void)ask(folder, "INSERT INTO part(report, number, cause, time_ns, count, total_ns, fatal)"
                      " VALUES(1, 0, 1, 1, 1, 1, 0)");
    (void)ask(folder, "INSERT INTO sifted VALUES(1, 1, 1, 1, 1)");
}

TEST(backup_gives_up_what_was_removed_meanwhile)
{
    char from[300], to[320], path[340];
    struct sonde_error error;
    struct copy_counts counts;
    struct store *store = stores_open();
    snprintf(from, sizeof from, "%s", test_folder());
    snprintf(to, sizeof to, "%s/copy", from);
    snprintf(path, sizeof path, "%s/journal", from);
    CHECK_OK(mkdir(path, 0700));
    snprintf(path, sizeof path, "%s/blobs", from);
    CHECK_OK(mkdir(path, 0700));
    struct blobs blobs = {.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const struct hash old = add(store, &blobs, 1), kept = add(store, &blobs, 1000);
    add_others(from);
    CHECK_OK(copy_data(from, to, false, &error));
    CHECK_OK(copy_check(to, &counts, &error));
    CHECK_EQ(counts.files, 2);
    CHECK_EQ(count_events(to), 2);
    /* as if it was removed before it was copied */
    struct store_keep_cursor cursor = {0, 0};
    uint32_t count;
    CHECK_EQ(store_keep(store, &(struct store_keep){.before_ns = 500, .now_ns = 1000}, &cursor,
                        drop, &blobs, &count),
             STORE_OK);
    CHECK_EQ(count, 1);
    CHECK_EQ(count_others(from), 0);
    CHECK_EQ(count_others(to), 3);
    snprintf(path, sizeof path, "%s/blobs", to);
    struct blobs copied = {.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    CHECK_OK(blob_remove(&copied, &old));
    CHECK_EQ(copy_check(to, &counts, &error), SONDE_CORRUPT);
    CHECK_OK(copy_removed(from, to, &error));
    CHECK_OK(copy_check(to, &counts, &error));
    CHECK_EQ(counts.reports, 2);
    CHECK_EQ(counts.files, 1);
    CHECK_EQ(count_events(to), 1);
    CHECK_EQ(count_others(to), 0);
    /* one that the original still has is missing */
    CHECK_OK(blob_remove(&copied, &kept));
    CHECK_OK(copy_removed(from, to, &error));
    CHECK_EQ(copy_check(to, &counts, &error), SONDE_CORRUPT);
    CHECK_CONTAINS(error.what, "is missing");
    close(copied.folder);
    close(blobs.folder);
    store_close(store);
}
