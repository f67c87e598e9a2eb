// SPDX-License-Identifier: Apache-2.0
/* The parts of host_self.h about threads. */
#include <pthread.h>
#include <signal.h>

#include "host_self.h"

void sonde__host_name_thread(const char *name)
{
    (void)pthread_setname_np(name);
}

int sonde__host_start_thread(pthread_t *ret_thread, void *(*run)(void *ctx), void *ctx)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(ret_thread, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
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
