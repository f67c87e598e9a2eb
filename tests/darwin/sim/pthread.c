// SPDX-License-Identifier: Apache-2.0
/* The calling thread, the only one so far. */
#include <pthread.h>
#include <unistd.h>

#include "sim.h"

/* The target of a pthread_t is libSystem's own. */
static struct _opaque_pthread_t main_thread;

pthread_t pthread_self(void)
{
    return &main_thread;
}

int pthread_threadid_np(pthread_t thread, uint64_t *ret_id)
{
    (void)thread;
    *ret_id = host_gettid();
    return 0;
}

void *pthread_get_stackaddr_np(pthread_t thread)
{
    (void)thread;
    return (void *)host_stack_end();
}

size_t pthread_get_stacksize_np(pthread_t thread)
{
    (void)thread;
    return host_stack_size();
}

pid_t getpid(void)
{
    return host_getpid();
}
