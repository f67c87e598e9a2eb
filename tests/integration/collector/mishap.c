// SPDX-License-Identifier: Apache-2.0
/* Preloaded into a program: what may go wrong with its machine, as files of the folder $MISHAP say.
 *
 * full: the disk is full: no file grows. clock: seconds by which somebody has set
 * the clock of the wall since. Both may come and go while the program runs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool has(const char *name, char *ret_text, size_t size)
{
    char path[PATH_MAX];
    const char *folder = getenv("MISHAP");
    if (folder == NULL) {
        return false;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    if (ret_text != NULL && fgets(ret_text, (int)size, file) == NULL) {
        ret_text[0] = '\0';
    }
    fclose(file);
    return true;
}

/* --- a full disk --- */

static bool is_full(int fd, off_t end)
{
    struct stat file;
    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && end > file.st_size &&
           has("full", NULL, 0);
}

static off_t end_of(int fd, size_t size)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    struct stat file;
    return at >= 0 && fstat(fd, &file) == 0 ? at + (off_t)size : 0;
}

static int no_room(void)
{
    errno = ENOSPC;
    return -1;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
    return is_full(fd, end_of(fd, size)) ? no_room() : syscall(SYS_write, fd, bytes, size);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return is_full(fd, at + (off_t)size) ? no_room() : syscall(SYS_pwrite64, fd, bytes, size, at);
}
EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at)
{
    return pwrite(fd, bytes, size, at);
}

static size_t size_of(const struct iovec *parts, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += parts[i].iov_len;
    }
    return size;
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return is_full(fd, at + (off_t)size_of(parts, count))
               ? no_room()
               : syscall(SYS_pwritev, fd, parts, count, at, 0);
}
EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t at)
{
    return pwritev(fd, parts, count, at);
}

EXPORT int ftruncate(int fd, off_t size)
{
    return is_full(fd, size) ? no_room() : (int)syscall(SYS_ftruncate, fd, size);
}
EXPORT int ftruncate64(int fd, off_t size)
{
    return ftruncate(fd, size);
}

EXPORT int fallocate(int fd, int mode, off_t at, off_t size)
{
    return is_full(fd, at + size) ? no_room() : (int)syscall(SYS_fallocate, fd, mode, at, size);
}
EXPORT int fallocate64(int fd, int mode, off_t at, off_t size)
{
    return fallocate(fd, mode, at, size);
}
EXPORT int posix_fallocate(int fd, off_t at, off_t size)
{
    return fallocate(fd, 0, at, size) == 0 ? 0 : errno;
}
EXPORT int posix_fallocate64(int fd, off_t at, off_t size)
{
    return posix_fallocate(fd, at, size);
}

/* --- the clock --- */

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret)
{
    char text[32];
    int result = (int)syscall(SYS_clock_gettime, clock, ret);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) &&
        has("clock", text, sizeof text)) {
        ret->tv_sec += atol(text);
    }
    return result;
}
