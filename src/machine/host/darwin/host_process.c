// SPDX-License-Identifier: Apache-2.0
/* Other processes, as far as a sandbox shows them. */
#include "host_process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/sysctl.h>

/* False: not known, as of the processes of other apps. */
static bool read_process(int32_t pid, struct kinfo_proc *ret_process)
{
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
    size_t size = sizeof *ret_process;
    memset(ret_process, 0, sizeof *ret_process);
    return sysctl(name, 4, ret_process, &size, NULL, 0) == 0 && size == sizeof *ret_process;
}

static uint64_t start_of(const struct kinfo_proc *process)
{
    return (uint64_t)process->kp_proc.p_starttime.tv_sec * 1000000u +
           (uint64_t)process->kp_proc.p_starttime.tv_usec;
}

uint64_t sonde__host_process_start(int32_t pid)
{
    struct kinfo_proc process;
    return read_process(pid, &process) ? start_of(&process) : 0;
}

bool sonde__host_process_lives(int32_t pid, uint64_t start)
{
    struct kinfo_proc process;
    if (kill(pid, 0) != 0 && errno == ESRCH) {
        return false;
    }
    if (!read_process(pid, &process)) {
        return true;
    }
    return process.kp_proc.p_stat != SZOMB && (start == 0 || start == start_of(&process));
}
