// SPDX-License-Identifier: Apache-2.0
/* Wrappers of waits on semaphores, for time, and for children and threads. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "preload_wrap.h"

#define TIMED (PRELOAD_LEARN | PRELOAD_TIMED)

/* --- semaphores. A free one is taken without a wait; if another thread takes it first, that wait
 * is not noted. The loop's own wait is always noted. --- */

static bool is_free(sem_t *sem)
{
    int value = 0;
    return sem_getvalue(sem, &value) == 0 && value > 0;
}

PRELOAD_WRAP(int, sem_wait, (sem_t * sem), (sem), SONDE__PROBE_SEM, (uintptr_t)sem, false,
             is_free(sem) ? PRELOAD_INSTANT : PRELOAD_LEARN)

PRELOAD_WRAP(int, sem_timedwait, (sem_t * sem, const struct timespec *limit), (sem, limit),
             SONDE__PROBE_SEM, (uintptr_t)sem, false, is_free(sem) ? PRELOAD_INSTANT : TIMED)

PRELOAD_WRAP(int, sem_clockwait, (sem_t * sem, clockid_t clock, const struct timespec *limit),
             (sem, clock, limit), SONDE__PROBE_SEM, (uintptr_t)sem, false,
             is_free(sem) ? PRELOAD_INSTANT : TIMED)

/* --- time --- */

static bool is_zero(const struct timespec *t)
{
    return t != NULL && t->tv_sec == 0 && t->tv_nsec == 0;
}

PRELOAD_WRAP(int, nanosleep, (const struct timespec *pause, struct timespec *rest), (pause, rest),
             SONDE__PROBE_SLEEP, caller_, is_zero(pause), TIMED)

PRELOAD_WRAP(int, clock_nanosleep,
             (clockid_t clock, int flags, const struct timespec *pause, struct timespec *rest),
             (clock, flags, pause, rest), SONDE__PROBE_SLEEP, caller_, is_zero(pause), TIMED)

PRELOAD_WRAP(int, usleep, (useconds_t us), (us), SONDE__PROBE_SLEEP, caller_, us == 0, TIMED)

PRELOAD_WRAP(unsigned, sleep, (unsigned seconds), (seconds), SONDE__PROBE_SLEEP, caller_,
             seconds == 0, TIMED)

PRELOAD_WRAP(int, thrd_sleep, (const struct timespec *pause, struct timespec *rest), (pause, rest),
             SONDE__PROBE_SLEEP, caller_, is_zero(pause), TIMED)

/* --- waits for children and threads to end: never a loop, but they show where the thread is --- */

PRELOAD_WRAP(pid_t, wait, (int *status), (status), SONDE__PROBE_CHILD, caller_, false, 0)

PRELOAD_WRAP(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options),
             SONDE__PROBE_CHILD, caller_, (options & WNOHANG) != 0, 0)

PRELOAD_WRAP(pid_t, wait3, (int *status, int options, struct rusage *usage),
             (status, options, usage), SONDE__PROBE_CHILD, caller_, (options & WNOHANG) != 0, 0)

PRELOAD_WRAP(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage),
             (pid, status, options, usage), SONDE__PROBE_CHILD, caller_, (options & WNOHANG) != 0,
             0)

PRELOAD_WRAP(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
             (type, id, info, options), SONDE__PROBE_CHILD, caller_, (options & WNOHANG) != 0, 0)

PRELOAD_WRAP(int, pthread_join, (pthread_t thread, void **value), (thread, value),
             SONDE__PROBE_CHILD, caller_, false, 0)
