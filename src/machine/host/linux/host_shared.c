// SPDX-License-Identifier: Apache-2.0
/* The memory of a watched program, from a third process. /proc/PID/map_files needs privileges, and
 * the program has no descriptor of it; its supervisor has one. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_run.h"

/* Only our shared memory has this inode and can be written through a descriptor; memory files of
 * all kinds share a device. */
static int open_inode(int folder, const char *name, uint64_t inode)
{
    struct stat st;
    char link[128];
    ssize_t size = readlinkat(folder, name, link, sizeof link - 1);
    static const char start[] = "/memfd:" SONDE__HOST_SHARED_NAME;
    if (size < (ssize_t)sizeof start - 1) {
        return -1;
    }
    link[size] = '\0';
    for (size_t i = 0; i < sizeof start - 1; i++) {
        if (link[i] != start[i]) {
            return -1;
        }
    }
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || (uint64_t)st.st_ino != inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int find_descriptor(int32_t pid, uint64_t inode)
{
    char path[64];
    int fd = -1;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && fd < 0 && (entry = readdir(folder)) != NULL) {
        fd = open_inode(dirfd(folder), entry->d_name, inode);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return fd;
}

enum sonde_status sonde__host_shared_open(int32_t supervisor, uint64_t inode, size_t size,
                                          void **ret_memory)
{
    struct stat st;
    int fd = find_descriptor(supervisor, inode);
    if (fd < 0) {
        return SONDE_ABSENT;
    }
    bool is_whole = fstat(fd, &st) == 0 && (size_t)st.st_size >= size;
    void *memory =
        is_whole ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (memory == MAP_FAILED) {
        return is_whole ? SONDE_OS : SONDE_USAGE;
    }
    *ret_memory = memory;
    return SONDE_OK;
}
