// SPDX-License-Identifier: Apache-2.0
/* Memory that a launcher would share: an app audits itself, and nobody else has it. */
#include <errno.h>
#include <sys/mman.h>

#include "base_status.h"
#include "host_process.h"
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

/* --- what only processes that share it need --- */

enum sonde_status sonde__host_shared_open(int32_t supervisor, uint64_t inode, size_t size,
                                          void **ret_memory)
{
    (void)supervisor, (void)inode, (void)size, (void)ret_memory;
    return SONDE_ABSENT;
}

int32_t sonde__host_shared_reserve(size_t size)
{
    (void)size;
    return -1;
}

int32_t sonde__host_shared_reach(int32_t supervisor, int32_t fd, bool stays)
{
    (void)supervisor, (void)fd, (void)stays;
    return -1;
}

void *sonde__host_shared_map(int32_t fd, size_t size)
{
    (void)fd, (void)size;
    return NULL;
}

void sonde__host_shared_clear(int32_t fd, size_t size)
{
    (void)fd, (void)size;
}

bool sonde__host_thread_ended(int32_t pid, uint64_t tid)
{
    (void)pid, (void)tid;
    return false;
}

enum sonde_status sonde__host_tids_read(int32_t pid, uint64_t **ret_tids, size_t *ret_count,
                                        struct sonde_error *ret_error)
{
    (void)pid, (void)ret_tids, (void)ret_count, (void)ret_error;
    return SONDE_UNSUPPORTED;
}

enum sonde_status sonde__host_landmark_create(const char *name, const void *bytes, size_t size,
                                              void **ret_memory)
{
    (void)name, (void)bytes, (void)size, (void)ret_memory;
    return SONDE_UNSUPPORTED;
}
