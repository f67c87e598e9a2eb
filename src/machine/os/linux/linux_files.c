// SPDX-License-Identifier: Apache-2.0
/* Opens files for reading; writes only to descriptors that are already open. */
#include <fcntl.h>
#include <stddef.h>

#include "linux_syscall.h"
#include "os.h"

enum sonde_status sonde__os_open(const char *path, int32_t *ret_fd, int32_t *ret_os_error)
{
    long fd;
    do {
        fd = linux_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    } while (fd == -EINTR);
    if (linux_failed(fd)) {
        return linux_status(fd, ret_os_error);
    }
    *ret_fd = (int32_t)fd;
    return SONDE_OK;
}

enum sonde_status sonde__os_pread(int32_t fd, void *ret_bytes, size_t size, uint64_t offset,
                                  size_t *ret_size, int32_t *ret_os_error)
{
    long n;
    do {
        n = linux_call(SYS_pread64, fd, ret_bytes, size, offset);
    } while (n == -EINTR);
    if (linux_failed(n)) {
        return linux_status(n, ret_os_error);
    }
    *ret_size = (size_t)n;
    return SONDE_OK;
}

/* Not repeated on EINTR: Linux has closed the descriptor. */
void sonde__os_close(int32_t fd)
{
    linux_call(SYS_close, fd, 0, 0, 0);
}

void sonde__os_write(int32_t fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        long n = linux_call(SYS_write, fd, at, size, 0);
        if (n == -EINTR) {
            continue;
        }
        if (linux_failed(n) || n == 0) {
            return;
        }
        at += n;
        size -= (size_t)n;
    }
}
