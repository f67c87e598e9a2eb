// SPDX-License-Identifier: Apache-2.0
/* Working memory is anonymous: what needs much of it here are files of Linux, on a Mac. */
#include "host_scratch.h"

#include <sys/mman.h>

#include "base_status.h"

enum sonde_status sonde__host_scratch_open(size_t size, struct sonde__host_scratch *ret_scratch,
                                           struct sonde_error *ret_error)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (data == MAP_FAILED) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for so much", NULL, 0, size);
    }
    *ret_scratch = (struct sonde__host_scratch){data, size};
    return SONDE_OK;
}

void sonde__host_scratch_close(struct sonde__host_scratch *scratch)
{
    if (scratch->data != NULL) {
        (void)munmap(scratch->data, scratch->size);
    }
    *scratch = (struct sonde__host_scratch){0};
}
