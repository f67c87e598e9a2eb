// SPDX-License-Identifier: Apache-2.0
/* Captures in handlers while image snapshots are replaced, and in a fork child. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/image.h>
#include <sonde/stack.h>

#include "target_self.h"
#include "test.h"

enum { DEPTH = 64, TRIES = 64 };

/* The loader keeps some memory of its first dlopen, which would look like a leak of each test. */
static __attribute__((constructor)) void warm_loader(void)
{
    void *pc;
    backtrace(&pc, 1);
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen("libm.so.6", RTLD_NOW);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

static struct counts {
    uint32_t captures, whole;
} counts;

static void on_signal(int signal)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    (void)signal;
    for (int tries = 0; tries < TRIES; tries++) {
        sonde_stack_init(&stack, pcs, how, DEPTH, 0);
        if (sonde_stack_capture(&stack, 0) != SONDE_OK) {
            return;
        }
        if (stack.end != SONDE_END_COSTLY) {
            break; /* else the next one goes on from what this one proved */
        }
    }
    counts.captures++;
    counts.whole += stack.end == SONDE_END_ROOT;
}

#if defined(SONDE_EMULATED)
enum { LOADS = 30, PAUSE_US = 5000 };
#else
enum { LOADS = 300, PAUSE_US = 200 };
#endif

/* A busy machine may give the other thread no processor for long: wait for a capture, but not for
 * more signals than this. */
enum { SIGNALS_MAX = 20000 };

static int stop, sent;

static void *pester(void *arg)
{
    pthread_t thread = *(pthread_t *)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_kill(thread, SIGUSR1);
        __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
        usleep(PAUSE_US);
    }
    return NULL;
}

static bool has_capture(void)
{
    return __atomic_load_n(&counts.captures, __ATOMIC_RELAXED) > 0 ||
           __atomic_load_n(&sent, __ATOMIC_RELAXED) >= SIGNALS_MAX;
}

TEST(while_libraries_come_and_go)
{
    pthread_t thread, self = pthread_self();
    int rounds = test_long() ? 10 * LOADS : LOADS;
    signal(SIGUSR1, on_signal);
    CHECK_OK(pthread_create(&thread, NULL, pester, &self));
    for (int i = 0; i < rounds || !has_capture(); i++) {
        void *handle = dlopen("libm.so.6", RTLD_NOW);
        CHECK(handle != NULL);
        CHECK_OK(sonde_stack_prepare());
        dlclose(handle);
        CHECK_OK(sonde_stack_prepare());
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CHECK_OK(sonde_stack_prepare());
    CHECK_EQ(sonde__target_self_retired(), 0);
    CHECK(counts.captures > 0);
    CHECK_EQ(counts.whole, counts.captures); /* also in _init and _fini, which have no CFI */
}

static int nothing(void *ctx, const struct sonde_image *image)
{
    (void)ctx;
    (void)image;
    return 0;
}

/* A sanitizer has memory that fork() takes long to copy, and is refused on a busy machine. */
#if defined(SONDE_SANITIZED)
enum { FORKS = 5 };
#else
enum { FORKS = 100 };
#endif

/* glibc's dlopen and dlclose hold the loader's lock, and its fork does not wait for them. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static void *fork_often(void *arg)
{
    int forked = 0;
    for (int i = 0; i < 1000 && forked < FORKS; i++) {
        int status;
        pid_t child;
        pthread_mutex_lock(&loading);
        child = fork();
        pthread_mutex_unlock(&loading);
        if (child < 0 && (errno == EAGAIN || errno == ENOMEM)) {
            usleep(10000); /* a busy machine: this round is none */
            continue;
        }
        CHECK(child >= 0);
        forked++;
        if (child == 0) {
            alarm(20);
            _exit(sonde_stack_prepare() == SONDE_OK && sonde_images_each(nothing, NULL) == SONDE_OK
                      ? 0
                      : 1);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    CHECK_EQ(forked, FORKS);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    return arg;
}

/* The child's locks are free, whatever the parent's other threads did. */
TEST(fork_while_another_thread_builds)
{
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, fork_often, NULL));
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        void *handle;
        pthread_mutex_lock(&loading);
        handle = dlopen("libm.so.6", RTLD_NOW);
        pthread_mutex_unlock(&loading);
        CHECK_OK(sonde_stack_prepare());
        pthread_mutex_lock(&loading);
        dlclose(handle);
        pthread_mutex_unlock(&loading);
        CHECK_OK(sonde_images_each(nothing, NULL));
    }
    pthread_join(thread, NULL);
}
