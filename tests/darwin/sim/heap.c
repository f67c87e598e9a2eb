// SPDX-License-Identifier: Apache-2.0
/* The heap: zones, each of which is a list of blocks of the host's heap and a lock. */
#include <mach/mach_init.h>
#include <malloc/malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { ZONES_MAX = 80, BATCH = 100 };

/* Heap calls while a thread is suspended: it may hold the heap's lock. */
extern uint32_t sim_suspended;
uint64_t sim_allocations_while_suspended;
/* Zones that listed their allocations, without being locked by the thread that asked. */
uint64_t sim_zone_lists, sim_zone_lists_without_lock;

/* Before each block, where the host's begins, is what malloc_size() is asked for. */
struct head {
    _Alignas(16) uint64_t size;
    uint64_t address; /* behind it; 0: freed */
    struct zone *zone;
    struct head *next, **link; /* among those of its zone */
    void *block;               /* of the host's heap */
};

struct zone {
    malloc_zone_t public;
    pthread_mutex_t mutex;
    struct head *first; /* the last one that was made */
    uint64_t is_locked; /* by force_lock() */
};

static kern_return_t enumerate(task_t task, void *ctx, unsigned types, vm_address_t zone_at,
                               memory_reader_t reader, vm_range_recorder_t recorder);

static void force_lock(malloc_zone_t *zone)
{
    pthread_mutex_lock(&((struct zone *)zone)->mutex);
    ((struct zone *)zone)->is_locked = (uintptr_t)pthread_self();
}

static void force_unlock(malloc_zone_t *zone)
{
    ((struct zone *)zone)->is_locked = 0;
    pthread_mutex_unlock(&((struct zone *)zone)->mutex);
}

static struct malloc_introspection_t introspection = {
    .enumerator = enumerate, .force_lock = force_lock, .force_unlock = force_unlock};

static struct zone default_zone = {
    .public = {.zone_name = "DefaultMallocZone", .introspect = &introspection, .version = 8},
    .mutex = PTHREAD_MUTEX_INITIALIZER};
static vm_address_t zones[ZONES_MAX] = {(vm_address_t)&default_zone};
static unsigned zone_count = 1;

/* What this thread has no right to read, the reader refuses. */
static kern_return_t enumerate(task_t task, void *ctx, unsigned types, vm_address_t zone_at,
                               memory_reader_t reader, vm_range_recorder_t recorder)
{
    vm_range_t batch[BATCH];
    unsigned count = 0;
    void *at = 0;
    struct zone *zone;
    if (reader(task, zone_at, sizeof *zone, &at) != KERN_SUCCESS) {
        return KERN_FAILURE;
    }
    zone = at;
    sim_zone_lists++;
    sim_zone_lists_without_lock += zone->is_locked != (uintptr_t)pthread_self();
    for (struct head *head = zone->first; head != 0; head = ((struct head *)at)->next) {
        if (reader(task, (vm_address_t)head, sizeof *head, &at) != KERN_SUCCESS) {
            return KERN_FAILURE;
        }
        batch[count++] = (vm_range_t){((struct head *)at)->address, ((struct head *)at)->size};
        if (count == BATCH) {
            recorder(task, ctx, MALLOC_PTR_IN_USE_RANGE_TYPE & types, batch, count);
            count = 0;
        }
    }
    recorder(task, ctx, MALLOC_PTR_IN_USE_RANGE_TYPE & types, batch, count);
    return KERN_SUCCESS;
}

static void note_heap(void)
{
    sim_allocations_while_suspended += sim_suspended > 0;
}

static void *begin(struct zone *zone, void *block, size_t size)
{
    struct head *head = block;
    if (block == 0) {
        return 0;
    }
    pthread_mutex_lock(&zone->mutex);
    *head = (struct head){size, (uint64_t)(head + 1), zone, zone->first, &zone->first, block};
    if (zone->first != 0) {
        zone->first->link = &head->next;
    }
    zone->first = head;
    pthread_mutex_unlock(&zone->mutex);
    return head + 1;
}

/* --- zones --- */

malloc_zone_t *malloc_default_zone(void)
{
    return &default_zone.public;
}

void malloc_zone_register(malloc_zone_t *zone)
{
    if (zone_count == ZONES_MAX) {
        abort();
    }
    zones[zone_count++] = (vm_address_t)zone;
}

void malloc_zone_unregister(malloc_zone_t *zone)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < zone_count; i++) {
        if (zones[i] != (vm_address_t)zone) {
            zones[kept++] = zones[i];
        }
    }
    zone_count = kept;
}

malloc_zone_t *malloc_create_zone(vm_size_t start_size, unsigned flags)
{
    struct zone *zone = host_calloc(1, sizeof *zone);
    (void)start_size;
    (void)flags;
    if (zone != 0) {
        zone->public.introspect = &introspection;
        zone->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        malloc_zone_register(&zone->public);
    }
    return &zone->public;
}

void malloc_set_zone_name(malloc_zone_t *zone, const char *name)
{
    zone->zone_name = name;
}

kern_return_t malloc_get_all_zones(task_t task, memory_reader_t reader, vm_address_t **addresses,
                                   unsigned *count)
{
    (void)reader;
    if (task != mach_task_self()) {
        return KERN_INVALID_ARGUMENT;
    }
    *addresses = zones;
    *count = zone_count;
    return KERN_SUCCESS;
}

void *malloc_zone_malloc(malloc_zone_t *zone, size_t size)
{
    note_heap();
    return size > SIZE_MAX / 2
               ? 0
               : begin((struct zone *)zone, host_malloc(size + sizeof(struct head)), size);
}

/* --- stdlib.h --- */

/* Not zeroed: what is used before it is set is noticed. */
void *malloc(size_t size)
{
    void *block = malloc_zone_malloc(&default_zone.public, size);
    return block != 0 ? memset(block, 0xa5, size) : 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    char *block = host_malloc(size + alignment + sizeof(struct head));
    uint64_t end = (uint64_t)block + sizeof(struct head) + alignment - 1;
    struct head *head = (struct head *)(end / alignment * alignment) - 1;
    note_heap();
    if (block == 0 || begin(&default_zone, head, size) == 0) {
        return 0;
    }
    head->block = block;
    return head + 1;
}

void *calloc(size_t count, size_t size)
{
    size_t all;
    void *block = __builtin_mul_overflow(count, size, &all)
                      ? 0
                      : malloc_zone_malloc(&default_zone.public, all);
    return block != 0 ? memset(block, 0, all) : 0;
}

void free(void *block)
{
    note_heap();
    if (block != 0) {
        struct head *head = (struct head *)block - 1;
        struct zone *zone = head->zone;
        pthread_mutex_lock(&zone->mutex);
        *head->link = head->next;
        if (head->next != 0) {
            head->next->link = head->link;
        }
        head->address = 0;
        pthread_mutex_unlock(&zone->mutex);
        host_free(head->block);
    }
}

void *realloc(void *block, size_t size)
{
    void *larger = malloc(size);
    if (block != 0 && larger != 0) {
        size_t before = ((struct head *)block - 1)->size;
        memcpy(larger, block, before < size ? before : size);
        free(block);
    }
    return larger;
}

/* Takes any address, as Apple's. */
size_t malloc_size(const void *block)
{
    struct head head;
    return host_read_memory((uint64_t)block - sizeof head, &head, sizeof head) != 0 &&
                   head.address == (uint64_t)block
               ? head.size
               : 0;
}
