// SPDX-License-Identifier: Apache-2.0
/* Lists the allocations of all zones. A zone is locked while it lists its allocations, so that they
 * belong together; threads that allocate wait for that long. So nothing is allocated meanwhile: the
 * list is a mapping, made before.
 *
 * A suspended thread may have a zone's lock. Only waiting for it shows that: zone_locked() cannot
 * tell such a thread from one that runs. So another thread waits, and the caller waits for that one
 * only while something happens. A thread that was left behind returns the lock as soon as it gets
 * it, and ends. Context: any thread; not handler. */
#include "target_zones.h"

#include <mach/mach_init.h>
#include <malloc/malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base_status.h"
#include "base_text.h"
#include "mem_sort.h"
#include "os.h"

enum {
    ZONES_MAX = 64,       /* programs have two to ten */
    RANGES_MAX = 1 << 24, /* 256 MiB of addresses, of which only what is used becomes memory */
    PAUSE_NS = 100000,
};
#define PATIENCE_NS 2000000000u /* a lock is held for microseconds, by a thread that runs */

enum { RUNS, DONE, LEFT };

struct listing {
    atomic_uint state, at; /* at: the zone that is being listed */
    atomic_ulong steps;
    malloc_zone_t *zones[ZONES_MAX];
    uint32_t all_zones, zone_count, unlisted; /* zone_count: of `zones` */
    malloc_zone_t *first_unlisted;            /* null: a zone behind the last one */
    const char *why;
    struct sonde__target_range *ranges;
    size_t count, lost;
};

static void free_listing(struct listing *listing)
{
    if (listing->ranges != NULL) {
        sonde__os_unmap(listing->ranges, RANGES_MAX * sizeof *listing->ranges);
    }
    sonde__os_unmap(listing, sizeof *listing);
}

/* --- the thread that has the locks: allocates nothing --- */

static kern_return_t read_here(task_t task, vm_address_t address, vm_size_t size, void **ret_memory)
{
    (void)task;
    (void)size;
    *ret_memory = (void *)(uintptr_t)address;
    return KERN_SUCCESS;
}

static void record(task_t task, void *ctx, unsigned type, vm_range_t *ranges, unsigned count)
{
    struct listing *listing = ctx;
    (void)task;
    for (unsigned i = 0; i < count && (type & MALLOC_PTR_IN_USE_RANGE_TYPE) != 0; i++) {
        const struct sonde__target_range range = {ranges[i].address,
                                                  ranges[i].address + ranges[i].size};
        if (listing->count == RANGES_MAX) {
            listing->lost++;
            return;
        }
        if (range.start % 8 == 0 && range.end > range.start) {
            listing->ranges[listing->count++] = range;
        }
    }
    atomic_fetch_add(&listing->steps, 1);
}

/* Returns why not; null: it is listed. */
static const char *list_zone(struct listing *listing, malloc_zone_t *zone)
{
    const malloc_introspection_t *of =
        sonde__os_can_read((uintptr_t)zone) ? zone->introspect : NULL;
    size_t before = listing->count;
    kern_return_t result = KERN_SUCCESS;
    if (of == NULL || !sonde__os_can_read((uintptr_t)of)) {
        return "tells nothing about itself";
    }
    if (of->enumerator == NULL || of->force_lock == NULL || of->force_unlock == NULL) {
        return "does not list its allocations";
    }
    of->force_lock(zone);
    atomic_fetch_add(&listing->steps, 1);
    if (atomic_load(&listing->state) != LEFT) {
        result = of->enumerator(mach_task_self(), listing, MALLOC_PTR_IN_USE_RANGE_TYPE,
                                (vm_address_t)(uintptr_t)zone, read_here, record);
    }
    of->force_unlock(zone);
    if (result != KERN_SUCCESS) {
        listing->count = before;
        return "failed to list its allocations";
    }
    return listing->lost > 0 ? "has too many allocations" : NULL;
}

static void *list_zones(void *argument)
{
    struct listing *listing = argument;
    unsigned runs = RUNS;
    for (uint32_t i = 0; i < listing->zone_count && atomic_load(&listing->state) == RUNS; i++) {
        atomic_store(&listing->at, i);
        const char *why = list_zone(listing, listing->zones[i]);
        if (why != NULL && listing->unlisted++ == 0) {
            listing->first_unlisted = listing->zones[i];
            listing->why = why;
        }
    }
    if (!atomic_compare_exchange_strong(&listing->state, &runs, DONE)) {
        free_listing(listing);
    }
    return NULL;
}

/* --- the caller --- */

static struct listing *make_listing(void)
{
    struct listing *listing = sonde__os_map(sizeof *listing);
    vm_address_t *zones = NULL;
    unsigned count = 0;
    if (listing == NULL) {
        return NULL;
    }
    listing->ranges = sonde__os_map(RANGES_MAX * sizeof *listing->ranges);
    if (listing->ranges == NULL ||
        malloc_get_all_zones(mach_task_self(), read_here, &zones, &count) != KERN_SUCCESS) {
        free_listing(listing);
        return NULL;
    }
    for (unsigned i = 0; i < count && i < ZONES_MAX; i++) {
        listing->zones[listing->zone_count++] = (malloc_zone_t *)(uintptr_t)zones[i];
    }
    listing->all_zones = count;
    listing->unlisted = count - listing->zone_count;
    listing->why = "is one too many";
    return listing;
}

/* No handler of the program's runs while the thread has a zone's lock. */
static bool start(struct listing *listing, pthread_t *ret_thread)
{
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(ret_thread, NULL, list_zones, listing) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* Returns the zone of which nothing was heard any more, or null: all have answered. The listing is
 * the other thread's if it did not. */
static malloc_zone_t *wait_for(struct listing *listing)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t since_ns = sonde__os_now_ns();
    unsigned long seen = atomic_load(&listing->steps);
    while (atomic_load(&listing->state) == RUNS) {
        unsigned long now = atomic_load(&listing->steps);
        unsigned runs = RUNS;
        malloc_zone_t *zone = listing->zones[atomic_load(&listing->at)];
        if (now != seen) {
            seen = now;
            since_ns = sonde__os_now_ns();
        } else if (sonde__os_now_ns() - since_ns > PATIENCE_NS &&
                   atomic_compare_exchange_strong(&listing->state, &runs, LEFT)) {
            return zone;
        }
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static void put_zone(char *note, size_t size, const malloc_zone_t *zone, const char *what)
{
    const char *name = zone != NULL && sonde__os_can_read((uintptr_t)zone) ? zone->zone_name : NULL;
    struct sonde__text text;
    char copy[48] = "";
    if (name != NULL) {
        (void)sonde__os_read((uintptr_t)name, copy, sizeof copy - 1);
    }
    sonde__base_text_init(&text, note, size);
    sonde__base_text_str(&text, "the heap's zone ");
    sonde__base_text_str(&text, copy[0] != '\0' ? copy : "without a name");
    sonde__base_text_char(&text, ' ');
    sonde__base_text_str(&text, what);
    sonde__base_text_end_whole(&text);
}

/* A zone may list an allocation twice, or take its memory from another zone. Each beginning stays;
 * an allocation ends where one inside of it begins. */
static void put_in_order(struct listing *listing, struct sonde__target_allocations *found)
{
    struct sonde__target_range *ranges = listing->ranges, *last = NULL;
    SONDE__SORT_BY(ranges, listing->count, start);
    for (size_t i = 0; i < listing->count; i++) {
        const struct sonde__target_range range = ranges[i];
        if (last != NULL && last->start == range.start) {
            last->end = range.end < last->end ? range.end : last->end;
            continue;
        }
        if (last != NULL && last->end > range.start) {
            last->end = range.start;
        }
        last = &ranges[found->count++];
        *last = range;
    }
    for (size_t i = 0; i < found->count; i++) {
        found->bytes += ranges[i].end - ranges[i].start;
    }
}

/* Keep the part of the mapping that is used. */
static void take_ranges(struct listing *listing, struct sonde__target_allocations *found)
{
    size_t whole = RANGES_MAX * sizeof *found->ranges, page = sonde__os_page_size();
    put_in_order(listing, found);
    found->ranges = listing->ranges;
    found->mapped_bytes = (found->count * sizeof *found->ranges / page + 1) * page;
    if (found->mapped_bytes < whole) {
        sonde__os_unmap((char *)listing->ranges + found->mapped_bytes, whole - found->mapped_bytes);
    }
    listing->ranges = NULL;
}

enum sonde_status target_zones_list(struct sonde__target_allocations *ret_allocations,
                                    struct sonde_error *ret_error)
{
    struct sonde__target_allocations found = {.unlisted = 1,
                                              .note = "the heap has no zones to ask"};
    struct listing *listing = make_listing();
    pthread_t thread;
    if (listing != NULL && start(listing, &thread)) {
        const malloc_zone_t *stuck = wait_for(listing);
        if (stuck != NULL) {
            (void)pthread_detach(thread);
            put_zone(found.note, sizeof found.note, stuck,
                     "does not answer: a thread that does not run may have its lock");
            return sonde__base_fail(ret_error, SONDE_TIMEOUT, found.note, NULL, 0, 0);
        }
        (void)pthread_join(thread, NULL);
        found.zones = listing->all_zones;
        found.unlisted = listing->unlisted;
        found.note[0] = '\0';
        if (found.unlisted > 0) {
            put_zone(found.note, sizeof found.note, listing->first_unlisted, listing->why);
        }
        take_ranges(listing, &found);
    }
    if (listing != NULL) {
        free_listing(listing);
    }
    *ret_allocations = found;
    return SONDE_OK;
}
