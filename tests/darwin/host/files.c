// SPDX-License-Identifier: Apache-2.0
/* The primitives of files and folders. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

int32_t host_open(const char *path, int32_t is_not_followed)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_not_followed ? O_NOFOLLOW : 0));
    return fd >= 0 ? fd : -errno;
}

int64_t host_read(int32_t fd, void *bytes, uint64_t size)
{
    ssize_t got = read(fd, bytes, size);
    return got >= 0 ? got : -errno;
}

int32_t host_stat(int32_t fd, struct host_status *ret_status)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    *ret_status = (struct host_status){
        .device = status.st_dev,
        .inode = status.st_ino,
        .mode = status.st_mode,
        .user = status.st_uid,
        .size = (uint64_t)status.st_size,
        .links = status.st_nlink,
        .modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
    };
    return 0;
}

void *host_map_file(int32_t fd, uint64_t size)
{
    void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    host_note_mappings();
    return memory != MAP_FAILED ? memory : NULL;
}

void *host_open_folder(const char *path)
{
    return opendir(path);
}

void *host_open_folder_of(int32_t fd)
{
    return fdopendir(fd);
}

const char *host_next_name(void *folder)
{
    const struct dirent *entry = readdir(folder);
    return entry != NULL ? entry->d_name : NULL;
}

void host_close_folder(void *folder)
{
    closedir(folder);
}
