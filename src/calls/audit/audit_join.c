// SPDX-License-Identifier: Apache-2.0
#include "audit_join.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_run.h"
#include "os.h"
#include "probe_page.h"
#include "record_family.h"
#include "record_page.h"

/* For a free place: the supervisor frees places 20 times a second, but may first have to load
 * symbols, and may end. */
enum { WAIT_MS = 2000, CHECK_MS = 100 };

struct table {
    void *memory;
    uint64_t size, at;
    struct sonde__family *family;
};

/* Map the table behind the page of the first process. */
static bool open_table(const struct sonde__audit_join *join, struct table *table)
{
    int32_t fd = sonde__host_shared_reach(join->supervisor, join->fd, false);
    struct sonde__probe_page *page = sonde__host_shared_map(fd, sizeof *page);
    struct sonde__record_page *record = NULL;
    *table = (struct table){.size = 0};
    if (page != NULL && page->version == SONDE__PROBE_VERSION && page->plugin % 65536 == 0 &&
        page->plugin < (uint64_t)1 << 40) {
        table->at = page->plugin;
        record = sonde__host_shared_map(fd, table->at + sizeof *record);
    }
    if (record != NULL) {
        const struct sonde__record_page *first = (void *)((char *)record + table->at);
        uint64_t family_at = first->version == SONDE__RECORD_PAGE_VERSION ? first->family_at : 0;
        table->size = family_at != 0 && family_at < (uint64_t)1 << 40
                          ? table->at + family_at + sizeof *table->family
                          : 0;
        sonde__os_unmap(record, table->at + sizeof *record);
        table->memory = table->size != 0 ? sonde__host_shared_map(fd, table->size) : NULL;
        table->family =
            table->memory != NULL ? (void *)((char *)table->memory + table->at + family_at) : NULL;
    }
    if (page != NULL) {
        sonde__os_unmap(page, sizeof *page);
    }
    sonde__os_close(fd);
    return table->family != NULL;
}

static void note_unfit(struct sonde__family *family, const struct sonde__audit_join *join)
{
    uint32_t index = atomic_fetch_add(&family->unrecorded_count, 1);
    if (index < SONDE__FAMILY_UNRECORDED) {
        struct sonde__family_unrecorded *one = &family->unrecorded[index];
        snprintf(one->path, sizeof one->path, "%s", join->path);
        snprintf(one->reason, sizeof one->reason, "%s", join->unfit);
        atomic_store(&one->is_complete, 1);
    }
}

/* What this process was before it came to execute a program. */
static void leave_former(struct sonde__family *family, int32_t pid)
{
    for (uint32_t i = 0; i < SONDE__FAMILY_PLACES; i++) {
        if (atomic_load(&family->places[i].pid) == pid) {
            atomic_store(&family->places[i].ended, 1);
        }
    }
}

static bool is_in_reach(const struct sonde__audit_join *join)
{
    int32_t fd = sonde__host_shared_reach(join->supervisor, join->fd, false);
    sonde__os_close(fd);
    return fd >= 0;
}

static struct sonde__family_place *claim(const struct sonde__audit_join *join,
                                         struct sonde__family *family, int32_t pid)
{
    const struct timespec pause = {0, 1000000};
    struct sonde__family_wait wait = sonde__family_wait_begin(family);
    struct sonde__family_place *place = sonde__family_claim(family, pid);
    for (int i = 1; i <= WAIT_MS && place == NULL && sonde__family_may_wait(family, &wait); i++) {
        if (i % CHECK_MS == 0 && !is_in_reach(join)) {
            break;
        }
        (void)nanosleep(&pause, NULL);
        place = sonde__family_claim(family, pid);
    }
    return place;
}

/* Open the memory of the place, for the program. -1: it is out of reach. */
static int32_t open_memory(const struct sonde__audit_join *join, int32_t fd_there)
{
    int32_t fd = sonde__host_shared_reach(join->supervisor, fd_there, true);
    struct sonde__probe_page *page = fd >= 0 ? sonde__host_shared_map(fd, sizeof *page) : NULL;
    if (page == NULL) {
        sonde__os_close(fd);
        return -1;
    }
    atomic_store(&page->supervisor, join->supervisor);
    sonde__os_unmap(page, sizeof *page);
    return fd;
}

int32_t sonde__audit_join(const struct sonde__audit_join *join)
{
    struct table table;
    int32_t fd = -1, pid = sonde__host_shown_pid();
    if (pid == 0 || !open_table(join, &table)) {
        return -1;
    }
    leave_former(table.family, pid);
    struct sonde__family_place *place = NULL;
    if (join->unfit != NULL) {
        note_unfit(table.family, join);
    } else if ((place = claim(join, table.family, pid)) == NULL) {
        atomic_fetch_add(&table.family->lost, 1);
    }
    if (place != NULL) {
        place->parent_pid = (int32_t)getppid();
        place->is_executed = 1;
        snprintf(place->executable, sizeof place->executable, "%s", join->path);
        fd = open_memory(join, place->fd);
        if (fd < 0) {
            atomic_fetch_add(&table.family->unreached, 1);
            atomic_store(&place->pid, 0);
        } else {
            atomic_fetch_add(&table.family->executed, 1);
        }
    }
    sonde__os_unmap(table.memory, table.size);
    return fd;
}

bool sonde__audit_parse_join(const char *text, struct sonde__audit_join *ret_join)
{
    int supervisor, fd, used = 0;
    if (sscanf(text, "%d:%d%n", &supervisor, &fd, &used) != 2 || text[used] != '\0' ||
        supervisor <= 0 || fd < 0) {
        return false;
    }
    *ret_join = (struct sonde__audit_join){.supervisor = supervisor, .fd = fd};
    return true;
}
