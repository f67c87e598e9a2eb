// SPDX-License-Identifier: Apache-2.0
#include "host_folder_port.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_limit.h"
#include "host_zeros.h"

int sonde__host_claim(int32_t fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
}

void sonde__host_unclaim(int32_t fd)
{
    (void)flock(fd, LOCK_UN);
}

void sonde__host_prepare_file(int32_t fd)
{
    (void)fd;
}

void sonde__host_prepare_folder(int32_t fd)
{
    (void)fd;
}

int sonde__host_sync_file(int32_t fd)
{
    return fdatasync(fd) != 0 ? errno : 0;
}

/* Let the file system allocate if it can; else write. */
static int allocate(int fd, size_t from, size_t size)
{
    int rc;
    do {
        rc = fallocate(fd, 0, (off_t)from, (off_t)(size - from));
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno == EOPNOTSUPP ? sonde__host_write_zeros(fd, from, size) : errno;
}

int sonde__host_allocate(int32_t fd, size_t from, size_t size)
{
    struct sonde__host_limit limit;
    sonde__host_limit_begin(&limit);
    int reason = allocate(fd, from, size);
    sonde__host_limit_end(&limit);
    return reason;
}

void sonde__host_keep_from_children(void *bytes, size_t size)
{
    (void)madvise(bytes, size, MADV_DONTFORK);
}
