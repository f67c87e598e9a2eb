// SPDX-License-Identifier: Apache-2.0
/* The parts of host_self.h about threads. */
#include <pthread.h>

#include "host_self.h"

void sonde__host_name_thread(const char *name)
{
    (void)pthread_setname_np(name);
}

enum sonde_status sonde__host_thread_number(pthread_t thread, uint64_t *ret_tid)
{
    uint64_t tid = 0;
    if (pthread_threadid_np(thread, &tid) != 0) {
        return SONDE_ABSENT;
    }
    *ret_tid = tid;
    return SONDE_OK;
}
