// SPDX-License-Identifier: Apache-2.0
#include "audit_mark.h"

#include <string.h>

#include "base_status.h"
#include "host_maps.h"
#include "host_run.h"
#include "os.h"
#include "probe_page.h"
#include "record_page.h"

_Static_assert((int)SONDE__AUDIT_PHASE_NAME == (int)SONDE__RECORD_PHASE_NAME, "record_phase.h");

bool sonde__audit_begin_phase(void *memory, const char *name)
{
    struct sonde__record_page *page = memory;
    return sonde__record_phase_begin(&page->phases, name, strlen(name), 0, sonde__os_now_ns());
}

static enum sonde_status mark_page(struct sonde__record_page *page, const char *name,
                                   struct sonde_error *ret_error)
{
    if (page->version != SONDE__RECORD_PAGE_VERSION) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "run by another build of sonde", NULL,
                                0, 0);
    }
    if (page->keeps_seen == 0 || atomic_load(&page->state) != SONDE__RECORD_RUNS) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "it has no phases: sonde run --audit records by phase", NULL, 0, 0);
    }
    return sonde__audit_begin_phase(page, name)
               ? SONDE_OK
               : sonde__base_fail(ret_error, SONDE_LIMIT, "there was no room for another phase",
                                  NULL, 0, 0);
}

/* What the page of a program says of its record; it is not trusted. */
struct place {
    int32_t supervisor;
    uint64_t inode, plugin;
};

static enum sonde_status find_place(struct sonde__target *target, const struct sonde__host_map *map,
                                    struct place *ret_place, struct sonde_error *ret_error)
{
    static struct sonde__probe_page page;
    static const char name[] = "/memfd:" SONDE__HOST_SHARED_NAME;
    if (strncmp(map->path, name, sizeof name - 1) != 0 || map->offset != 0 ||
        sonde__target_read(target, map->start, &page, sizeof page) != sizeof page) {
        return SONDE_ABSENT;
    }
    if (page.version != SONDE__PROBE_VERSION) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "run by another build of sonde", NULL,
                                0, 0);
    }
    if (page.plugin == 0 || page.plugin >= (uint64_t)1 << 40 || page.plugin % 65536 != 0) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "it has no phases: sonde run --audit records by phase", NULL, 0, 0);
    }
    *ret_place = (struct place){atomic_load(&page.supervisor), map->inode, page.plugin};
    return SONDE_OK;
}

static struct sonde__record_page *page_of(void *memory, const struct place *place)
{
    return (struct sonde__record_page *)(void *)((char *)memory + place->plugin);
}

/* The phases of a run are those of its first process. Null: out of reach. */
static void *open_first(const struct place *place, const struct sonde__record_page *member,
                        size_t size)
{
    int32_t fd = sonde__host_shared_reach(place->supervisor, member->run_fd, false);
    void *memory = fd >= 0 ? sonde__host_shared_map(fd, size) : NULL;
    sonde__os_close(fd);
    return memory;
}

static enum sonde_status mark_place(const struct place *place, const char *name,
                                    struct sonde_error *ret_error)
{
    void *memory, *first;
    size_t size = (size_t)place->plugin + sizeof(struct sonde__record_page);
    enum sonde_status status =
        sonde__host_shared_open(place->supervisor, place->inode, size, &memory);
    if (status == SONDE_OK && page_of(memory, place)->version == SONDE__RECORD_PAGE_VERSION &&
        page_of(memory, place)->is_member != 0) {
        first = open_first(place, page_of(memory, place), size);
        sonde__os_unmap(memory, size);
        memory = first;
        status = first != NULL ? SONDE_OK : SONDE_ABSENT;
    }
    if (status != SONDE_OK) {
        return sonde__base_fail(ret_error, status, "the memory of its supervisor cannot be opened",
                                NULL, 0, 0);
    }
    status = mark_page(page_of(memory, place), name, ret_error);
    sonde__os_unmap(memory, size);
    return status;
}

enum sonde_status sonde__audit_mark(struct sonde__target *target, const char *name,
                                    struct sonde_error *ret_error)
{
    struct sonde__host_maps maps;
    struct place place = {0};
    enum sonde_status status =
        sonde__base_fail(ret_error, SONDE_ABSENT, "not run by sonde run --audit", NULL, 0, 0);
    SONDE_TRY(sonde__host_maps_read(sonde__target_pid(target), &maps, ret_error));
    for (uint32_t i = 0; i < maps.count && status == SONDE_ABSENT; i++) {
        enum sonde_status found = find_place(target, &maps.items[i], &place, ret_error);
        status = found == SONDE_OK ? mark_place(&place, name, ret_error) : found;
        if (found == SONDE_OK) {
            break;
        }
    }
    sonde__host_maps_done(&maps);
    return status;
}
