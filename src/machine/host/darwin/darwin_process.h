// SPDX-License-Identifier: Apache-2.0
/* What the kernel tells of a process. Context: any thread. */
#ifndef SONDE_DARWIN_PROCESS_H
#define SONDE_DARWIN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysctl.h>

/* False: not known, as of the processes of other apps. */
static inline bool darwin_process_read(int32_t pid, struct kinfo_proc *ret_process)
{
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
    size_t size = sizeof *ret_process;
    memset(ret_process, 0, sizeof *ret_process);
    return sysctl(name, 4, ret_process, &size, NULL, 0) == 0 && size == sizeof *ret_process;
}

#endif
