// SPDX-License-Identifier: Apache-2.0
#include "host_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? errno : EIO;
        }
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

int sonde__host_file_replace(const char *path, const void *data, size_t size, unsigned permissions)
{
    char beside[PATH_BYTES];
    int length = snprintf(beside, sizeof beside, "%s.%ld.part", path, (long)getpid());
    int fd, reason;
    if (length < 0 || (size_t)length >= sizeof beside) {
        return ENAMETOOLONG;
    }
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (fd < 0) {
        return errno;
    }
    reason = write_all(fd, data, size);
    if (close(fd) != 0 && reason == 0) {
        reason = errno;
    }
    if (reason == 0 && rename(beside, path) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        unlink(beside);
    }
    return reason;
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
