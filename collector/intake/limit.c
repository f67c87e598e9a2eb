// SPDX-License-Identifier: Apache-2.0
#include "limit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define SECOND_NS ((uint64_t)1000000000u)
#define MINUTE_NS (60 * SECOND_NS)
#define DAY_NS    (86400 * SECOND_NS)

/* The rate is a leaky bucket by one time (the generic cell rate algorithm of ATM, I.371): when all
 * that was taken would have come at an even rate. */
struct entry {
    uint32_t project;
    uint64_t even_ns;
    uint64_t day, count; /* the day since 1970, and its reports */
};

struct limits {
    pthread_mutex_t mutex;
    struct entry *entries;
    unsigned count, capacity;
    limit_used *used;
    void *ctx;
};

struct limits *limits_begin(limit_used *used, void *ctx)
{
    struct limits *limits = calloc(1, sizeof *limits);
    if (limits != NULL) {
        pthread_mutex_init(&limits->mutex, NULL);
        limits->used = used;
        limits->ctx = ctx;
    }
    return limits;
}

void limits_end(struct limits *limits)
{
    if (limits != NULL) {
        pthread_mutex_destroy(&limits->mutex);
        free(limits->entries);
        free(limits);
    }
}

/* A project's entry; few have limits, so they are looked through. Null: no memory. */
static struct entry *entry_of(struct limits *limits, uint32_t project)
{
    for (unsigned i = 0; i < limits->count; i++) {
        if (limits->entries[i].project == project) {
            return &limits->entries[i];
        }
    }
    if (limits->count == limits->capacity) {
        unsigned capacity = limits->capacity == 0 ? 16 : 2 * limits->capacity;
        struct entry *entries = realloc(limits->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return NULL;
        }
        limits->entries = entries;
        limits->capacity = capacity;
    }
    limits->entries[limits->count] = (struct entry){.project = project};
    return &limits->entries[limits->count++];
}

static uint32_t seconds_of(uint64_t ns)
{
    uint64_t seconds = (ns + SECOND_NS - 1) / SECOND_NS;
    return seconds < 1 ? 1 : seconds > 86400 ? 86400 : (uint32_t)seconds;
}

/* Begin a day, with what was stored of it before the collector's start. A clock that is set back
 * begins none: its reports count for the later day. */
static void begin_day(const struct limits *limits, struct entry *entry, uint64_t day)
{
    if (day > entry->day) {
        entry->day = day;
        entry->count = limits->used != NULL ? limits->used(limits->ctx, entry->project, day) : 0;
    }
}

static uint32_t take(const struct limits *limits, struct entry *entry, const struct limit *limit,
                     uint64_t now_ns)
{
    begin_day(limits, entry, now_ns / DAY_NS);
    if (limit->per_day != 0 && entry->count >= limit->per_day) {
        uint64_t end_ns = (entry->day + 1) * DAY_NS;
        return seconds_of(end_ns - now_ns);
    }
    if (limit->per_minute != 0) {
        uint64_t gap_ns = MINUTE_NS / limit->per_minute;
        uint64_t even_ns = entry->even_ns;
        if (even_ns > now_ns + 2 * MINUTE_NS || even_ns < now_ns) {
            even_ns = now_ns; /* the clock was set back, or it was quiet */
        }
        if (even_ns + gap_ns > now_ns + MINUTE_NS) {
            return seconds_of(even_ns + gap_ns - now_ns - MINUTE_NS);
        }
        entry->even_ns = even_ns + gap_ns;
    }
    entry->count++;
    return 0;
}

uint32_t limits_take(struct limits *limits, uint32_t project, const struct limit *limit,
                     uint64_t now_ns)
{
    if (limit->per_minute == 0 && limit->per_day == 0) {
        return 0;
    }
    pthread_mutex_lock(&limits->mutex);
    struct entry *entry = entry_of(limits, project);
    uint32_t wait = entry != NULL ? take(limits, entry, limit, now_ns) : 60;
    pthread_mutex_unlock(&limits->mutex);
    return wait;
}
