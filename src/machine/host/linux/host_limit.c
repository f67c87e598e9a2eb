// SPDX-License-Identifier: Apache-2.0
#include "host_limit.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static sigset_t only_this(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void sonde__host_limit_begin(struct sonde__host_limit *ret_limit)
{
    sigset_t set = only_this(), pending;
    pthread_sigmask(SIG_BLOCK, &set, &ret_limit->former);
    sigemptyset(&pending);
    sigpending(&pending);
    ret_limit->is_pending = sigismember(&pending, SIGXFSZ) == 1;
}

void sonde__host_limit_end(const struct sonde__host_limit *limit)
{
    const struct timespec at_once = {0, 0};
    sigset_t set = only_this();
    int error = errno;
    if (!limit->is_pending) {
        (void)sigtimedwait(&set, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &limit->former, NULL);
    errno = error;
}
