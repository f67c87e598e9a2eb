// SPDX-License-Identifier: Apache-2.0
/* The search for blocks, and for who holds something, by the heap's zones: what is an allocation,
 * what is in the midst of one, what is not any more; zones that list nothing, that fail, or whose
 * lock is held by a thread that does not run. */
#include <Block.h>
#include <mach/mach_init.h>
#include <mach/thread_act.h>
#include <malloc/malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/block.h>
#include <sonde/thread.h>

#include "../sim/foundation.h"
#include "workers.h"

extern uint64_t sim_zone_lists, sim_zone_lists_without_lock;

typedef uint64_t (^handler)(void);

enum { BLOCK_BYTES = 48, MAKERS = 2, ROUNDS = 8 };

/* Its class lists no variables that own something: what its words lead to is memory. */
@interface Box : NSObject {
  @public
    void *_memory;
}
@end
@implementation Box
@end

static handler make(NSObject *held, uint64_t number)
{
    return Block_copy(^{
      return (uint64_t)held + number;
    });
}

static struct sonde_blocks *blocks;

/* How often the search finds a block at an address. */
static unsigned found(const void *at, size_t *ret_count)
{
    static struct sonde_block items[1000] = {{.struct_bytes = sizeof items[0]}};
    unsigned times = 0;
    CHECK(sonde_blocks_scan(blocks, items, 1000, ret_count) == SONDE_OK);
    for (size_t i = 0; i < *ret_count && i < 1000; i++) {
        times += items[i].address == (uintptr_t)at;
    }
    return times;
}

static struct sonde_block_search searched(void)
{
    struct sonde_block_search search = {.struct_bytes = sizeof search};
    CHECK(sonde_blocks_searched(blocks, &search) == SONDE_OK);
    return search;
}

/* --- what is found --- */

/* A block, and its bytes where no block can be: inside of an allocation, and in a freed one. */
static void check_allocations(void)
{
    handler made = make([[NSObject alloc] init], 1);
    void *block = (void *)made;
    char *inside = malloc(4 * BLOCK_BYTES), *freed = malloc(BLOCK_BYTES);
    malloc_zone_t *zone = malloc_create_zone(0, 0);
    char *other = malloc_zone_malloc(zone, BLOCK_BYTES);
    size_t count = 0;
    memcpy(inside + 16, block, BLOCK_BYTES);
    memcpy(freed, block, BLOCK_BYTES);
    free(freed);
    memcpy(freed, block, BLOCK_BYTES); /* as if the heap had left it */
    memcpy(other, block, BLOCK_BYTES); /* nobody can tell that this is none */
    CHECK(found(block, &count) == 1 && count == 2);
    CHECK(found(other, &count) == 1 && found(inside + 16, &count) == 0 && found(freed, &count) == 0);
    struct sonde_block_search search = searched();
    CHECK(search.zones == 2 && search.zones_unlisted == 0 && search.note[0] == '\0');
    CHECK(search.allocations > 10 && search.searched_bytes > 10 * 16);
    /* less than the header of a block, or than the block */
    char *small = malloc_zone_malloc(zone, 16), *part = malloc_zone_malloc(zone, BLOCK_BYTES - 8);
    memcpy(small, block, 16);
    memcpy(part, block, BLOCK_BYTES - 8);
    CHECK(found(small, &count) == 0 && found(part, &count) == 0);
    free(other);
    free(part);
    CHECK(found(block, &count) == 1 && count == 1);
    free(inside);
    free(small);
    malloc_zone_unregister(zone);
    CHECK(searched().zones == 2 && found(block, &count) == 1 && searched().zones == 1);
    Block_release(made);
    CHECK(found(block, &count) == 0 && count == 0);
}

static unsigned holds(uint64_t held, uint64_t holder)
{
    struct sonde_block_holder holders[16] = {{.struct_bytes = sizeof holders[0]}};
    size_t count = 0;
    unsigned times = 0;
    CHECK(sonde_block_holders(blocks, held, holders, 16, &count) == SONDE_OK);
    for (size_t i = 0; i < count && i < 16; i++) {
        times += holders[i].holder == holder;
    }
    return times;
}

/* An object that a block holds points into the midst of memory, whose first word is what is asked
 * for: only a zone knows that they are one allocation. */
static void check_holders(void)
{
    Box *box = [[Box alloc] init];
    uint64_t *memory = calloc(100, 8), *target = calloc(2, 8);
    handler made = make(box, 2);
    box->_memory = memory + 50;
    memory[0] = (uintptr_t)target;
    CHECK(holds((uintptr_t)box, (uintptr_t)made) == 1);
    CHECK(holds((uintptr_t)target, (uintptr_t)memory) == 1);
    CHECK(holds((uintptr_t)memory, (uintptr_t)(memory + 50)) == 1);
    memory[0] = 0;
    CHECK(holds((uintptr_t)target, (uintptr_t)memory) == 0);
    free(memory);
    free(target);
    Block_release(made);
}

/* --- zones that do not list --- */

static vm_range_t wrong;
static kern_return_t fail(task_t task, void *ctx, unsigned types, vm_address_t zone,
                          memory_reader_t reader, vm_range_recorder_t recorder)
{
    (void)types;
    (void)zone;
    (void)reader;
    recorder(task, ctx, MALLOC_PTR_IN_USE_RANGE_TYPE, &wrong, 1); /* to be dropped */
    return KERN_FAILURE;
}

/* All memory is searched then, and the answer says so. */
static void check_unlisted(malloc_zone_t *zone, char *bytes, const void *block, const char *note)
{
    char *inside = malloc(4 * BLOCK_BYTES);
    size_t count = 0;
    memcpy(bytes, block, BLOCK_BYTES);
    memcpy(inside + 16, block, BLOCK_BYTES);
    CHECK(found(block, &count) == 1 && found(bytes, &count) == 1);
    CHECK(found(inside + 16, &count) == 0); /* the zone of this one has told */
    struct sonde_block_search search = searched();
    CHECK(search.zones == 2 && search.zones_unlisted == 1);
    if (strcmp(search.note, note) != 0) {
        printf("%s\n", search.note);
        mistakes++;
    }
    memset(bytes, 0, BLOCK_BYTES);
    free(inside);
    malloc_zone_unregister(zone);
}

static void check_faults(void)
{
    handler made = make([[NSObject alloc] init], 3);
    const void *block = (void *)made;
    malloc_zone_t *zone = malloc_create_zone(0, 0);
    char *bytes = malloc_zone_malloc(zone, BLOCK_BYTES);
    struct malloc_introspection_t *whole = zone->introspect, copy = *whole;
    size_t count = 0;
    zone->introspect = NULL;
    check_unlisted(zone, bytes, block, "the heap's zone without a name tells nothing about itself");
    malloc_zone_register(zone);
    malloc_set_zone_name(zone, "Example");
    zone->introspect = &copy;
    copy.enumerator = NULL;
    check_unlisted(zone, bytes, block, "the heap's zone Example does not list its allocations");
    malloc_zone_register(zone);
    copy.enumerator = fail;
    wrong = (vm_range_t){(vm_address_t)bytes - 16, BLOCK_BYTES + 16};
    check_unlisted(zone, bytes, block, "the heap's zone Example failed to list its allocations");
    malloc_zone_register(zone);
    copy = *whole;
    copy.force_lock = NULL;
    check_unlisted(zone, bytes, block, "the heap's zone Example does not list its allocations");
    malloc_zone_register((malloc_zone_t *)16); /* not memory */
    CHECK(found(block, &count) == 1 && searched().zones_unlisted == 1);
    malloc_zone_unregister((malloc_zone_t *)16);
    zone->introspect = whole;
    free(bytes);
    Block_release(made);
}

/* More zones than there is room for. */
static void check_many(void)
{
    handler made = make([[NSObject alloc] init], 4);
    malloc_zone_t *zones[70];
    size_t count = 0;
    for (unsigned i = 0; i < 70; i++) {
        zones[i] = malloc_create_zone(0, 0);
    }
    CHECK(found((void *)made, &count) == 1);
    CHECK(searched().zones == 71 && searched().zones_unlisted == 7);
    CHECK(strstr(searched().note, "one too many") != NULL);
    for (unsigned i = 0; i < 70; i++) {
        malloc_zone_unregister(zones[i]);
    }
    Block_release(made);
}

/* One allocation inside of another: a zone that takes its memory from another one. */
static vm_range_t inner;
static kern_return_t list_inner(task_t task, void *ctx, unsigned types, vm_address_t zone,
                                memory_reader_t reader, vm_range_recorder_t recorder)
{
    (void)zone;
    (void)reader;
    recorder(task, ctx, types & MALLOC_PTR_IN_USE_RANGE_TYPE, &inner, 1);
    recorder(task, ctx, types & MALLOC_PTR_IN_USE_RANGE_TYPE, &inner, 1);
    return KERN_SUCCESS;
}

static void check_nested(void)
{
    handler made = make([[NSObject alloc] init], 5);
    char *outer = malloc(10 * BLOCK_BYTES);
    malloc_zone_t *zone = malloc_create_zone(0, 0);
    struct malloc_introspection_t copy = *zone->introspect;
    size_t count = 0;
    copy.enumerator = list_inner;
    zone->introspect = &copy;
    inner = (vm_range_t){(vm_address_t)outer + 160, BLOCK_BYTES};
    memset(outer, 0, 10 * BLOCK_BYTES);
    memcpy(outer + 160, (void *)made, BLOCK_BYTES);
    CHECK(found(outer + 160, &count) == 1 && count == 2 && searched().zones_unlisted == 0);
    malloc_zone_unregister(zone);
    CHECK(found(outer + 160, &count) == 0);
    free(outer);
    Block_release(made);
}

/* --- a lock --- */

static struct keeper {
    malloc_zone_t *zone;
    volatile int has_lock, is_over;
} keeper;

static void *keep(void *argument)
{
    keeper.zone->introspect->force_lock(keeper.zone);
    keeper.has_lock = 1;
    while (!keeper.is_over) {
    }
    keeper.zone->introspect->force_unlock(keeper.zone);
    return argument;
}

static void check_locked(malloc_zone_t *zone)
{
    static struct sonde_block items[100] = {{.struct_bytes = sizeof items[0]}};
    handler made = make([[NSObject alloc] init], 6);
    pthread_t thread;
    size_t count = 0;
    mach_port_t port;
    keeper = (struct keeper){.zone = zone};
    CHECK(pthread_create(&thread, NULL, keep, NULL) == 0);
    while (!keeper.has_lock) {
        usleep(10);
    }
    port = pthread_mach_thread_np(thread);
    CHECK(thread_suspend(port) == KERN_SUCCESS);
    sim_suspended = 0; /* the program allocates: it is not sonde that has stopped the thread */
    enum sonde_status locked = sonde_blocks_scan(blocks, items, 100, &count);
    enum sonde_status after = sonde_blocks_searched(
        blocks, &(struct sonde_block_search){.struct_bytes = sizeof(struct sonde_block_search)});
    sim_suspended = 1;
    CHECK(thread_resume(port) == KERN_SUCCESS);
    keeper.is_over = 1;
    pthread_join(thread, NULL);
    CHECK(locked == SONDE_TIMEOUT && after == SONDE_TIMEOUT);
    CHECK(found((void *)made, &count) == 1 && searched().zones_unlisted == 0);
    Block_release(made);
}

/* --- the whole while others allocate --- */

static volatile int makers_end;

static void *make_blocks(void *argument)
{
    for (uint64_t n = 0; !makers_end; n++) {
        handler made = Block_copy(^{
          return n;
        });
        free(realloc(malloc(n % 500), n % 3000));
        CHECK(made() == n);
        Block_release(made);
    }
    return argument;
}

static void check_busy(void)
{
    NSObject *held = [[NSObject alloc] init];
    handler made = make(held, 7);
    pthread_t makers[MAKERS];
    size_t count = 0;
    makers_end = 0;
    for (unsigned i = 0; i < MAKERS; i++) {
        CHECK(pthread_create(&makers[i], NULL, make_blocks, NULL) == 0);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK(found((void *)made, &count) == 1 && count <= 1 + MAKERS);
        CHECK(holds((uintptr_t)held, (uintptr_t)made) == 1);
    }
    makers_end = 1;
    for (unsigned i = 0; i < MAKERS; i++) {
        pthread_join(makers[i], NULL);
    }
    Block_release(made);
}

int main(void)
{
    struct sonde_error error = {.what = ""};
    struct sonde_block_search search = {.struct_bytes = sizeof search};
    if (sonde_blocks_open(&blocks, &error) != SONDE_OK) {
        printf("%s\n", error.what);
        return 1;
    }
    CHECK(sonde_blocks_searched(blocks, &search) == SONDE_ABSENT);
    check_allocations();
    check_holders();
    check_faults();
    check_many();
    check_nested();
    malloc_zone_t *other = malloc_create_zone(0, 0);
    malloc_set_zone_name(other, "Other");
    check_locked(other);
    malloc_zone_unregister(other);
    check_locked(malloc_default_zone());
    check_busy();
    CHECK(sim_zone_lists > 2 * ROUNDS && sim_zone_lists_without_lock == 0);
    sonde_blocks_close(blocks);
    check_nothing_is_left();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
