// SPDX-License-Identifier: Apache-2.0
/* Calls that create processes or threads, by their flags. Context: as events.c. */
#include <sched.h>
#include <sys/syscall.h>

#include "os.h"
#include "recorder.h"

static uint64_t flags_of_clone3(uint64_t arguments)
{
    uint64_t flags = 0; /* the first member of struct clone_args; 0 if unreadable */
    (void)sonde__os_read(arguments, &flags, sizeof flags);
    return flags;
}

/* Get the event of a call of syscall(). False: it neither creates a process nor executes a
 * program. */
static bool event_of_syscall(const struct sonde__regs *regs, enum sonde__record_event *ret_event,
                             uint64_t *ret_flags)
{
    *ret_flags = 0;
    *ret_event = SONDE__RECORD_FORK;
    switch (sonde__probe_hook_argument(regs, 0)) {
    case SYS_clone:
        *ret_flags = sonde__probe_hook_argument(regs, 1);
        return true;
    case SYS_clone3:
        *ret_flags = flags_of_clone3(sonde__probe_hook_argument(regs, 1));
        return true;
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork:
        return true;
#endif
    case SYS_execve:
    case SYS_execveat:
        *ret_event = SONDE__RECORD_EXEC;
        return true;
    default:
        return false;
    }
}

bool recorder_is_of_process(enum sonde__record_event *event, const struct sonde__regs *regs)
{
    uint64_t flags = *event == SONDE__RECORD_CLONE ? sonde__probe_hook_argument(regs, 2) : 0;
    if (*event == SONDE__RECORD_SYSCALL && !event_of_syscall(regs, event, &flags)) {
        return false;
    }
    return (flags & CLONE_THREAD) == 0;
}
