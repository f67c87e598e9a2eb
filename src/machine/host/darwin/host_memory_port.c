// SPDX-License-Identifier: Apache-2.0
/* What a search of this process' memory asks of the system. It is copied in pieces: the kernel
 * refuses what is unmapped, and a second process cannot share memory with this one. Reading pages
 * that were never touched does allocate them: no public call lists the others. */
#include "host_apart.h"
#include "host_present.h"
#include "host_process.h"

enum sonde_status sonde__host_apart(void (*function)(void *ctx), void *ctx, uint64_t *ret_fault)
{
    (void)function;
    (void)ctx;
    *ret_fault = 0;
    return SONDE_UNSUPPORTED;
}

int32_t sonde__host_present_open(int32_t pid)
{
    (void)pid;
    return -1;
}

size_t sonde__host_present(int32_t fd, uint64_t start, uint64_t end,
                           struct sonde__host_range *ret_ranges, size_t capacity,
                           uint64_t *ret_next, uint64_t *ret_unasked)
{
    (void)fd;
    (void)capacity;
    (void)ret_unasked;
    ret_ranges[0] = (struct sonde__host_range){start, end};
    *ret_next = end;
    return 1;
}

int32_t sonde__host_memory_open(int32_t pid)
{
    (void)pid;
    return -1;
}
