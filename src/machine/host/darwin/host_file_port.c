// SPDX-License-Identifier: Apache-2.0
/* Darwin has no containers whose files another process reads under a root. */
#include "host_file_port.h"

#include <errno.h>

int sonde__host_open_in_root(const char *root, const char *path, int flags, int *ret_errno)
{
    (void)root;
    (void)path;
    (void)flags;
    *ret_errno = ENOTSUP;
    return -1;
}

int64_t sonde__host_modified_ns(const struct stat *status)
{
    return (int64_t)status->st_mtimespec.tv_sec * 1000000000 + status->st_mtimespec.tv_nsec;
}
