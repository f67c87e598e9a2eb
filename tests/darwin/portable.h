// SPDX-License-Identifier: Apache-2.0
/* What the sources of portable tests use and macOS does not have: included before each of them. */
#ifndef SONDE_DARWIN_PORTABLE_H
#define SONDE_DARWIN_PORTABLE_H

#include <pthread.h>

extern char **environ;

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t all;
    unsigned wanted, here, rounds;
} pthread_barrier_t;

static inline int pthread_barrier_init(pthread_barrier_t *barrier, const void *attributes,
                                       unsigned count)
{
    (void)attributes;
    *barrier =
        (pthread_barrier_t){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, count, 0, 0};
    return 0;
}

static inline int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    pthread_mutex_lock(&barrier->mutex);
    unsigned round = barrier->rounds;
    if (++barrier->here == barrier->wanted) {
        barrier->here = 0;
        barrier->rounds++;
        pthread_cond_broadcast(&barrier->all);
    }
    while (round == barrier->rounds) {
        pthread_cond_wait(&barrier->all, &barrier->mutex);
    }
    pthread_mutex_unlock(&barrier->mutex);
    return 0;
}

static inline int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    return pthread_mutex_destroy(&barrier->mutex);
}

#endif
