// SPDX-License-Identifier: Apache-2.0
/* Signals to one thread, with a value. */
#include <signal.h>
#include <stddef.h>

#include "linux_syscall.h"
#include "os.h"

enum sonde_status sonde__os_signal_thread(int32_t tid, int32_t signal, uint64_t value)
{
    int32_t pid = sonde__os_pid();
    siginfo_t info = {0};
    long result;
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = pid;
    info.si_uid = (uid_t)linux_call(SYS_getuid, 0, 0, 0, 0);
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    result = linux_call(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info);
    return linux_failed(result) ? linux_status(result, NULL) : SONDE_OK;
}

bool sonde__os_alternate_stack(uint64_t *ret_start, uint64_t *ret_end, bool *ret_active)
{
    stack_t stack = {0};
    if (linux_failed(linux_call(SYS_sigaltstack, 0, &stack, 0, 0)) ||
        (stack.ss_flags & SS_DISABLE) != 0) {
        return false;
    }
    *ret_start = (uint64_t)(uintptr_t)stack.ss_sp;
    *ret_end = *ret_start + stack.ss_size;
    *ret_active = (stack.ss_flags & SS_ONSTACK) != 0;
    return true;
}
