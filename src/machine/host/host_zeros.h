// SPDX-License-Identifier: Apache-2.0
/* For ports: allocate a file's bytes by writing zeros. Returns 0 or an errno. Context: any thread.
 */
#ifndef SONDE_HOST_ZEROS_H
#define SONDE_HOST_ZEROS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

static inline int sonde__host_write_zeros(int32_t fd, size_t from, size_t size)
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

#endif
