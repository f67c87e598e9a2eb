// SPDX-License-Identifier: Apache-2.0
/* See host_identity.h. The file `comm` is the cheapest one to read, and any user may. */
#include "host_identity.h"

#include "os.h"

enum sonde_status sonde__host_identity_take(int32_t pid, uint64_t tid,
                                            struct sonde__host_identity *ret, int32_t *ret_os_error)
{
    return sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_COMM, &ret->fd, ret_os_error);
}

bool sonde__host_identity_holds(const struct sonde__host_identity *identity)
{
    char byte;
    size_t size = 0;
    return identity->fd >= 0 && sonde__os_pread(identity->fd, &byte, 1, 0, &size, NULL) == SONDE_OK;
}

void sonde__host_identity_drop(struct sonde__host_identity *identity)
{
    if (identity->fd >= 0) {
        sonde__os_close(identity->fd);
    }
    identity->fd = -1;
}
