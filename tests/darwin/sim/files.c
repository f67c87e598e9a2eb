// SPDX-License-Identifier: Apache-2.0
/* Files, for reading, and folders. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim.h"

/* Set errno for an error of the host. Most small numbers are the same. */
static int fail(int64_t host_error)
{
    enum { HOST_ENAMETOOLONG = 36, HOST_ELOOP = 40 };
    errno = host_error == HOST_ENAMETOOLONG ? ENAMETOOLONG
            : host_error == HOST_ELOOP      ? ELOOP
                                            : (int)host_error;
    return -1;
}

int open(const char *path, int flags, ...)
{
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0) {
        return fail(EROFS);
    }
    int32_t fd = host_open(path, (flags & O_NOFOLLOW) != 0);
    return fd >= 0 ? fd : fail(-fd);
}

ssize_t read(int fd, void *bytes, size_t size)
{
    int64_t got = host_read(fd, bytes, size);
    return got >= 0 ? (ssize_t)got : fail(-got);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    int64_t written = host_write(fd, bytes, size);
    return written >= 0 ? (ssize_t)written : fail(EBADF);
}

int close(int fd)
{
    return host_close(fd) == 0 ? 0 : fail(EBADF);
}

/* The bits of a mode are the same. */
int fstat(int fd, struct stat *ret_status)
{
    struct sim_status status;
    if (host_stat(fd, &status) != 0) {
        return fail(EBADF);
    }
    *ret_status = (struct stat){
        .st_dev = (dev_t)status.device,
        .st_ino = status.inode,
        .st_mode = (mode_t)status.mode,
        .st_uid = (uid_t)status.user,
        .st_size = (off_t)status.size,
        .st_mtimespec = {.tv_sec = (time_t)(status.modified_ns / 1000000000),
                         .tv_nsec = (long)(status.modified_ns % 1000000000)},
    };
    return 0;
}

/* A whole file for reading, or memory. Memory that is shared with children is none here: they get
 * a copy. */
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    int is_file = (flags & MAP_ANON) == 0;
    if (at != 0 || offset != 0 || (is_file && protection != PROT_READ) ||
        (is_file && (flags & MAP_PRIVATE) == 0)) {
        fail(ENOTSUP);
        return MAP_FAILED;
    }
    void *memory = is_file ? host_map_file(fd, size) : host_map(size);
    return memory != 0 ? memory : (fail(ENOMEM), MAP_FAILED);
}

int munmap(void *memory, size_t size)
{
    return host_unmap(memory, size) == 0 ? 0 : fail(EINVAL);
}

/* --- folders: a DIR is one entry and the host's handle --- */

struct folder {
    void *handle;
    struct dirent entry;
};

DIR *opendir(const char *path)
{
    void *handle = host_open_folder(path);
    struct folder *folder = handle != 0 ? calloc(1, sizeof *folder) : 0;
    if (folder == 0) {
        fail(ENOENT);
        return 0;
    }
    folder->handle = handle;
    return (DIR *)(void *)folder;
}

struct dirent *readdir(DIR *of)
{
    struct folder *folder = (struct folder *)(void *)of;
    const char *name = host_next_name(folder->handle);
    if (name == 0 || strlen(name) >= sizeof folder->entry.d_name) {
        return 0;
    }
    strcpy(folder->entry.d_name, name);
    folder->entry.d_namlen = (uint16_t)strlen(name);
    return &folder->entry;
}

int closedir(DIR *of)
{
    struct folder *folder = (struct folder *)(void *)of;
    host_close_folder(folder->handle);
    free(folder);
    return 0;
}
