// SPDX-License-Identifier: Apache-2.0
/* For builds of the package (Package.swift), which keeps no indexes of symbol files: the app's
 * binary has its own symbols. So there is no folder of the user for them, and no file is written or
 * found unfinished. An app has no terminal. */
#include <errno.h>

#include "host_replace.h"
#include "host_self.h"

const char *sonde__host_own_folder(const char *name, const char **below)
{
    (void)name;
    (void)below;
    return NULL;
}

int sonde__host_file_replace(const char *path, const void *data, size_t size, unsigned permissions)
{
    (void)path;
    (void)data;
    (void)size;
    (void)permissions;
    return ENOTSUP;
}

bool sonde__host_may_be_unfinished(const char *name)
{
    (void)name;
    return false;
}

bool sonde__host_remove_unfinished(int folder_fd, const char *name)
{
    (void)folder_fd;
    (void)name;
    return false;
}

uint32_t sonde__host_terminal_columns(int32_t fd)
{
    (void)fd;
    return 0;
}
