// SPDX-License-Identifier: Apache-2.0
#include "target_self.h"

#include <pthread.h>
#include <time.h>

#include "capture_images.h"
#include "capture_memo.h"
#include "os.h"
#include "target_self_images.h"

/* No fork may happen while one of our threads holds the loader's lock: glibc does not release it
 * in the child, where the next read of the images would hang. So a fork waits until no thread is
 * inside a refresh. A refresh waits neither for other refreshes nor for a waiting fork: a
 * refresh in a callback of the loader must finish before the others can. */
enum { FORK_PATIENCE_S = 2 /* then the fork goes ahead, which is better than to hang */ };
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_idle = PTHREAD_COND_INITIALIZER;
static uint32_t gate_inside; /* guarded by gate_mutex */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* guarded by mutex */
static struct self_snapshot *current;
static struct self_snapshot *retired;
static uint64_t generation;

static void before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FORK_PATIENCE_S;
    pthread_mutex_lock(&gate_mutex);
    while (gate_inside > 0 && pthread_cond_timedwait(&gate_idle, &gate_mutex, &until) == 0) {
    }
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&gate_mutex);
}

static void after_fork_child(void)
{
    gate_inside = 0;
    pthread_cond_init(&gate_idle, NULL);
    pthread_mutex_init(&mutex, NULL);
    sonde__capture_forget_pins();
    sonde__capture_memo_forget();
    pthread_mutex_unlock(&gate_mutex);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Free retired snapshots that nobody can hold any more. */
static void reclaim_locked(void)
{
    struct self_snapshot **link = &retired;
    uint64_t idle = retired != NULL ? sonde__capture_stripes_idle() : 0;
    while (*link != NULL) {
        struct self_snapshot *snapshot = *link;
        snapshot->stripes_left &= ~idle;
        if (snapshot->stripes_left == 0) {
            *link = snapshot->next;
            self_snapshot_free(snapshot);
        } else {
            link = &snapshot->next;
        }
    }
}

static enum sonde_status replace_locked(const struct self_counters *counters, bool rules)
{
    /* compiled tables stay; a library loaded later gets its table with the next refresh */
    bool compile = rules || (current != NULL && current->compiled);
    struct self_snapshot *fresh = self_snapshot_build(current, counters, compile);
    if (fresh == NULL) {
        return SONDE_MEMORY;
    }
    fresh->set.generation = ++generation;
    sonde__capture_publish(&fresh->set);
    if (current != NULL) {
        current->stripes_left = UINT64_MAX;
        current->next = retired;
        retired = current;
    }
    current = fresh;
    return SONDE_OK;
}

struct refresh {
    bool rules;
    enum sonde_status status;
};

/* Our mutex is only taken inside the loader's lock, so all callers have the same order. */
static void refresh_in_loader(void *ctx, const struct self_counters *counted)
{
    struct refresh *refresh = ctx;
    const struct self_counters none = {0}, *counters = counted != NULL ? counted : &none;
    pthread_mutex_lock(&mutex);
    reclaim_locked();
    if (counted == NULL || current == NULL || current->counters.adds != counters->adds ||
        current->counters.subs != counters->subs || (refresh->rules && !current->compiled)) {
        refresh->status = replace_locked(counters, refresh->rules);
        reclaim_locked();
    }
    pthread_mutex_unlock(&mutex);
}

void sonde__target_self_enter(void)
{
    pthread_once(&fork_once, watch_forks);
    pthread_mutex_lock(&gate_mutex);
    gate_inside++;
    pthread_mutex_unlock(&gate_mutex);
}

void sonde__target_self_leave(void)
{
    pthread_mutex_lock(&gate_mutex);
    if (--gate_inside == 0) {
        pthread_cond_broadcast(&gate_idle);
    }
    pthread_mutex_unlock(&gate_mutex);
}

enum sonde_status sonde__target_self_refresh(bool rules)
{
    struct refresh refresh = {.rules = rules, .status = SONDE_OK};
    sonde__target_self_enter();
    self_loader_hold(refresh_in_loader, &refresh);
    sonde__target_self_leave();
    return refresh.status;
}

struct hold {
    void (*function)(void *ctx);
    void *ctx;
};

static void hold_in_loader(void *ctx, const struct self_counters *counters)
{
    struct hold *hold = ctx;
    (void)counters;
    hold->function(hold->ctx);
}

void sonde__target_self_hold_images(void (*function)(void *ctx), void *ctx)
{
    struct hold hold = {function, ctx};
    sonde__target_self_enter();
    self_loader_hold(hold_in_loader, &hold);
    sonde__target_self_leave();
}

uint32_t sonde__target_self_retired(void)
{
    uint32_t count = 0;
    pthread_mutex_lock(&mutex);
    for (const struct self_snapshot *s = retired; s != NULL; s = s->next) {
        count++;
    }
    pthread_mutex_unlock(&mutex);
    return count;
}
