// SPDX-License-Identifier: Apache-2.0
/* Which thread an NSThread is. Foundation has no public function for that: it tells the main and
 * the calling thread, and gives a name to any. */
#include <pthread.h>

#include "api_thread.h"
#include "base_text.h"
#include "host_nsthread.h"
#include "os.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by mutex. An NSThread lives as long as its thread, and a number of a thread is never used
 * again: so an entry whose thread is there is true. */
static struct {
    const void *thread;
    uint64_t tid; /* 0: free */
} registered[SONDE_NSTHREADS_MAX];
static uint64_t renamed;

static bool is_there(uint64_t tid)
{
    struct sonde__os_stop thread;
    enum sonde_status status = sonde__api_thread_refer(tid, &thread);
    if (status == SONDE_OK) {
        sonde__api_thread_release(&thread);
    }
    return status != SONDE_ABSENT;
}

static bool register_locked(const void *thread, uint64_t tid)
{
    int place = -1;
    for (int i = 0; i < SONDE_NSTHREADS_MAX; i++) {
        if (registered[i].tid == tid) {
            place = i;
            break;
        }
        if (place < 0 && (registered[i].tid == 0 || !is_there(registered[i].tid))) {
            place = i;
        }
    }
    if (place >= 0) {
        registered[place].thread = thread;
        registered[place].tid = tid;
    }
    return place >= 0;
}

enum sonde_status sonde_thread_register_nsthread(void)
{
    const void *thread = sonde__host_nsthread_current();
    if (thread == NULL) {
        return SONDE_UNSUPPORTED;
    }
    pthread_mutex_lock(&mutex);
    bool is_registered = register_locked(thread, sonde__os_tid());
    pthread_mutex_unlock(&mutex);
    return is_registered ? SONDE_OK : SONDE_LIMIT;
}

static bool find_registered_locked(const void *thread, uint64_t *ret_tid)
{
    for (int i = 0; i < SONDE_NSTHREADS_MAX; i++) {
        if (registered[i].tid != 0 && registered[i].thread == thread &&
            is_there(registered[i].tid)) {
            *ret_tid = registered[i].tid;
            return true;
        }
    }
    return false;
}

/* A name that nothing else has, for as long as it takes to list the threads. */
static enum sonde_status find_by_name_locked(const void *thread, uint64_t *ret_tid)
{
    struct sonde__host_nsthread now;
    struct sonde__text out;
    char name[32];
    sonde__base_text_init(&out, name, sizeof name);
    sonde__base_text_str(&out, "sonde-nsthread-");
    sonde__base_text_hex(&out, ++renamed, 0);
    void *before = sonde__host_nsthread_rename(thread, name);
    enum sonde_status status = sonde_thread_find_name(name, ret_tid);
    sonde__host_nsthread_restore(thread, name, before);
    if (status == SONDE_ABSENT && sonde__host_nsthread_ask(thread, &now) == SONDE_OK &&
        now.is_running) {
        return SONDE_UNSUPPORTED;
    }
    return status;
}

enum sonde_status sonde_thread_find_nsthread(const void *thread, uint64_t *ret_tid)
{
    struct sonde__host_nsthread told;
    if (thread == NULL || ret_tid == NULL) {
        return SONDE_USAGE;
    }
    enum sonde_status status = sonde__host_nsthread_ask(thread, &told);
    if (status != SONDE_OK) {
        return status;
    }
    if (told.is_current || told.is_main) {
        *ret_tid = told.is_current ? sonde__os_tid() : sonde__os_main_tid();
        return SONDE_OK;
    }
    if (!told.is_running) {
        return SONDE_ABSENT;
    }
    pthread_mutex_lock(&mutex);
    if (!find_registered_locked(thread, ret_tid)) {
        status = find_by_name_locked(thread, ret_tid);
    }
    pthread_mutex_unlock(&mutex);
    return status;
}
