// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob.h"

/* The journal is copied first, then the database, then the files of reports. What leaves the
 * journal meanwhile is in the database, and what the database has is a file. What is in both counts
 * once: the database has how far it has read the journal. */

struct copying {
    const char *from, *to;
    struct stat folder; /* `to` */
    struct sonde_error *error;
};

static enum sonde_status fail(struct sonde_error *ret_error, enum sonde_status status, int os_error,
                              const char *format, ...)
{
    va_list list;
    ret_error->status = status;
    ret_error->os_error = os_error;
    va_start(list, format);
    vsnprintf(ret_error->what, sizeof ret_error->what, format, list);
    va_end(list);
    return status;
}

static int copy_content(int from, int to)
{
    char bytes[1 << 16];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        for (ssize_t done = 0, put; done < got; done += put) {
            put = write(to, bytes + done, (size_t)(got - done));
            if (put < 0) {
                return errno;
            }
        }
        if (got < 0 && errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* Copy a file, if it is still there. Returns 0 or an errno. */
static int copy_file(const char *from, const char *to, bool can_link)
{
    if (can_link && link(from, to) == 0) {
        return 0;
    }
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) {
        return errno == ENOENT ? 0 : errno;
    }
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int os_error = out < 0 ? errno : copy_content(in, out);
    close(in);
    if (out >= 0 && close(out) != 0 && os_error == 0) {
        os_error = errno;
    }
    return os_error;
}

/* Copy the files of a folder, and of the folders in it. name: below both. */
static enum sonde_status copy_folder(const struct copying *c, const char *name, bool can_link)
{
    char from[PATH_MAX + 256], to[PATH_MAX + 256], below[512];
    struct stat file;
    enum sonde_status status = SONDE_OK;
    snprintf(from, sizeof from, "%s/%s", c->from, name);
    snprintf(to, sizeof to, "%s/%s", c->to, name);
    DIR *files = opendir(from);
    if (files == NULL) {
        return fail(c->error, SONDE_OS, errno, "%.160s", from);
    }
    if (mkdir(to, 0700) != 0) {
        status = fail(c->error, SONDE_OS, errno, "%.160s", to);
    }
    for (struct dirent *entry; status == SONDE_OK && (entry = readdir(files)) != NULL;) {
        if (entry->d_name[0] == '.' || fstatat(dirfd(files), entry->d_name, &file, 0) != 0) {
            continue;
        }
        if (snprintf(below, sizeof below, "%s/%s", name, entry->d_name) >= (int)sizeof below) {
            continue; /* no name of ours is so long */
        }
        if (file.st_dev == c->folder.st_dev && file.st_ino == c->folder.st_ino) {
            status = fail(c->error, SONDE_USAGE, 0, "%.160s: is in a folder that is copied", c->to);
            continue;
        }
        if (S_ISDIR(file.st_mode)) {
            status = copy_folder(c, below, can_link);
            continue;
        }
        size_t size = strlen(entry->d_name);
        if (size > 5 && strcmp(entry->d_name + size - 5, ".part") == 0) {
            continue; /* of a file that is not whole yet */
        }
        if (snprintf(from, sizeof from, "%s/%s", c->from, below) >= (int)sizeof from ||
            snprintf(to, sizeof to, "%s/%s", c->to, below) >= (int)sizeof to) {
            status = fail(c->error, SONDE_OS, ENAMETOOLONG, "%.160s", below);
            continue;
        }
        int os_error = copy_file(from, to, can_link);
        if (os_error != 0) {
            status = fail(c->error, SONDE_OS, os_error, "%.160s", to);
        }
    }
    closedir(files);
    return status;
}

/* One transaction's view of the database. */
static enum sonde_status copy_database(const struct copying *c)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    enum sonde_status status = SONDE_OK;
    snprintf(path, sizeof path, "%s/collector.db", c->from);
    bool is_open = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                   sqlite3_busy_timeout(db, 10000) == SQLITE_OK &&
                   sqlite3_prepare_v2(db, "VACUUM INTO ?", -1, &statement, NULL) == SQLITE_OK;
    snprintf(path, sizeof path, "%s/collector.db", c->to);
    if (!is_open || sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_DONE) {
        status = fail(c->error, SONDE_CORRUPT, 0, "the database: %s", sqlite3_errmsg(db));
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return status;
}

/* An empty folder; made if it is not there. */
static enum sonde_status begin_folder(const char *path, struct sonde_error *ret_error)
{
    unsigned count = 0;
    if (mkdir(path, 0700) == 0) {
        return SONDE_OK;
    }
    DIR *files = opendir(path);
    if (files == NULL) {
        return fail(ret_error, SONDE_OS, errno, "%.160s", path);
    }
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        count += strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
    }
    closedir(files);
    return count == 0 ? SONDE_OK : fail(ret_error, SONDE_USAGE, 0, "%.160s: is not empty", path);
}

static enum sonde_status sync_all(const struct copying *c)
{
    int fd = open(c->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_synced = fd >= 0 && syncfs(fd) == 0;
    enum sonde_status status =
        is_synced ? SONDE_OK : fail(c->error, SONDE_OS, errno, "%.160s", c->to);
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

enum sonde_status copy_data(const char *from, const char *to, bool can_link,
                            struct sonde_error *ret_error)
{
    char path[PATH_MAX];
    struct stat file;
    struct copying c = {.from = from, .to = to, .error = ret_error};
    snprintf(path, sizeof path, "%s/collector.db", from);
    int os_error = stat(path, &file) == 0 ? 0 : errno;
    snprintf(path, sizeof path, "%s/collector", from);
    if (os_error == ENOENT && access(path, F_OK) == 0) {
        return fail(ret_error, SONDE_ABSENT, 0,
                    "%.160s: its database is PostgreSQL: pg_dump makes a backup of it", from);
    }
    snprintf(path, sizeof path, "%s/collector.db", from);
    if (os_error != 0) {
        return fail(ret_error, SONDE_ABSENT, os_error, "%.160s", path);
    }
    enum sonde_status status = begin_folder(to, ret_error);
    if (status == SONDE_OK && stat(to, &c.folder) != 0) {
        status = fail(ret_error, SONDE_OS, errno, "%.160s", to);
    }
    if (status == SONDE_OK) {
        status = copy_folder(&c, "journal", false);
    }
    if (status == SONDE_OK) {
        status = copy_database(&c);
    }
    if (status == SONDE_OK) {
        status = copy_folder(&c, "blobs", can_link);
    }
    return status == SONDE_OK ? sync_all(&c) : status;
}

/* --- check --- */

static bool is_sound(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    bool is_ok =
        sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    sqlite3_finalize(statement);
    return is_ok;
}

static enum sonde_status check_files(sqlite3 *db, int blobs, struct copy_counts *counts,
                                     struct sonde_error *ret_error)
{
    sqlite3_stmt *statement = NULL;
    enum sonde_status status = SONDE_OK;
    int result = sqlite3_prepare_v2(db, "SELECT blob, count(*) FROM report GROUP BY blob", -1,
                                    &statement, NULL);
    while (status == SONDE_OK && result == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct hash hash;
        char name[IDS_HASH_TEXT];
        void *bytes;
        size_t size;
        counts->reports += (uint64_t)sqlite3_column_int64(statement, 1);
        if (sqlite3_column_bytes(statement, 0) != IDS_HASH) {
            continue; /* not kept */
        }
        memcpy(hash.bytes, sqlite3_column_blob(statement, 0), IDS_HASH);
        int os_error = blob_get(&(struct blobs){.folder = blobs}, &hash, &bytes, &size);
        if (os_error != 0) {
            ids_hash_text(&hash, name);
            status = fail(ret_error, SONDE_CORRUPT, os_error == EBADMSG ? 0 : os_error,
                          "the file %s is %s", name, os_error == EBADMSG ? "damaged" : "missing");
            continue;
        }
        free(bytes);
        counts->files++;
    }
    sqlite3_finalize(statement);
    return status;
}

enum sonde_status copy_check(const char *folder, struct copy_counts *ret_counts,
                             struct sonde_error *ret_error)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    *ret_counts = (struct copy_counts){0};
    snprintf(path, sizeof path, "%s/blobs", folder);
    int blobs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/collector.db", folder);
    if (blobs < 0 || access(path, R_OK) != 0) {
        int os_error = errno;
        if (blobs >= 0) {
            close(blobs);
        }
        return fail(ret_error, SONDE_ABSENT, os_error, "%.160s", path);
    }
    enum sonde_status status = SONDE_OK;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK || !is_sound(db)) {
        status = fail(ret_error, SONDE_CORRUPT, 0, "%.160s: the database is damaged", path);
    } else {
        status = check_files(db, blobs, ret_counts, ret_error);
    }
    sqlite3_close(db);
    close(blobs);
    return status;
}
