// SPDX-License-Identifier: Apache-2.0
/* The memory of a watched program, from a third process. /proc/PID/map_files needs privileges, and
 * the program has no descriptor of it; its supervisor has one. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_run.h"

static bool is_shared(int folder, const char *name)
{
    char link[128];
    static const char start[] = "/memfd:" SONDE__HOST_SHARED_NAME;
    ssize_t size = readlinkat(folder, name, link, sizeof link);
    return size >= (ssize_t)sizeof start - 1 && memcmp(link, start, sizeof start - 1) == 0;
}

/* Only our shared memory has this inode and can be written through a descriptor; memory files of
 * all kinds share a device. */
static int open_inode(int folder, const char *name, uint64_t inode)
{
    struct stat st;
    if (!is_shared(folder, name)) {
        return -1;
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

static bool is_whole(int fd, size_t size)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (size_t)st.st_size >= size;
}

void *sonde__host_shared_map(int32_t fd, size_t size)
{
    void *memory = is_whole(fd, size) ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                      : MAP_FAILED;
    return memory != MAP_FAILED ? memory : NULL;
}

void sonde__host_shared_clear(int32_t fd, size_t size)
{
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)size);
}

int32_t sonde__host_shared_reach(int32_t supervisor, int32_t fd, bool stays)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)supervisor, (int)fd);
    return is_shared(AT_FDCWD, path) ? open(path, O_RDWR | (stays ? 0 : O_CLOEXEC)) : -1;
}

int32_t sonde__host_shown_pid(void)
{
    char text[16] = "";
    int pid = 0;
    ssize_t size = readlink("/proc/self", text, sizeof text - 1);
    return size > 0 && sscanf(text, "%d", &pid) == 1 ? pid : 0;
}

enum sonde_status sonde__host_shared_open(int32_t supervisor, uint64_t inode, size_t size,
                                          void **ret_memory)
{
    int fd = find_descriptor(supervisor, inode);
    if (fd < 0) {
        return SONDE_ABSENT;
    }
    bool fits = is_whole(fd, size);
    void *memory = sonde__host_shared_map(fd, size);
    close(fd);
    if (memory == NULL) {
        return fits ? SONDE_OS : SONDE_USAGE;
    }
    *ret_memory = memory;
    return SONDE_OK;
}
