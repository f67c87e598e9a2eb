// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "blob.h"
#include "collector.h"
#include "say.h"

#define DAY_NS    ((uint64_t)86400 * 1000000000u)
#define SECOND_NS ((uint64_t)1000000000u)
/* A clock that is ahead by more was set: none drifts so far before it is noticed. */
#define AHEAD_NS (3600 * SECOND_NS)

/* Between two steps of a round others write. */
enum { STEP_PAUSE_MS = 20 };

struct keeper {
    struct store *store;
    struct blobs blobs;
    struct keeper_options options;
    struct clock_age age;
    bool is_ahead_told;
    pthread_t thread;
    pthread_mutex_t mutex; /* of is_ending */
    pthread_cond_t ends;
    bool is_ending;
    _Atomic uint64_t removed;
};

struct store_keep keeper_rule(const struct keeper_options *options, uint64_t now_ns)
{
    struct store_keep keep = {.per_group = options->per_group, .now_ns = now_ns};
    uint64_t kept_ns = options->days * DAY_NS, ids_ns = KEEPER_ID_DAYS * DAY_NS;
    uint64_t forget_ns = kept_ns > ids_ns ? kept_ns : ids_ns;
    if (options->days != 0) {
        keep.before_ns = now_ns > kept_ns ? now_ns - kept_ns : 0;
        keep.forget_before_ns = now_ns > forget_ns ? now_ns - forget_ns : 0;
    }
    return keep;
}

/* False: it ends. */
static bool rest(struct keeper *keeper, uint64_t ms)
{
    struct timespec until = collector_after_ms(ms);
    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->is_ending &&
           pthread_cond_clockwait(&keeper->ends, &keeper->mutex, CLOCK_MONOTONIC, &until) == 0) {
    }
    bool goes_on = !keeper->is_ending;
    pthread_mutex_unlock(&keeper->mutex);
    return goes_on;
}

static void drop(void *ctx, const struct hash *blob)
{
    struct keeper *keeper = ctx;
    int os_error = blob_remove(&keeper->blobs, blob);
    if (os_error != 0 && os_error != ENOENT) {
        say_error("a report's file cannot be removed: error %d", os_error);
    }
}

/* Say once that the clock is ahead. */
static void tell_ahead(struct keeper *keeper, uint64_t ahead_ns, bool is_of_database)
{
    if (ahead_ns <= AHEAD_NS || keeper->is_ahead_told || keeper->options.days == 0) {
        return;
    }
    keeper->is_ahead_told = true;
    if (is_of_database) {
        say_error("the clock is ahead of the database's by %llu s: what is old by it is kept",
                  (unsigned long long)(ahead_ns / SECOND_NS));
        return;
    }
    say_error("the clock was set forward by %llu s: what is old by it is kept until the next"
              " start",
              (unsigned long long)(ahead_ns / SECOND_NS));
}

/* The time by which ages are counted. */
static enum store_status age_now(struct keeper *keeper, uint64_t *ret_ns)
{
    uint64_t wall_ns = collector_now_ns(), earlier_ns;
    enum store_status status = store_earlier(keeper->store, wall_ns, &earlier_ns);
    if (status != STORE_OK) {
        return status;
    }
    tell_ahead(keeper, wall_ns - earlier_ns, true);
    *ret_ns = clock_age_now(&keeper->age, earlier_ns, collector_steady_ns());
    tell_ahead(keeper, earlier_ns - *ret_ns, false);
    return STORE_OK;
}

/* Look at all once. */
static void make_round(struct keeper *keeper)
{
    struct store_keep_cursor cursor = {0, 0};
    uint64_t now_ns = 0;
    enum store_status status = age_now(keeper, &now_ns);
    const struct store_keep keep = keeper_rule(&keeper->options, now_ns);
    do {
        uint32_t count = 0;
        status = status == STORE_OK
                     ? store_keep(keeper->store, &keep, &cursor, drop, keeper, &count)
                     : status;
        if (status != STORE_OK) {
            say_error("what is not kept cannot be removed: %s", store_error());
            return;
        }
        keeper->removed += count;
    } while ((cursor.cause != 0 || cursor.report != 0) && rest(keeper, STEP_PAUSE_MS));
}

static void *keep_all(void *ctx)
{
    struct keeper *keeper = ctx;
    pthread_setname_np(pthread_self(), "keeper");
    while (rest(keeper, keeper->options.seconds * (uint64_t)1000)) {
        make_round(keeper);
    }
    return NULL;
}

int keeper_start(struct store *store, const struct blobs *blobs,
                 const struct keeper_options *options, struct keeper **ret_keeper)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) {
        return ENOMEM;
    }
    keeper->store = store;
    keeper->blobs = *blobs;
    keeper->options = *options;
    keeper->age = clock_age_begin();
    pthread_mutex_init(&keeper->mutex, NULL);
    pthread_cond_init(&keeper->ends, NULL);
    int os_error = pthread_create(&keeper->thread, NULL, keep_all, keeper);
    if (os_error != 0) {
        free(keeper);
        return os_error;
    }
    *ret_keeper = keeper;
    return 0;
}

void keeper_stop(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->is_ending = true;
    pthread_cond_broadcast(&keeper->ends);
    pthread_mutex_unlock(&keeper->mutex);
    pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->ends);
    pthread_mutex_destroy(&keeper->mutex);
    free(keeper);
}

uint64_t keeper_removed(struct keeper *keeper)
{
    return keeper->removed;
}
