// SPDX-License-Identifier: Apache-2.0
/* Opens files for reading; writes only to descriptors that are already open. */
#include <fcntl.h>
#include <stddef.h>

#include "base_text.h"
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

size_t sonde__os_folder(int32_t fd, char *ret_path, size_t capacity)
{
    char name[40];
    struct sonde__text text;
    long size;
    if (fd == AT_FDCWD) {
        size = linux_call(SYS_getcwd, ret_path, capacity, 0, 0) - 1; /* it counts the NUL */
    } else {
        sonde__base_text_init(&text, name, sizeof name);
        sonde__base_text_str(&text, "/proc/self/fd/");
        sonde__base_text_dec(&text, (uint64_t)(fd < 0 ? INT32_MAX : fd));
        size = linux_call(SYS_readlinkat, AT_FDCWD, name, ret_path, capacity);
    }
    if (size <= 0 || (size_t)size >= capacity || ret_path[0] != '/') {
        return 0; /* also "(unreachable)/x", and what is no file: "socket:[1]" */
    }
    ret_path[size] = '\0';
    return (size_t)size;
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
