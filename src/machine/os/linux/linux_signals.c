// SPDX-License-Identifier: Apache-2.0
/* Signals to one thread, with a value. */
#include <linux/membarrier.h>
#include <signal.h>
#include <stddef.h>

#include "linux_syscall.h"
#include "os.h"

struct sonde__os_sender sonde__os_sender(void)
{
    return (struct sonde__os_sender){sonde__os_pid(), (uint32_t)linux_call(SYS_getuid, 0, 0, 0, 0)};
}

enum sonde_status sonde__os_signal_thread(struct sonde__os_sender sender, uint64_t tid,
                                          int32_t signal, uint64_t value)
{
    siginfo_t info = {0};
    long result;
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = sender.pid;
    info.si_uid = sender.uid;
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    result = linux_call(SYS_rt_tgsigqueueinfo, sender.pid, tid, signal, &info);
    return linux_failed(result) ? linux_status(result, NULL) : SONDE_OK;
}

/* The kernel's struct sigaction begins with the function (Linux, include/linux/signal_types.h; 8
 * bytes of mask on both architectures). */
bool sonde__os_signal_handler(int32_t signal, uint64_t *ret_function)
{
    uint64_t action[4] = {0};
    if (linux_failed(linux_call(SYS_rt_sigaction, signal, 0, action, sizeof(uint64_t)))) {
        return false;
    }
    *ret_function = action[0];
    return true;
}

bool sonde__os_signal_is_pending(int32_t signal)
{
    uint64_t pending = 0;
    return linux_call(SYS_rt_sigpending, &pending, sizeof pending, 0, 0) == 0 &&
           (pending >> (signal - 1) & 1) != 0;
}

/* Linux, kernel/sched/membarrier.c interrupts every CPU that runs a thread of this process, and
 * waits. The return from an interrupt delivers signals. */
bool sonde__os_interrupt_prepare(void)
{
    return linux_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0) == 0;
}

bool sonde__os_interrupt_running(void)
{
    return linux_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0) == 0;
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
