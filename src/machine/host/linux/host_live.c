// SPDX-License-Identifier: Apache-2.0
#include "host_live.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_limit.h"

static int write_zeros(int fd, size_t from, size_t size)
{
    static const char zeros[4096];
    while (from < size) {
        size_t part = size - from < sizeof zeros ? size - from : sizeof zeros;
        ssize_t n = pwrite(fd, zeros, part, (off_t)from);
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        from += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Let the file system allocate if it can; else write. */
static int allocate(int fd, size_t from, size_t size)
{
    int rc;
    do {
        rc = fallocate(fd, 0, (off_t)from, (off_t)(size - from));
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno == EOPNOTSUPP ? write_zeros(fd, from, size) : errno;
}

int sonde__host_live_map(struct sonde__host_live *live, size_t size)
{
    struct sonde__host_limit limit;
    sonde__host_limit_begin(&limit);
    int reason = allocate(live->fd, live->size, size);
    sonde__host_limit_end(&limit);
    if (reason != 0) {
        return reason;
    }
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, live->fd, 0);
    if (bytes == MAP_FAILED) {
        return errno;
    }
    (void)madvise(bytes, size, MADV_DONTFORK);
    sonde__host_live_unmap(live);
    live->bytes = bytes;
    live->size = size;
    return 0;
}

void sonde__host_live_unmap(struct sonde__host_live *live)
{
    if (live->bytes != NULL) {
        munmap(live->bytes, live->size);
        live->bytes = NULL;
    }
}
