// SPDX-License-Identifier: Apache-2.0
/* Folders: a DIR has the host's handle and one entry behind it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

struct folder {
    DIR dir;
    void *handle;
    struct dirent entry;
};

DIR *fdopendir(int fd)
{
    void *handle = host_open_folder_of(fd);
    struct folder *folder = handle != 0 ? calloc(1, sizeof *folder) : 0;
    if (folder == 0) {
        sim_fail(ENOTDIR);
        return 0;
    }
    folder->handle = handle;
    folder->dir.__dd_fd = fd;
    return &folder->dir;
}

DIR *opendir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : 0;
    if (fd >= 0 && dir == 0) {
        close(fd);
    }
    return dir;
}

struct dirent *readdir(DIR *dir)
{
    struct folder *folder = (struct folder *)(void *)dir;
    const char *name = host_next_name(folder->handle);
    if (name == 0 || strlen(name) >= sizeof folder->entry.d_name) {
        return 0;
    }
    strcpy(folder->entry.d_name, name);
    folder->entry.d_namlen = (uint16_t)strlen(name);
    return &folder->entry;
}

void rewinddir(DIR *dir)
{
    host_rewind_folder(((struct folder *)(void *)dir)->handle);
}

int closedir(DIR *dir)
{
    struct folder *folder = (struct folder *)(void *)dir;
    host_close_folder(folder->handle);
    free(folder);
    return 0;
}

int alphasort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int scandir(const char *path, struct dirent ***ret_list, int (*is_wanted)(const struct dirent *),
            int (*compare)(const struct dirent **a, const struct dirent **b))
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    struct dirent **list = 0;
    size_t count = 0;
    if (dir == 0) {
        return -1;
    }
    while ((entry = readdir(dir)) != 0) {
        if (is_wanted == 0 || is_wanted(entry)) {
            list = realloc(list, (count + 1) * sizeof *list);
            list[count] = malloc(sizeof **list);
            *list[count++] = *entry;
        }
    }
    closedir(dir);
    if (compare != 0) {
        qsort(list, count, sizeof *list, (int (*)(const void *, const void *))compare);
    }
    *ret_list = list;
    return (int)count;
}
