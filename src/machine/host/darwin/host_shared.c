// SPDX-License-Identifier: Apache-2.0
/* Memory that a launcher would share: an app audits itself, and nobody else has it. */
#include <errno.h>
#include <sys/mman.h>

#include "base_status.h"
#include "host_run.h"

enum sonde_status sonde__host_shared_create(size_t size, int32_t *ret_fd, void **ret_memory,
                                            struct sonde_error *ret_error)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (memory == MAP_FAILED) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for the recording", NULL, errno,
                                0);
    }
    *ret_fd = -1;
    *ret_memory = memory;
    return SONDE_OK;
}
