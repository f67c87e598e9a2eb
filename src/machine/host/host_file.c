// SPDX-License-Identifier: Apache-2.0
#include "host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_status.h"
#include "host_file_port.h"

/* O_NONBLOCK: opening a FIFO must not block; it is refused after the open. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static enum sonde_status fail_errno(struct sonde_error *ret_error, const char *what,
                                    const char *path, int error)
{
    enum sonde_status status = SONDE_OS;
    if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG) {
        status = SONDE_ABSENT;
    } else if (error == EACCES || error == EPERM) {
        status = SONDE_DENIED;
    } else if (error == EIO || error == EISDIR || error == ESRCH) {
        status = SONDE_UNREADABLE;
    } else if (error == ENOMEM) {
        status = SONDE_MEMORY;
    }
    return sonde__base_fail(ret_error, status, what, path, error, 0);
}

static int open_file(const char *root, const char *path, int flags, int *ret_errno)
{
    int fd;
    if (root != NULL && root[0] != '\0' && !(root[0] == '/' && root[1] == '\0')) {
        return sonde__host_open_in_root(root, path, flags, ret_errno);
    }
    fd = open(path, flags);
    *ret_errno = errno;
    return fd;
}

static enum sonde_status map_open_file(int fd, const char *path, uint64_t size_max,
                                       struct sonde__host_file *ret_file,
                                       struct sonde_error *ret_error)
{
    struct sonde__host_file file = {0};
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return fail_errno(ret_error, "cannot stat", path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not a regular file", path, 0, 0);
    }
    if ((uint64_t)status.st_size > size_max || (uint64_t)status.st_size > SIZE_MAX) {
        return sonde__base_fail(ret_error, SONDE_LIMIT, "file is too large", path, 0,
                                (uint64_t)status.st_size);
    }
    file.size = (size_t)status.st_size;
    file.device = (uint64_t)status.st_dev;
    file.inode = (uint64_t)status.st_ino;
    file.modified_ns = sonde__host_modified_ns(&status);
    if (file.size != 0) {
        void *data = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            return fail_errno(ret_error, "cannot map", path, errno);
        }
        file.data = data;
    }
    *ret_file = file;
    return SONDE_OK;
}

enum sonde_status sonde__host_file_map(const char *root, const char *path, uint64_t size_max,
                                       struct sonde__host_file *ret_file,
                                       struct sonde_error *ret_error)
{
    int error = 0;
    int fd = open_file(root, path, OPEN_FLAGS, &error);
    enum sonde_status result;
    if (fd < 0) {
        return fail_errno(ret_error, "cannot open", path, error);
    }
    result = map_open_file(fd, path, size_max, ret_file, ret_error);
    close(fd);
    return result;
}

enum sonde_status sonde__host_file_map_owned(const char *root, const char *path, uint32_t uid,
                                             uint64_t size_max, struct sonde__host_file *ret_file,
                                             struct sonde_error *ret_error)
{
    int error = 0;
    int fd = open_file(root, path, OPEN_FLAGS | O_NOFOLLOW, &error);
    struct stat status;
    enum sonde_status result;
    if (fd < 0) {
        return fail_errno(ret_error, "cannot open", path, error);
    }
    if (fstat(fd, &status) == 0 && status.st_uid != uid && status.st_uid != 0) {
        result = sonde__base_fail(ret_error, SONDE_DENIED, "it belongs to another user", path, 0,
                                  status.st_uid);
    } else {
        result = map_open_file(fd, path, size_max, ret_file, ret_error);
    }
    close(fd);
    return result;
}

void sonde__host_file_unmap(struct sonde__host_file *file)
{
    if (file->data != NULL) {
        munmap((void *)(uintptr_t)file->data, file->size);
    }
    *file = (struct sonde__host_file){0};
}

enum sonde_status sonde__host_file_read(const char *path, char *buffer, size_t capacity,
                                        size_t *ret_size, struct sonde_error *ret_error)
{
    size_t size = 0;
    char beyond;
    ssize_t got = 1;
    int error, fd = open(path, OPEN_FLAGS);
    if (fd < 0) {
        return fail_errno(ret_error, "cannot open", path, errno);
    }
    while (got > 0) {
        got = size + 1 < capacity ? read(fd, buffer + size, capacity - 1 - size)
                                  : read(fd, &beyond, 1);
        if (got < 0 && errno == EINTR) {
            got = 1;
            continue;
        }
        if (got > 0 && size + 1 >= capacity) {
            break; /* more than fits */
        }
        size += got > 0 ? (size_t)got : 0;
    }
    error = errno;
    close(fd);
    buffer[size] = '\0';
    if (got < 0) {
        return fail_errno(ret_error, "cannot read", path, error);
    }
    *ret_size = size;
    return got > 0 ? sonde__base_fail(ret_error, SONDE_LIMIT, "file is too large", path, 0, size)
                   : SONDE_OK;
}

size_t sonde__host_file_read_kept(struct sonde__host_file_kept *kept, const char *path,
                                  char *buffer, size_t capacity)
{
    if (!kept->is_known) {
        *kept = (struct sonde__host_file_kept){.is_known = true, .fd = open(path, OPEN_FLAGS)};
    }
    ssize_t size = kept->fd >= 0 ? pread(kept->fd, buffer, capacity - 1, 0) : -1;
    buffer[size > 0 ? size : 0] = '\0';
    return size > 0 ? (size_t)size : 0;
}

void sonde__host_file_drop(struct sonde__host_file_kept *kept)
{
    if (kept->is_known && kept->fd >= 0) {
        close(kept->fd);
    }
    *kept = (struct sonde__host_file_kept){.is_known = false};
}
