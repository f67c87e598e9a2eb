// SPDX-License-Identifier: Apache-2.0
/* What this port does not have: files about threads, and other processes. */
#include "os.h"

enum sonde_status sonde__os_thread_open(int32_t pid, uint64_t tid, enum sonde__os_thread_file file,
                                        int32_t *ret_fd, int32_t *ret_os_error)
{
    (void)pid, (void)tid, (void)file, (void)ret_fd, (void)ret_os_error;
    return SONDE_UNSUPPORTED;
}

enum sonde_status sonde__os_read_schedstat(int32_t fd, struct sonde__os_schedstat *ret,
                                           int32_t *ret_os_error)
{
    (void)fd, (void)ret, (void)ret_os_error;
    return SONDE_UNSUPPORTED;
}

bool sonde__os_schedstat_is_same(const struct sonde__os_schedstat *a,
                                 const struct sonde__os_schedstat *b)
{
    return a->cpu_ns == b->cpu_ns && a->runqueue_ns == b->runqueue_ns && a->slices == b->slices;
}

size_t sonde__os_read_process(int32_t pid, uint64_t address, void *ret_bytes, size_t size,
                              int32_t *ret_os_error)
{
    (void)ret_os_error;
    return pid == sonde__os_pid() ? sonde__os_read(address, ret_bytes, size) : 0;
}

void sonde__os_read_process_parts(int32_t pid, struct sonde__os_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        parts[i].got =
            sonde__os_read_process(pid, parts[i].address, parts[i].bytes, parts[i].size, NULL);
    }
}
