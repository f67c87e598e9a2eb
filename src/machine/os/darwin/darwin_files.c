// SPDX-License-Identifier: Apache-2.0
/* Files. No function here changes errno. Context: handler. */
#include <errno.h>
#include <unistd.h>

#include "os.h"

enum sonde_status sonde__os_pread(int32_t fd, void *ret_bytes, size_t size, uint64_t offset,
                                  size_t *ret_size, int32_t *ret_os_error)
{
    int before = errno;
    ssize_t got = pread(fd, ret_bytes, size, (off_t)offset);
    int error = errno;
    errno = before;
    if (got >= 0) {
        *ret_size = (size_t)got;
        return SONDE_OK;
    }
    if (ret_os_error != NULL) {
        *ret_os_error = error;
    }
    return error == EACCES ? SONDE_DENIED : SONDE_OS;
}
