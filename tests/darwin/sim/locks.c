// SPDX-License-Identifier: Apache-2.0
/* Locks as pthread.h has them, in their opaque bytes: a word to sleep on, and the owner. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "sim.h"

enum { FREE, TAKEN, AWAITED };
#define FOREVER_NS 1000000000000ull

struct lock { /* in a mutex */
    uint32_t state;
    struct sim_thread *owner;
};

static struct lock *lock_of(pthread_mutex_t *mutex)
{
    return (struct lock *)(void *)mutex->__opaque;
}

int pthread_mutex_init(pthread_mutex_t *restrict mutex,
                       const pthread_mutexattr_t *restrict attributes)
{
    if (attributes != 0) {
        return ENOTSUP;
    }
    *mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    return lock_of(mutex)->state != FREE ? EBUSY : 0;
}

static int own(pthread_mutex_t *mutex)
{
    lock_of(mutex)->owner = sim_thread_of(0);
    return 0;
}

static int owns(pthread_mutex_t *mutex)
{
    return __atomic_load_n(&lock_of(mutex)->owner, __ATOMIC_RELAXED) == sim_thread_of(0);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    uint32_t state = FREE;
    return __atomic_compare_exchange_n(&lock_of(mutex)->state, &state, TAKEN, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED)
               ? own(mutex)
               : EBUSY;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    struct lock *lock = lock_of(mutex);
    if (pthread_mutex_trylock(mutex) == 0) {
        return 0;
    }
    if (owns(mutex)) {
        abort(); /* it would wait for itself */
    }
    while (__atomic_exchange_n(&lock->state, AWAITED, __ATOMIC_ACQUIRE) != FREE) {
        sim_sleep(&lock->state, AWAITED, FOREVER_NS);
    }
    return own(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    struct lock *lock = lock_of(mutex);
    if (!owns(mutex)) {
        return EPERM;
    }
    lock->owner = 0;
    if (__atomic_exchange_n(&lock->state, FREE, __ATOMIC_RELEASE) == AWAITED) {
        host_wake(&lock->state);
    }
    return 0;
}

/* --- conditions: a count of signals --- */

static uint32_t *word_of(pthread_cond_t *condition)
{
    return (uint32_t *)(void *)condition->__opaque;
}

int pthread_cond_init(pthread_cond_t *restrict condition,
                      const pthread_condattr_t *restrict attributes)
{
    if (attributes != 0) {
        return ENOTSUP;
    }
    *condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    __atomic_fetch_add(word_of(condition), 1, __ATOMIC_SEQ_CST);
    host_wake(word_of(condition));
    return 0;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    return pthread_cond_broadcast(condition); /* waking more than one is allowed */
}

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex)
{
    uint32_t seen = __atomic_load_n(word_of(condition), __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(mutex);
    sim_sleep(word_of(condition), seen, FOREVER_NS);
    return pthread_mutex_lock(mutex);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    uint32_t seen = __atomic_load_n(word_of(condition), __ATOMIC_SEQ_CST);
    uint64_t now = clock_gettime_nsec_np(CLOCK_REALTIME);
    uint64_t end = (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec;
    pthread_mutex_unlock(mutex);
    sim_sleep(word_of(condition), seen, end > now ? end - now : 0);
    pthread_mutex_lock(mutex);
    return clock_gettime_nsec_np(CLOCK_REALTIME) < end ? 0 : ETIMEDOUT;
}

/* --- once --- */

int pthread_once(pthread_once_t *once, void (*function)(void))
{
    enum { RUNS = 1, DONE };
    uint32_t *state = (uint32_t *)(void *)once->__opaque, begun = 0;
    if (__atomic_compare_exchange_n(state, &begun, RUNS, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        function();
        __atomic_store_n(state, DONE, __ATOMIC_RELEASE);
        host_wake(state);
    }
    while (__atomic_load_n(state, __ATOMIC_ACQUIRE) == RUNS) {
        sim_sleep(state, RUNS, FOREVER_NS);
    }
    return 0;
}

/* Nobody forks here: fork() is missing. */
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
    return 0;
}
