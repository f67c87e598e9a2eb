// SPDX-License-Identifier: Apache-2.0
/* Other processes, as far as a sandbox shows them. */
#include "host_process.h"

#include <errno.h>
#include <signal.h>

#include "base_status.h"
#include "darwin_process.h"
#include "host_maps.h"
#include "host_run.h"

static uint64_t start_of(const struct kinfo_proc *process)
{
    return (uint64_t)process->kp_proc.p_starttime.tv_sec * 1000000u +
           (uint64_t)process->kp_proc.p_starttime.tv_usec;
}

uint64_t sonde__host_process_start(int32_t pid)
{
    struct kinfo_proc process;
    return darwin_process_read(pid, &process) ? start_of(&process) : 0;
}

bool sonde__host_process_lives(int32_t pid, uint64_t start)
{
    struct kinfo_proc process;
    if (kill(pid, 0) != 0 && errno == ESRCH) {
        return false;
    }
    if (!darwin_process_read(pid, &process)) {
        return true;
    }
    return process.kp_proc.p_stat != SZOMB && (start == 0 || start == start_of(&process));
}

/* --- what Linux tells of a process by /proc; here it has one number, and its files are not told
 * --- */

int32_t sonde__host_live_number(int32_t pid)
{
    return pid;
}

int32_t sonde__host_inner_pid(int32_t pid)
{
    return pid;
}

uint64_t sonde__host_inner_tid(int32_t pid, uint64_t tid)
{
    (void)pid;
    return tid;
}

bool sonde__host_fd_path(int32_t pid, int32_t fd, char *ret_path, size_t capacity)
{
    (void)pid, (void)fd, (void)ret_path, (void)capacity;
    return false;
}

enum sonde_status sonde__host_maps_read(int32_t pid, struct sonde__host_maps *ret_maps,
                                        struct sonde_error *ret_error)
{
    (void)ret_maps;
    return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "maps of another process", NULL, 0,
                            (uint64_t)pid);
}
