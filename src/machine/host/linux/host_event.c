// SPDX-License-Identifier: Apache-2.0
/* See host_event.h. perf_event_open(2) takes a bare thread number. */
#include "host_event.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_identity.h"

int sonde__host_event_open(struct perf_event_attr *attr, int32_t pid, uint64_t tid)
{
    struct sonde__host_identity identity;
    int32_t error = 0;
    enum sonde_status status = sonde__host_identity_take(pid, tid, &identity, &error);
    if (status != SONDE_OK) {
        return status == SONDE_ABSENT ? -ESRCH : -error;
    }
    int fd = (int)syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    error = fd < 0 ? errno : 0;
    if (fd >= 0 && !sonde__host_identity_holds(&identity)) {
        close(fd);
        error = ESRCH;
    }
    sonde__host_identity_drop(&identity);
    return error != 0 ? -error : fd;
}
