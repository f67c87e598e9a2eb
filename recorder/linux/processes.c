// SPDX-License-Identifier: Apache-2.0
/* Calls that create processes or threads, or limit system calls, by their arguments. Context: as
 * events.c. */
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "os.h"
#include "os_confined.h"
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

void recorder_see_limits(enum sonde__record_event event, const struct sonde__regs *regs)
{
    bool is_by_number = event == SONDE__RECORD_SYSCALL;
    uint64_t number = is_by_number ? sonde__probe_hook_argument(regs, 0) : SYS_prctl;
    unsigned first = is_by_number ? 1 : 0;
    uint64_t mode = sonde__probe_hook_argument(regs, first + 1);
    uint64_t filter = sonde__probe_hook_argument(regs, first + 2);
    bool is_strict = false, is_filter = false;
    if (number == SYS_prctl && sonde__probe_hook_argument(regs, first) == PR_SET_SECCOMP) {
        is_strict = mode == SECCOMP_MODE_STRICT;
        is_filter = mode == SECCOMP_MODE_FILTER;
    } else if (number == SYS_seccomp) {
        mode = sonde__probe_hook_argument(regs, first);
        is_strict = mode == SECCOMP_SET_MODE_STRICT;
        is_filter = mode == SECCOMP_SET_MODE_FILTER;
    }
    if (is_strict) { /* of this thread, which may not even read a clock: nothing of it is counted */
        recorder_busy++;
    } else if (!is_filter || filter == 0) { /* without a filter, a program asks for support */
        return;
    } else {
        sonde__os_confine();
    }
    atomic_store_explicit(&recorder_page->is_confined, 1, memory_order_relaxed);
    atomic_store_explicit(&preload_page()->confined, 1, memory_order_release);
}

bool recorder_is_confined(void)
{
    return sonde__os_is_confined();
}
