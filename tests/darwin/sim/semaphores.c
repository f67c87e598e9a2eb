// SPDX-License-Identifier: Apache-2.0
/* Semaphores of Mach: counts that threads sleep on. */
#include <mach/mach_init.h>
#include <mach/mach_traps.h>
#include <mach/semaphore.h>
#include <mach/task.h>
#include <mach/thread_switch.h>

#include "sim.h"

enum { SEMAPHORES_MAX = 64, FIRST_PORT = 0x80003 };
#define FOREVER_NS 1000000000000ull

static uint32_t count, values[SEMAPHORES_MAX];

/* Null: no such semaphore. */
static uint32_t *value_of(semaphore_t semaphore)
{
    uint32_t index = semaphore - FIRST_PORT;
    return index < count ? &values[index] : 0;
}

kern_return_t semaphore_create(task_t task, semaphore_t *ret_semaphore, int policy, int value)
{
    SIM_CALL();
    if (task != mach_task_self() || policy != SYNC_POLICY_FIFO || value < 0 ||
        count == SEMAPHORES_MAX) {
        return KERN_INVALID_ARGUMENT;
    }
    uint32_t index = __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
    values[index] = (uint32_t)value;
    *ret_semaphore = FIRST_PORT + index;
    return KERN_SUCCESS;
}

kern_return_t semaphore_signal(semaphore_t semaphore)
{
    uint32_t *value = value_of(semaphore);
    SIM_CALL();
    if (value == 0) {
        return KERN_INVALID_ARGUMENT;
    }
    __atomic_fetch_add(value, 1, __ATOMIC_SEQ_CST);
    host_wake(value);
    return KERN_SUCCESS;
}

static int take(uint32_t *value)
{
    uint32_t seen = __atomic_load_n(value, __ATOMIC_SEQ_CST);
    while (seen != 0) {
        if (__atomic_compare_exchange_n(value, &seen, seen - 1, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
            return 1;
        }
    }
    return 0;
}

kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t time)
{
    uint32_t *value = value_of(semaphore);
    uint64_t end = host_now_ns() + (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    SIM_CALL();
    if (value == 0) {
        return KERN_INVALID_ARGUMENT;
    }
    while (!take(value)) {
        uint64_t now = host_now_ns();
        if (now >= end) {
            return KERN_OPERATION_TIMED_OUT;
        }
        sim_sleep(value, 0, end - now);
    }
    return KERN_SUCCESS;
}

kern_return_t semaphore_wait(semaphore_t semaphore)
{
    return semaphore_timedwait(semaphore, (mach_timespec_t){FOREVER_NS / 1000000000u, 0});
}

/* Only to wait, for some milliseconds. */
kern_return_t thread_switch(mach_port_name_t thread, int option, mach_msg_timeout_t time)
{
    uint32_t never = 0;
    if (thread != MACH_PORT_NULL || option != SWITCH_OPTION_WAIT) {
        return KERN_INVALID_ARGUMENT;
    }
    sim_sleep(&never, 0, time * 1000000ull);
    return KERN_SUCCESS;
}
