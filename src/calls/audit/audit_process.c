// SPDX-License-Identifier: Apache-2.0
#include "audit_process.h"

#include <stddef.h>
#include <string.h>

#include "audit_read.h"
#include "base_status.h"
#include "host_maps.h"
#include "host_present.h"
#include "host_run.h"
#include "mem_heap.h"
#include "os.h"
#include "probe_page.h"
#include "record_page.h"
#include "registry_door.h"

enum { RANGES = 64 };

struct sonde__audit_process {
    uint8_t *memory; /* the page and the part of the record that stacks need; null: not yet */
    uint32_t nodes;
    const struct sonde__image_set *images; /* null: they are in the page */
    struct sonde__registry registry;
};

/* The memory that a program shares is a file; the program has mapped parts of it. */
struct shared {
    struct sonde__target *target;
    const struct sonde__host_maps *maps;
    const struct sonde__host_map *first; /* the file's beginning */
    int32_t present;
};

static uint64_t memory_size(uint32_t nodes)
{
    return SONDE__RECORD_OFFSET + sonde__record_stacks_size(nodes);
}

static enum sonde_status allocate(struct sonde__audit_process *process, uint32_t nodes)
{
    process->nodes = nodes;
    process->memory = sonde__os_map(memory_size(nodes));
    return process->memory != NULL ? SONDE_OK : SONDE_MEMORY;
}

/* The address of this part of the file; 0: it is not mapped in one piece. */
static uint64_t find_part(const struct shared *shared, uint64_t offset, uint64_t size)
{
    for (uint32_t i = 0; i < shared->maps->count; i++) {
        const struct sonde__host_map *map = &shared->maps->items[i];
        if (map->inode == shared->first->inode && map->device == shared->first->device &&
            offset >= map->offset && offset - map->offset < map->end - map->start &&
            size <= map->end - map->start - (offset - map->offset)) {
            return map->start + (offset - map->offset);
        }
    }
    return 0;
}

/* Copy the pages that exist; the rest of `to` stays zero. False: the memory cannot be read. */
static bool copy_memory(const struct shared *shared, uint64_t from, uint64_t size, uint8_t *to)
{
    struct sonde__host_range ranges[RANGES];
    uint64_t page = sonde__os_page_size(), unasked = 0;
    if (from == 0 || from % page != 0 || from > UINT64_MAX / 2) {
        return false;
    }
    for (uint64_t at = from, end = from + (size + page - 1) / page * page, next; at < end;
         at = next) {
        size_t count =
            sonde__host_present(shared->present, at, end, ranges, RANGES, &next, &unasked);
        for (size_t i = 0; i < count; i++) {
            uint64_t stop = ranges[i].end < from + size ? ranges[i].end : from + size;
            if (ranges[i].start >= from && ranges[i].start < stop) {
                (void)sonde__target_read(shared->target, ranges[i].start,
                                         to + (ranges[i].start - from),
                                         (size_t)(stop - ranges[i].start));
            }
        }
        if (next <= at) {
            return false;
        }
    }
    return true;
}

static bool copy_part(const struct shared *shared, uint64_t offset, uint64_t size, uint8_t *to)
{
    return copy_memory(shared, find_part(shared, offset, size), size, to);
}

static enum sonde_status refuse(struct sonde_error *ret_error)
{
    return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "of another build of sonde", NULL, 0, 0);
}

/* Is there a record with a registry at `offset`, of this build? */
static enum sonde_status check_page(const struct sonde__record_page *page,
                                    struct sonde_error *ret_error)
{
    if (page->version != SONDE__RECORD_PAGE_VERSION) {
        return refuse(ret_error);
    }
    if (page->registry_lines == 0 ||
        atomic_load_explicit(&page->state, memory_order_relaxed) != SONDE__RECORD_RUNS) {
        return SONDE_ABSENT;
    }
    if (page->nodes != SONDE__AUDIT_NODES || page->registry_lines != SONDE__REGISTRY_LINES) {
        return refuse(ret_error);
    }
    return SONDE_OK;
}

static enum sonde_status copy_all(const struct shared *shared, uint64_t plugin,
                                  struct sonde__audit_process *process,
                                  struct sonde_error *ret_error)
{
    SONDE_TRY(allocate(process, SONDE__AUDIT_NODES));
    struct sonde__record_page *page = (struct sonde__record_page *)(void *)process->memory;
    if (!copy_part(shared, plugin, sizeof *page, process->memory)) {
        return SONDE_ABSENT; /* of `sonde run` without a record */
    }
    SONDE_TRY(check_page(page, ret_error));
    uint64_t record = plugin + SONDE__RECORD_OFFSET;
    if (!copy_part(shared, record, sonde__record_stacks_size(SONDE__AUDIT_NODES),
                   process->memory + SONDE__RECORD_OFFSET) ||
        !copy_part(shared, record + sonde__record_size(SONDE__AUDIT_NODES),
                   sonde__registry_size(SONDE__REGISTRY_LINES), process->registry.memory)) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not mapped as by this sonde", NULL,
                                0, 0);
    }
    return SONDE_OK;
}

/* Read the mapping if it is the start of a file with this name. */
static bool read_first(struct sonde__target *target, const struct sonde__host_map *map,
                       const char *name, void *ret_bytes, size_t size)
{
    static const char memory[] = "/memfd:";
    size_t length = sizeof memory - 1;
    return strncmp(map->path, memory, length) == 0 &&
           strncmp(map->path + length, name, strlen(name)) == 0 && map->offset == 0 &&
           map->inode != 0 && sonde__target_read(target, map->start, ret_bytes, size) == size;
}

/* A registry that the program itself keeps. */
static enum sonde_status enter(const struct shared *shared, const struct sonde__registry_door *door,
                               struct sonde__audit_process *process, struct sonde_error *ret_error)
{
    if (door->version != SONDE__REGISTRY_DOOR_VERSION || door->lines != SONDE__REGISTRY_LINES ||
        door->nodes == 0 || door->nodes > SONDE__DEPOT_NODES_MAX - SONDE__DEPOT_FIRST) {
        return refuse(ret_error);
    }
    SONDE_TRY(allocate(process, door->nodes));
    process->images = sonde__target_images(shared->target);
    uint8_t *depot = process->memory + SONDE__RECORD_OFFSET + sonde__record_depot_offset();
    return copy_memory(shared, door->depot, sonde__depot_size(door->nodes), depot) &&
                   copy_memory(shared, door->table, sonde__registry_size(SONDE__REGISTRY_LINES),
                               process->registry.memory)
               ? SONDE_OK
               : sonde__base_fail(ret_error, SONDE_CORRUPT, "not where it should be", NULL, 0, 0);
}

/* Not the right file; go on with the next mapping. */
static void release(struct sonde__audit_process *process, enum sonde_status status)
{
    if (status == SONDE_ABSENT && process->memory != NULL) {
        sonde__os_unmap(process->memory, memory_size(process->nodes));
        process->memory = NULL;
    }
}

static enum sonde_status find(struct shared *shared, struct sonde__audit_process *process,
                              struct sonde_error *ret_error)
{
    static struct sonde__probe_page page;
    enum sonde_status status = SONDE_ABSENT;
    for (uint32_t i = 0; i < shared->maps->count && status == SONDE_ABSENT; i++) {
        struct sonde__registry_door door;
        shared->first = &shared->maps->items[i];
        if (read_first(shared->target, shared->first, SONDE__REGISTRY_DOOR_NAME, &door,
                       sizeof door)) {
            return enter(shared, &door, process, ret_error);
        }
        /* A forked child does not have this page and records nothing. */
        if (!read_first(shared->target, shared->first, SONDE__HOST_SHARED_NAME, &page,
                        sizeof page)) {
            continue;
        }
        if (page.version != SONDE__PROBE_VERSION) {
            return refuse(ret_error);
        }
        if (page.plugin != 0 && page.plugin < (uint64_t)1 << 40) {
            status = copy_all(shared, page.plugin, process, ret_error);
            release(process, status);
        }
    }
    return status;
}

enum sonde_status sonde__audit_process_open(struct sonde__target *target,
                                            struct sonde__audit_process **ret_process,
                                            struct sonde_error *ret_error)
{
    struct sonde__host_maps maps;
    struct shared shared = {.target = target, .maps = &maps};
    int32_t pid = sonde__target_pid(target);
    if (!sonde__target_is_live(target)) {
        return SONDE_ABSENT; /* the pid of a core belongs to another process by now */
    }
    SONDE_TRY(sonde__host_maps_read(pid, &maps, ret_error));
    struct sonde__audit_process *process = sonde__mem_alloc_zeroed(sizeof *process);
    enum sonde_status status = SONDE_MEMORY;
    if (process != NULL) {
        process->registry.memory = sonde__os_map(sonde__registry_size(SONDE__REGISTRY_LINES));
        process->registry.lines = SONDE__REGISTRY_LINES;
    }
    if (process != NULL && process->registry.memory != NULL) {
        shared.present = sonde__host_present_open(pid);
        status = find(&shared, process, ret_error);
        if (shared.present >= 0) {
            sonde__os_close(shared.present);
        }
    }
    sonde__host_maps_done(&maps);
    if (status != SONDE_OK) {
        sonde__audit_process_close(process);
        return status;
    }
    *ret_process = process;
    return SONDE_OK;
}

void sonde__audit_process_close(struct sonde__audit_process *process)
{
    if (process == NULL) {
        return;
    }
    if (process->memory != NULL) {
        sonde__os_unmap(process->memory, memory_size(process->nodes));
    }
    if (process->registry.memory != NULL) {
        sonde__os_unmap(process->registry.memory, sonde__registry_size(SONDE__REGISTRY_LINES));
    }
    sonde__mem_free(process);
}

const struct sonde__registry *sonde__audit_process_registry(const struct sonde__audit_process *p)
{
    return &p->registry;
}

enum sonde_status sonde__audit_process_stacks(const struct sonde__audit_process *process,
                                              struct sonde__symfile_cache *symbols,
                                              struct sonde__report *report,
                                              struct sonde__audit_stacks **ret_stacks)
{
    const struct sonde__audit_source source = {
        .memory = process->memory, .nodes = process->nodes, .images = process->images};
    return sonde__audit_stacks_open(&source, symbols, report, ret_stacks);
}
