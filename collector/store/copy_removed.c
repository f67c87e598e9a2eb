// SPDX-License-Identifier: Apache-2.0
/* Retention goes on while a backup is made: files that the copy of the database has may be removed
 * before they are copied. The database says so before a file goes, so the original is asked: what
 * it has given up is given up in the copy, of the same tables. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blob.h"
#include "copy.h"
#include "store_parts.h"

struct removing {
    sqlite3 *original, *copy;
    sqlite3_stmt *asks; /* the original: does a report have this file? */
    int blobs;          /* the folder of the copy */
};

/* SQLITE_ROW: the original has it. */
static int ask(struct removing *r, const void *hash)
{
    (void)sqlite3_reset(r->asks);
    int result = sqlite3_bind_blob(r->asks, 1, hash, IDS_HASH, SQLITE_STATIC);
    return result == SQLITE_OK ? sqlite3_step(r->asks) : result;
}

static int give_up(struct removing *r, const void *hash)
{
#define DROP(table)                                                                                \
    "DELETE FROM " table " WHERE report IN (SELECT number FROM report WHERE blob = ?1)",
    static const char *const texts[] = {
        STORE_OF_FILES(DROP) "UPDATE report SET blob = x'' WHERE blob = ?1"};
#undef DROP
    int result = SQLITE_DONE;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && result == SQLITE_DONE; i++) {
        sqlite3_stmt *statement = NULL;
        result = sqlite3_prepare_v2(r->copy, texts[i], -1, &statement, NULL);
        if (result == SQLITE_OK) {
            result = sqlite3_bind_blob(statement, 1, hash, IDS_HASH, SQLITE_STATIC);
        }
        result = result == SQLITE_OK ? sqlite3_step(statement) : result;
        sqlite3_finalize(statement);
    }
    return result;
}

/* A file that is not there and that the original still has is found by copy_check(). */
static int look_at_all(struct removing *r)
{
    sqlite3_stmt *files = NULL;
    int result = sqlite3_prepare_v2(r->copy, "SELECT DISTINCT blob FROM report", -1, &files, NULL);
    int row = result == SQLITE_OK ? SQLITE_ROW : result;
    while (row == SQLITE_ROW && (row = sqlite3_step(files)) == SQLITE_ROW) {
        struct hash hash;
        if (sqlite3_column_bytes(files, 0) != IDS_HASH) {
            continue; /* not kept */
        }
        memcpy(hash.bytes, sqlite3_column_blob(files, 0), IDS_HASH);
        if (!blob_is_there(r->blobs, &hash)) {
            int found = ask(r, hash.bytes);
            row = found == SQLITE_DONE && give_up(r, hash.bytes) == SQLITE_DONE ? row
                  : found == SQLITE_ROW                                         ? row
                                                                                : SQLITE_ERROR;
        }
    }
    sqlite3_finalize(files);
    return row;
}

static int open_both(struct removing *r, const char *from, const char *to)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/collector.db", from);
    int result = sqlite3_open_v2(path, &r->original, SQLITE_OPEN_READWRITE, NULL);
    snprintf(path, sizeof path, "%s/collector.db", to);
    result =
        result == SQLITE_OK ? sqlite3_open_v2(path, &r->copy, SQLITE_OPEN_READWRITE, NULL) : result;
    snprintf(path, sizeof path, "%s/blobs", to);
    r->blobs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (result != SQLITE_OK || r->blobs < 0) {
        return SQLITE_ERROR;
    }
    (void)sqlite3_busy_timeout(r->original, 10000);
    return sqlite3_prepare_v2(r->original, "SELECT 1 FROM report WHERE blob = ?1 LIMIT 1", -1,
                              &r->asks, NULL);
}

enum sonde_status copy_removed(const char *from, const char *to, struct sonde_error *ret_error)
{
    struct removing r = {.blobs = -1};
    int result = open_both(&r, from, to);
    if (result == SQLITE_OK) {
        result = sqlite3_exec(r.copy, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    }
    if (result == SQLITE_OK && look_at_all(&r) == SQLITE_DONE) {
        result = sqlite3_exec(r.copy, "COMMIT", NULL, NULL, NULL);
    } else {
        result = SQLITE_ERROR;
    }
    if (result != SQLITE_OK) {
        ret_error->status = SONDE_CORRUPT;
        snprintf(ret_error->what, sizeof ret_error->what,
                 "the database: which files were removed "
                 "meanwhile is not known");
    }
    sqlite3_finalize(r.asks);
    sqlite3_close(r.original);
    sqlite3_close(r.copy);
    if (r.blobs >= 0) {
        close(r.blobs);
    }
    return result == SQLITE_OK ? SONDE_OK : SONDE_CORRUPT;
}
