// SPDX-License-Identifier: Apache-2.0
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "db.h"

enum { LINE = 80 };

static bool has(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

enum store_status identity_of_own(const char *folder)
{
    return has(folder, "collector")
               ? db_fail("the data folder belongs to a collector with --database")
               : STORE_OK;
}

static enum store_status fail_os(const char *path)
{
    return db_fail("%.160s: %s", path, strerror(errno));
}

/* Write it whole, and have it on the disk. */
static enum store_status write_it(const char *folder, const char *path, const char *line)
{
    char part[PATH_MAX + 8];
    snprintf(part, sizeof part, "%s.part", path);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool is_ok = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line) &&
                 fsync(fd) == 0 && rename(part, path) == 0;
    enum store_status status = is_ok ? STORE_OK : fail_os(part);
    if (fd >= 0) {
        close(fd);
    }
    fd = is_ok ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (is_ok && (fd < 0 || fsync(fd) != 0)) {
        status = fail_os(folder);
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static enum store_status make(const char *folder, const char *path, int64_t database,
                              int64_t *ret_number)
{
    char line[LINE];
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        return db_fail("the system gives no random numbers");
    }
    *ret_number = (int64_t)(random >> 1 | 1);
    snprintf(line, sizeof line, "%lld %lld\n", (long long)*ret_number, (long long)database);
    return write_it(folder, path, line);
}

enum store_status identity_of_shared(const char *folder, int64_t database, int64_t *ret_number)
{
    char path[PATH_MAX], line[LINE] = "", same[LINE];
    if (has(folder, "collector.db")) {
        return db_fail("the data folder has a database of its own (collector.db): use another");
    }
    snprintf(path, sizeof path, "%s/collector", folder);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return errno == ENOENT ? make(folder, path, database, ret_number) : fail_os(path);
    }
    long long number = 0, its = 0;
    bool is_read =
        fgets(line, sizeof line, file) != NULL && sscanf(line, "%lld %lld", &number, &its) == 2;
    fclose(file);
    snprintf(same, sizeof same, "%lld %lld\n", number, its);
    if (!is_read || number <= 0 || strcmp(line, same) != 0) {
        return db_fail("%.160s: is damaged", path);
    }
    *ret_number = number;
    return its == database ? STORE_OK : db_fail("the data folder belongs to another database");
}
