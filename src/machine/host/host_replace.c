// SPDX-License-Identifier: Apache-2.0
#include "host_replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_device.h"
#include "host_run.h"
#include "os.h"

#define UNFINISHED ".part"
enum { PATH_BYTES = 4096, RANDOM_DIGITS = 16 };

/* Create a file under a name that no other writer uses, in any pid namespace. */
static int open_beside(const char *path, unsigned permissions, char *ret_beside)
{
    char random[SONDE__HOST_ID_TEXT];
    int fd;
    do {
        sonde__host_random_id(random);
        if (random[0] == '\0') {
            snprintf(random, sizeof random, "%016llx", (unsigned long long)sonde__os_now_ns());
        }
        int length = snprintf(ret_beside, PATH_BYTES, "%s.%.*s" UNFINISHED, path,
                              (int)RANDOM_DIGITS, random);
        if (length < 0 || length >= PATH_BYTES) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(ret_beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

/* The same, locked. Until then it looks like a leftover: if another process removes it, take
 * another name. Where the file system has no locks nothing is removed. */
static int open_locked(const char *path, unsigned permissions, char *ret_beside)
{
    for (;;) {
        struct stat st;
        int fd = open_beside(path, permissions, ret_beside);
        if (fd < 0) {
            return fd;
        }
        bool is_ours = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (is_ours && (fstat(fd, &st) != 0 || st.st_nlink != 0)) {
            return fd;
        }
        close(fd);
    }
}

/* Is it a name that open_beside() gives for the file? */
static bool is_beside(const char *name, const char *file)
{
    size_t length = strlen(file);
    return strncmp(name, file, length) == 0 && name[length] == '.' &&
           strspn(name + length + 1, "0123456789abcdef") == RANDOM_DIGITS &&
           strcmp(name + length + 1 + RANDOM_DIGITS, UNFINISHED) == 0;
}

/* Remove what writers of this file left that were killed. */
static void remove_leftovers(const char *path)
{
    char folder_path[PATH_BYTES];
    const char *file = strrchr(path, '/');
    file = file != NULL ? file + 1 : path;
    snprintf(folder_path, sizeof folder_path, "%.*s.", (int)(file - path), path);
    DIR *folder = opendir(folder_path);
    const struct dirent *item;
    while (folder != NULL && (item = readdir(folder)) != NULL) {
        if (is_beside(item->d_name, file)) {
            (void)sonde__host_remove_unfinished(dirfd(folder), item->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

int sonde__host_file_replace(const char *path, const void *data, size_t size, unsigned permissions)
{
    char beside[PATH_BYTES];
    int reason = 0;
    int fd = open_locked(path, permissions, beside);
    if (fd < 0) {
        return errno;
    }
    if (!sonde__host_write_all(fd, data, size) || rename(beside, path) != 0) {
        reason = errno;
    }
    if (close(fd) != 0 && reason == 0) {
        reason = errno;
    }
    if (reason != 0) {
        unlink(beside);
    } else {
        remove_leftovers(path);
    }
    return reason;
}

bool sonde__host_may_be_unfinished(const char *name)
{
    size_t length = strlen(name), end = sizeof UNFINISHED - 1;
    return length > end && strcmp(name + length - end, UNFINISHED) == 0;
}

bool sonde__host_remove_unfinished(int folder_fd, const char *name)
{
    struct stat st;
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool removed = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                   flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(folder_fd, name, 0) == 0;
    close(fd);
    return removed;
}
