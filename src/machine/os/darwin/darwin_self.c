// SPDX-License-Identifier: Apache-2.0
/* The calling thread. pthread functions about the calling thread read its own structure and take no
 * lock. Context: handler. */
#include <pthread.h>
#include <unistd.h>

#include "os.h"

int32_t sonde__os_pid(void)
{
    return getpid();
}

uint64_t sonde__os_tid(void)
{
    uint64_t tid = 0;
    (void)pthread_threadid_np(NULL, &tid);
    return tid;
}

uint64_t sonde__os_thread_pointer(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

bool sonde__os_own_stack_end(uint64_t sp, uint64_t *ret_end)
{
    pthread_t self = pthread_self();
    uint64_t end = (uint64_t)(uintptr_t)pthread_get_stackaddr_np(self);
    if (sp >= end || end - sp > pthread_get_stacksize_np(self)) {
        return false; /* a coroutine's or handler's stack */
    }
    *ret_end = end;
    return true;
}

size_t sonde__os_folder(int32_t fd, char *ret_path, size_t capacity)
{
    (void)fd, (void)ret_path, (void)capacity;
    return 0;
}
