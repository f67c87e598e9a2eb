// SPDX-License-Identifier: Apache-2.0
/* See host_tracer.h. */
#include "host_tracer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_process.h"
#include "mem_heap.h"
#include "os.h"

enum {
    STACK_BYTES = 1 << 20, /* walks a stack, which needs some 10 KB */
    GONE_LOOKS = 2000,
    GONE_PAUSE_FIRST_NS = 5000,
    GONE_PAUSE_MAX_NS = 1000000,
};

struct sonde__host_tracer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void *ctx); /* null: no work */
    void *ctx;
    bool over;
    uint64_t tid; /* 0: not started yet */
    pthread_t thread;
};

static void *serve(void *arg)
{
    struct sonde__host_tracer *t = arg;
    pthread_mutex_lock(&t->lock);
    t->tid = sonde__os_tid();
    while (!t->over) {
        if (t->work == NULL) {
            pthread_cond_wait(&t->changed, &t->lock);
            continue;
        }
        pthread_mutex_unlock(&t->lock);
        t->work(t->ctx);
        pthread_mutex_lock(&t->lock);
        t->work = NULL;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* The thread blocks all signals: they are for the program. */
static int create_thread(struct sonde__host_tracer *t)
{
    pthread_attr_t attr;
    sigset_t all, former;
    int error = pthread_attr_init(&attr);
    if (error != 0) {
        return error;
    }
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    error = pthread_create(&t->thread, &attr, serve, t);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

enum sonde_status sonde__host_tracer_start(struct sonde__host_tracer **ret_tracer)
{
    struct sonde__host_tracer *t = sonde__mem_alloc_zeroed(sizeof *t);
    if (t == NULL) {
        return SONDE_MEMORY;
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    if (create_thread(t) != 0) {
        sonde__mem_free(t);
        return SONDE_OS;
    }
    *ret_tracer = t;
    return SONDE_OK;
}

void sonde__host_tracer_run(struct sonde__host_tracer *t, void (*work)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&t->lock);
    t->ctx = ctx;
    t->work = work;
    pthread_cond_broadcast(&t->changed);
    while (t->work != NULL) {
        pthread_cond_wait(&t->changed, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

/* pthread_join() returns before the kernel releases the thread's tracees. They are released by the
 * time its tid is free. (A traced thread keeps its tid until its own tracer was notified; its
 * tracees are released before that.) */
static void await_gone(uint64_t tid)
{
    uint64_t pause_ns = GONE_PAUSE_FIRST_NS;
    for (unsigned i = 0; i < GONE_LOOKS && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++) {
        sonde__host_sleep(pause_ns);
        pause_ns = pause_ns * 2 < GONE_PAUSE_MAX_NS ? pause_ns * 2 : GONE_PAUSE_MAX_NS;
    }
}

void sonde__host_tracer_end(struct sonde__host_tracer *t)
{
    if (t == NULL) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->over = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    if (t->tid != 0) {
        await_gone(t->tid);
    }
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    sonde__mem_free(t);
}
