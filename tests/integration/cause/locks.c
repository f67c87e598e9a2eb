// SPDX-License-Identifier: Apache-2.0
/* Threads that wait for locks of every kind. What each waits for, and who has it, is written to the
 * file argv[2], one line a thread: "TID what". argv[1]: "all", "circle N", "itself", "join",
 * "shared". Built against glibc, dynamic and static, and against musl. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#    define MUTEX       "mutex"
#    define WORD(mutex) ((void *)(mutex))
#    define HELD        "held by thread %d (holder)"
#    define RWHELD      "held for writing by thread %d (holder)"
#else /* musl: the second word of a mutex is waited for, and only the kernel records owners */
#    define MUTEX       "mutex, futex"
#    define WORD(mutex) ((void *)((char *)(mutex) + 4))
#    define HELD        "owner not recorded (musl)"
#endif

static FILE *truth;
static int holder;
static atomic_int ready;

static int own_tid(void)
{
    return (int)syscall(SYS_gettid);
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(truth);
    fprintf(truth, "%d ", own_tid());
    vfprintf(truth, format, arguments);
    fprintf(truth, "\n");
    fflush(truth);
    funlockfile(truth);
    va_end(arguments);
    ready++;
}

static void wait_for(int count)
{
    while (ready < count) {
        usleep(1000);
    }
}

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checked, adaptive, inherits,
                       robust, timed = PTHREAD_MUTEX_INITIALIZER, *shared;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER, rd = PTHREAD_RWLOCK_INITIALIZER,
                        prefers;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t barrier;
static pthread_t joined;

static void *lock_mutex(void *mutex)
{
    tell(MUTEX " %p, " HELD, WORD(mutex), holder);
    pthread_mutex_lock(mutex);
    return NULL;
}

static void *lock_timed(void *mutex)
{
    struct timespec until = {time(NULL) + 1000, 0};
    tell(MUTEX " %p, " HELD, WORD(mutex), holder);
    pthread_mutex_timedlock(mutex, &until);
    return NULL;
}

static void *lock_inherits(void *mutex)
{
    /* the kernel has the owner of these, whichever libc it is */
    tell(MUTEX " %p, held by thread %d (holder)", WORD(mutex), holder);
    pthread_mutex_lock(mutex);
    return NULL;
}

static void *read_written(void *lock)
{
#ifdef __GLIBC__
    tell("read lock %p, " RWHELD, lock, holder);
#else
    tell("read lock, futex 0x");
#endif
    pthread_rwlock_rdlock(lock);
    return NULL;
}

static void *write_written(void *lock)
{
#ifdef __GLIBC__
    tell("write lock %p, " RWHELD, lock, holder);
#else
    tell("write lock, futex 0x");
#endif
    pthread_rwlock_wrlock(lock);
    return NULL;
}

static void *write_read(void *lock)
{
#ifdef __GLIBC__
    tell("write lock %p, held for reading 2 times, by whom is not recorded", lock);
#else
    tell("write lock, futex 0x");
#endif
    pthread_rwlock_wrlock(lock);
    return NULL;
}

static void *wait_condition(void *unused)
{
    tell("condition variable, futex 0x");
    pthread_mutex_lock(&of_condition);
    pthread_cond_wait(&condition, &of_condition);
    return unused;
}

static void *wait_semaphore(void *unused)
{
    tell("semaphore %p", (void *)&semaphore);
    sem_wait(&semaphore);
    return unused;
}

static void *wait_barrier(void *unused)
{
    tell("barrier, futex 0x");
    pthread_barrier_wait(&barrier);
    return unused;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void initialize(void)
{
    tell("semaphore %p", (void *)&semaphore);
    sem_wait(&semaphore);
}
static void *run_once(void *unused)
{
    pthread_once(&once, initialize);
    return unused;
}
static void *wait_once(void *unused)
{
#ifdef __GLIBC__
    tell("another thread's one-time initialization, futex 0x");
#else /* the stack does not reach pthread_once() */
    tell("futex 0x");
#endif
    pthread_once(&once, initialize);
    return unused;
}

static atomic_int joined_tid;
static void *sleeps(void *unused)
{
    prctl(PR_SET_NAME, "joined");
    joined_tid = own_tid();
    sem_wait(&semaphore);
    return unused;
}
static void *join(void *unused)
{
#ifdef __GLIBC__
    tell("the end of thread %d (joined)", joined_tid);
#else
    tell("the end of a thread, futex 0x");
#endif
    pthread_join(joined, NULL);
    return unused;
}

static void *raw_futex(void *unused)
{
    static int word;
    tell("futex %p, owner not recorded", (void *)&word);
    syscall(SYS_futex, &word, 0x80, 0, NULL, NULL, 0);
    return unused;
}

/* A word that looks like a held mutex, and is none. */
static void *raw_false_mutex(void *unused)
{
    static int words[10];
    words[0] = 2;
    words[2] = holder;
    tell("futex %p, owner not recorded", (void *)words);
    syscall(SYS_futex, words, 0x80, 2, NULL, NULL, 0);
    return unused;
}

static void start(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    int before = ready;
    pthread_create(&thread, NULL, body, argument);
    wait_for(before + 1);
}

static void init_mutex(pthread_mutex_t *mutex, int type, int protocol, int is_robust, int is_shared)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, type);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutexattr_setrobust(&a, is_robust);
    pthread_mutexattr_setpshared(&a, is_shared);
    pthread_mutex_init(mutex, &a);
}

static void all_kinds(void)
{
    pthread_mutex_t *const held[] = {&plain, &recursive, &checked, &adaptive, &robust, &timed};
    init_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
    init_mutex(&checked, PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    init_mutex(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0);
#endif
    init_mutex(&inherits, 0, PTHREAD_PRIO_INHERIT, 0, 0);
    init_mutex(&robust, 0, 0, PTHREAD_MUTEX_ROBUST, 0);
    for (unsigned i = 0; i < sizeof held / sizeof held[0]; i++) {
        pthread_mutex_lock(held[i]);
        start(held[i] == &timed ? lock_timed : lock_mutex, held[i]);
    }
    pthread_mutex_lock(&inherits);
    start(lock_inherits, &inherits);
    pthread_rwlock_wrlock(&written);
    start(read_written, &written);
    start(write_written, &written);
    pthread_rwlock_rdlock(&rd);
    pthread_rwlock_rdlock(&rd);
    start(write_read, &rd);
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
    prefers = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_wrlock(&prefers);
    start(read_written, &prefers);
#endif
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    start(wait_condition, NULL);
    start(wait_semaphore, NULL);
    start(wait_barrier, NULL);
    start(run_once, NULL);
    start(wait_once, NULL);
    start(raw_futex, NULL);
    start(raw_false_mutex, NULL);
    pthread_create(&joined, NULL, sleeps, NULL);
    while (joined_tid == 0) {
        usleep(1000);
    }
    start(join, NULL);
}

/* --- circles --- */

enum { CIRCLE_MAX = 8 };
static pthread_mutex_t ring[CIRCLE_MAX];
static atomic_int ring_tids[CIRCLE_MAX], have;
static int ring_size;

static void *stand_in_ring(void *number)
{
    int i = (int)(long)number, next = (i + 1) % ring_size;
    char name[16];
    snprintf(name, sizeof name, "ring-%d", i);
    prctl(PR_SET_NAME, name);
    pthread_mutex_lock(&ring[i]);
    ring_tids[i] = own_tid();
    have++;
    while (have < ring_size) {
        usleep(1000);
    }
    tell("mutex %p, held by thread %d (ring-%d)", (void *)&ring[next], ring_tids[next], next);
    pthread_mutex_lock(&ring[next]);
    return NULL;
}

static void circle(int size)
{
    ring_size = size;
    for (int i = 0; i < size; i++) {
        pthread_t thread;
        pthread_mutex_init(&ring[i], NULL);
        pthread_create(&thread, NULL, stand_in_ring, (void *)(long)i);
    }
    wait_for(size);
}

static void *lock_plain(void *unused)
{
    joined_tid = own_tid();
    prctl(PR_SET_NAME, "joined");
    tell("mutex %p, held by thread %d (holder)", (void *)&plain, holder);
    pthread_mutex_lock(&plain);
    return unused;
}

int main(int argc, char **argv)
{
    truth = argc > 2 ? fopen(argv[2], "w") : NULL;
    if (truth == NULL) {
        return 2;
    }
    prctl(PR_SET_NAME, "holder");
    holder = own_tid();
    if (strcmp(argv[1], "all") == 0) {
        all_kinds();
    } else if (strncmp(argv[1], "circle", 6) == 0) {
        circle(atoi(argv[1] + 6));
    } else if (strcmp(argv[1], "shared") == 0) { /* held by a process, wanted by its child */
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        init_mutex(shared, 0, 0, 0, PTHREAD_PROCESS_SHARED);
        pthread_mutex_lock(shared);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, 9);
            tell("mutex %p, held by thread %d (holder) of process %d (", (void *)shared, holder,
                 getppid());
            pthread_mutex_lock(shared);
        }
    } else if (strcmp(argv[1], "join") == 0) { /* the main thread joins one that waits for it */
        pthread_mutex_lock(&plain);
        pthread_create(&joined, NULL, lock_plain, NULL);
        wait_for(1);
        tell("the end of thread %d (joined)", joined_tid);
        printf("ready\n");
        fflush(stdout);
        pthread_join(joined, NULL);
    } else if (strcmp(argv[1], "itself") == 0) {
        pthread_mutex_lock(&plain);
        tell("mutex %p, held by this thread itself", (void *)&plain);
    }
    printf("ready\n");
    fflush(stdout);
    if (strcmp(argv[1], "itself") == 0) {
        pthread_mutex_lock(&plain);
    }
    for (;;) {
        pause();
    }
}
