// SPDX-License-Identifier: Apache-2.0
#include "host_live.h"

#include <errno.h>
#include <sys/mman.h>

#include "host_folder_port.h"

int sonde__host_live_map(struct sonde__host_live *live, size_t size)
{
    int reason = sonde__host_allocate(live->fd, live->size, size);
    if (reason != 0) {
        return reason;
    }
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, live->fd, 0);
    if (bytes == MAP_FAILED) {
        return errno;
    }
    sonde__host_keep_from_children(bytes, size);
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
