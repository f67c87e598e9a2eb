// SPDX-License-Identifier: Apache-2.0
/* Semaphores of libdispatch, and a global queue that runs nothing. */
#include <dispatch/dispatch.h>
#include <stdlib.h>

#include "sim.h"

struct dispatch_semaphore_s {
    uint32_t value;
};

dispatch_queue_global_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags)
{
    static dispatch_queue_t queue;
    (void)identifier;
    (void)flags;
    if (queue == 0) {
        queue = dispatch_queue_create("com.apple.root.utility-qos", 0);
    }
    return (dispatch_queue_global_t)queue;
}

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value)
{
    struct dispatch_semaphore_s *semaphore = calloc(1, sizeof *semaphore);
    semaphore->value = (uint32_t)value;
    return semaphore;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore)
{
    __atomic_fetch_add(&semaphore->value, 1, __ATOMIC_SEQ_CST);
    host_wake(&semaphore->value);
    return 0;
}

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta_ns)
{
    return when == DISPATCH_TIME_NOW ? host_now_ns() + (uint64_t)delta_ns : DISPATCH_TIME_FOREVER;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until)
{
    for (;;) {
        uint32_t value = __atomic_load_n(&semaphore->value, __ATOMIC_SEQ_CST);
        uint64_t now = host_now_ns();
        if (value != 0 && __atomic_compare_exchange_n(&semaphore->value, &value, value - 1, 0,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            return 0;
        }
        if (value == 0 && now >= until) {
            return 1;
        }
        if (value == 0) {
            sim_sleep(&semaphore->value, 0, until - now);
        }
    }
}
