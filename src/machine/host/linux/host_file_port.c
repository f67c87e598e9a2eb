// SPDX-License-Identifier: Apache-2.0
#include "host_file_port.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* openat2(2), Linux 5.6; its number is the same on all architectures. glibc 2.36 has no wrapper,
 * and older kernel headers lack the struct. */
#define OPENAT2_NUMBER       437
#define RESOLVE_IN_ROOT_FLAG 0x10u
struct open_how_v1 {
    uint64_t flags, mode, resolve;
};

int sonde__host_open_in_root(const char *root, const char *path, int flags, int *ret_errno)
{
    struct open_how_v1 how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT_FLAG};
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    long fd;
    if (folder < 0) {
        *ret_errno = errno;
        return -1;
    }
    fd = syscall(OPENAT2_NUMBER, folder, path, &how, sizeof how);
    if (fd < 0 && errno == ENOSYS) {
        /* Before Linux 5.6, absolute links resolve outside the root; the caller checks the
         * build-id. */
        while (*path == '/') {
            path++;
        }
        fd = openat(folder, path, flags);
    }
    *ret_errno = errno;
    close(folder);
    return (int)fd;
}

int64_t sonde__host_modified_ns(const struct stat *status)
{
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}
