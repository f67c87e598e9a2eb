// SPDX-License-Identifier: Apache-2.0
#include "host_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_run.h"
#include "os.h"

#define UNFINISHED ".part"
enum { PATH_BYTES = 4096 };

/* Create a file under a name that no other writer uses, in any pid namespace. */
static int open_beside(const char *path, unsigned permissions, char *ret_beside)
{
    uint64_t random = 0;
    int fd;
    do {
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
            random = sonde__os_now_ns();
        }
        int length = snprintf(ret_beside, PATH_BYTES, "%s.%016llx" UNFINISHED, path,
                              (unsigned long long)random);
        if (length < 0 || length >= PATH_BYTES) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(ret_beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

int sonde__host_file_replace(const char *path, const void *data, size_t size, unsigned permissions)
{
    char beside[PATH_BYTES];
    int reason = 0;
    int fd = open_beside(path, permissions, beside);
    if (fd < 0) {
        return errno;
    }
    (void)flock(fd, LOCK_EX | LOCK_NB); /* new, so unlocked; without locks nothing removes it */
    if (!sonde__host_write_all(fd, data, size) || rename(beside, path) != 0) {
        reason = errno;
    }
    if (close(fd) != 0 && reason == 0) {
        reason = errno;
    }
    if (reason != 0) {
        unlink(beside);
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

void sonde__host_folders_above(const char *path)
{
    char folder[PATH_BYTES];
    if (snprintf(folder, sizeof folder, "%s", path) >= PATH_BYTES) {
        return;
    }
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0700);
        *slash = '/';
    }
}
