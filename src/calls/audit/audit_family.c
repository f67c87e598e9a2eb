// SPDX-License-Identifier: Apache-2.0
#include "audit_family.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "audit_gather.h"
#include "audit_live.h"
#include "base_text.h"
#include "host_process.h"
#include "host_run.h"
#include "mem_heap.h"
#include "mem_table.h"
#include "os.h"
#include "probe_page.h"
#include "record_family.h"
#include "record_page.h"
#include "report_analyse.h"

/* The memory of a place, while a process has it. */
struct place {
    uint8_t *memory; /* null: not mapped */
    struct sonde__audit_live *live;
};

struct sonde__audit_family {
    struct sonde__audit_family_source source;
    struct sonde__family *shared;
    int32_t fds[SONDE__FAMILY_PLACES]; /* what was made: the table is not trusted */
    uint32_t count;
    uint64_t size; /* of each memory */
    pthread_mutex_t lock;
    struct place places[SONDE__FAMILY_PLACES];
    struct sonde__audit_gathered *ended; /* of processes that are gone */
    _Atomic uint32_t *ended_count;       /* by any supervisor: one may be killed. Null: no places */
    struct sonde__audit_gathered *alive; /* of the others, between begin and end */
    uint32_t alive_count;
    struct sonde__symfile_cache *symbols;
    bool has_symbols; /* or has none */
    struct sonde__mem_table told;
    uint64_t *told_keys;
    size_t told_count, told_room;
};

/* Of the first process. */
static const struct sonde__probe_page *probe_page_of(const struct sonde__audit_family *family)
{
    return (const void *)((const char *)family->source.memory - family->source.at);
}

static void fill(struct sonde__audit_family *family, uint32_t index, void *memory)
{
    const struct sonde__probe_page *from = probe_page_of(family);
    struct sonde__probe_page *page = memory;
    struct sonde__record_page *record = (void *)((char *)memory + family->source.at);
    struct sonde__family_place *place = &family->shared->places[index];
    page->version = SONDE__PROBE_VERSION;
    page->slot_count = SONDE__PROBE_SLOTS;
    page->plugin = family->source.at;
    page->follows = SONDE__PROBE_FOLLOWS_ALL;
    atomic_store(&page->supervisor, atomic_load(&from->supervisor));
    family->source.fill(family->source.ctx, record);
    record->is_member = 1;
    record->run_fd = family->source.fd;
    place->fd = family->fds[index];
    place->executable[0] = '\0';
    atomic_store(&place->ended, 0);
}

/* Each memory is mapped only while it is used: a limit of the address space applies to us, too. */
static bool make_place(struct sonde__audit_family *family)
{
    uint32_t index = family->count;
    int32_t fd = sonde__host_shared_reserve(family->size);
    void *memory = fd >= 0 ? sonde__host_shared_map(fd, family->size) : NULL;
    if (memory == NULL) {
        sonde__os_close(fd);
        return false;
    }
    family->fds[index] = fd;
    family->count++;
    fill(family, index, memory);
    sonde__os_unmap(memory, family->size);
    return true;
}

/* Memory of supervisors alone: who takes over has it from before its fork. */
static void *share_among_supervisors(size_t size)
{
    int32_t fd = sonde__host_shared_reserve(size);
    void *memory = fd >= 0 ? sonde__host_shared_map(fd, size) : NULL;
    sonde__os_close(fd);
    return memory;
}

struct sonde__audit_family *
sonde__audit_family_open(const struct sonde__audit_family_source *source)
{
    const struct sonde__record_page *page = source->memory;
    struct sonde__audit_family *family = sonde__mem_alloc_zeroed(sizeof *family);
    if (family == NULL || (family->ended = sonde__audit_gathered_create()) == NULL) {
        sonde__mem_free(family);
        return NULL;
    }
    family->source = *source;
    family->size = source->at + source->size;
    family->shared = (void *)((char *)source->memory + page->family_at);
    (void)pthread_mutex_init(&family->lock, NULL);
    family->ended_count = share_among_supervisors(4096);
    while (family->ended_count != NULL && family->count < SONDE__FAMILY_PLACES &&
           make_place(family)) {
    }
    family->shared->place_count = family->count;
    return family;
}

static struct sonde__symfile_cache *symbols_of(struct sonde__audit_family *family)
{
    if (!family->has_symbols) {
        family->symbols = family->source.open_symbols(family->source.ctx);
        family->has_symbols = true;
    }
    return family->symbols;
}

static struct sonde__audit_reading reading_of(const struct sonde__audit_family *family,
                                              uint32_t index)
{
    struct sonde__audit_reading reading = family->source.reading;
    reading.memory = family->places[index].memory + family->source.at;
    return reading;
}

/* The pid of the process that has the place; 0: none has, or its memory cannot be mapped. */
static int32_t holder_of(struct sonde__audit_family *family, uint32_t index)
{
    struct place *place = &family->places[index];
    int32_t pid = atomic_load(&family->shared->places[index].pid);
    if (pid > 0 && place->memory == NULL) {
        place->memory = sonde__host_shared_map(family->fds[index], family->size);
    }
    return pid > 0 && place->memory != NULL ? pid : 0;
}

/* The main thread may end before the others. */
static bool is_gone(int32_t pid)
{
    uint64_t *tids = NULL;
    size_t count = 0;
    if (!sonde__host_thread_ended(pid, (uint64_t)pid)) {
        return false;
    }
    if (sonde__host_tids_read(pid, &tids, &count, NULL) != SONDE_OK) {
        return true;
    }
    bool runs = false;
    for (size_t i = 0; i < count && !runs; i++) {
        runs = !sonde__host_thread_ended(pid, tids[i]);
    }
    sonde__mem_free(tids);
    return !runs;
}

static void gather(struct sonde__audit_family *family, uint32_t index, int32_t pid,
                   struct sonde__audit_gathered *to)
{
    const struct sonde__family_place *from = &family->shared->places[index];
    const struct sonde__audit_reading reading = reading_of(family, index);
    struct sonde__audit_member member = {.pid = pid, .parent_pid = from->parent_pid};
    memcpy(member.executable, from->executable, sizeof member.executable - 1);
    sonde__audit_gather(to, &member, &reading, family->source.memory, symbols_of(family),
                        SONDE__AUDIT_PROCESSES);
}

static void free_place(struct sonde__audit_family *family, uint32_t index)
{
    struct place *place = &family->places[index];
    sonde__audit_live_close(place->live);
    sonde__os_unmap(place->memory, family->size);
    *place = (struct place){NULL, NULL};
    sonde__host_shared_clear(family->fds[index], family->size);
    void *memory = sonde__host_shared_map(family->fds[index], family->size);
    if (memory != NULL) { /* else it stays taken */
        fill(family, index, memory);
        sonde__os_unmap(memory, family->size);
        atomic_store(&family->shared->places[index].pid, 0);
        atomic_fetch_add(&family->shared->freed, 1);
    }
}

/* --- what is new --- */

struct told {
    struct sonde__audit_filter filter;
    int32_t pid;
};

static uint64_t mix(uint64_t key, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        key = (key ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return key;
}

/* The same for the same rule, function and frames of the program, in any process. */
static uint64_t key_of(const struct sonde__audit_new *found)
{
    const struct sonde__report *report = found->report;
    const char *function = sonde__report_text(report, found->call->function);
    uint64_t key = mix(0xcbf29ce484222325u, &found->call->rule, sizeof found->call->rule);
    key = mix(key, function, strlen(function));
    for (uint32_t n = found->call->stack; n != 0; n = sonde__report_node(report, n)->parent) {
        const struct sonde__report_frame *frame =
            sonde__report_frame(report, sonde__report_node(report, n)->frame);
        if (sonde__report_frame_is_app(report, frame)) {
            const struct sonde__report_image *image = sonde__report_image(report, frame->image);
            const char *path = sonde__report_text(report, image->path);
            key = mix(key, path, strlen(path));
            key = mix(key, image->build_id.bytes, image->build_id.size);
            key = mix(key, &frame->offset, sizeof frame->offset);
        }
    }
    return key;
}

static bool is_first(struct sonde__audit_family *family, uint64_t key)
{
    uint32_t hash = sonde__mem_hash(key);
    uint32_t same = SONDE__TABLE_FIND(&family->told, hash, i, family->told_keys[i] == key);
    return same == SONDE__TABLE_NONE &&
           SONDE__MEM_ADD(family->told_keys, family->told_count, family->told_room, key) &&
           sonde__mem_table_add(&family->told, hash, (uint32_t)family->told_count - 1);
}

static void pass_on(const struct sonde__audit_filter *filter, const struct sonde__audit_new *found,
                    int32_t pid)
{
    struct sonde__audit_new with_pid = *found;
    with_pid.pid = pid;
    if (is_first(filter->family, key_of(found))) {
        filter->each(filter->ctx, &with_pid);
    }
}

void sonde__audit_family_filter(void *ctx, const struct sonde__audit_new *found)
{
    const struct sonde__audit_filter *filter = ctx;
    struct sonde__audit_family *family = filter->family;
    (void)pthread_mutex_lock(&family->lock);
    pass_on(filter, found, atomic_load(&probe_page_of(family)->pid));
    (void)pthread_mutex_unlock(&family->lock);
}

static void tell(void *ctx, const struct sonde__audit_new *found)
{
    const struct told *told = ctx;
    pass_on(&told->filter, found, told->pid);
}

static void tell_new(struct sonde__audit_family *family, uint32_t index, struct told *told)
{
    struct place *place = &family->places[index];
    const struct sonde__audit_reading reading = reading_of(family, index);
    const struct sonde__record_page *page = reading.memory;
    if (told->filter.each == NULL || reading.ruling == NULL ||
        atomic_load(&page->state) != SONDE__RECORD_RUNS) {
        return;
    }
    if (place->live == NULL) {
        place->live = sonde__audit_live_open(&reading, family->source.memory, symbols_of(family));
    }
    if (place->live != NULL) {
        (void)!sonde__audit_live_look(place->live, tell, told); /* the next look tells the rest */
    }
}

void sonde__audit_family_look(struct sonde__audit_family *family, sonde__audit_on_new *each,
                              void *ctx)
{
    struct told told = {.filter = {family, each, ctx}};
    (void)pthread_mutex_lock(&family->lock);
    for (uint32_t i = 0; i < family->count; i++) {
        if ((told.pid = holder_of(family, i)) == 0) {
            continue;
        }
        bool gone = atomic_load(&family->shared->places[i].ended) != 0 || is_gone(told.pid);
        tell_new(family, i, &told);
        if (gone) {
            gather(family, i, told.pid, family->ended);
            atomic_fetch_add(family->ended_count, 1); /* before what was read is cleared */
            free_place(family, i);
        }
    }
    atomic_fetch_add(&family->shared->looks, 1);
    (void)pthread_mutex_unlock(&family->lock);
}

/* --- all --- */

void sonde__audit_family_begin(struct sonde__audit_family *family, struct sonde__record_page *page)
{
    (void)pthread_mutex_lock(&family->lock);
    family->alive = sonde__audit_gathered_create();
    family->alive_count = 0;
    for (uint32_t i = 0; i < family->count && family->alive != NULL; i++) {
        int32_t pid = holder_of(family, i);
        if (pid != 0) {
            family->alive_count += !is_gone(pid);
            gather(family, i, pid, family->alive);
        }
    }
    sonde__audit_gathered_note(family->ended, page);
    if (family->alive != NULL) {
        sonde__audit_gathered_note(family->alive, page);
    }
}

void sonde__audit_family_add(struct sonde__audit_family *family, struct sonde__report *report,
                             struct sonde__audit_totals *totals)
{
    sonde__audit_gathered_add(family->ended, report, totals);
    if (family->alive != NULL) {
        sonde__audit_gathered_add(family->alive, report, totals);
    }
}

static void print_unrecorded(const struct sonde__family *shared, struct sonde__report_lines lines)
{
    uint32_t count = atomic_load(&shared->unrecorded_count);
    uint32_t kept = count < SONDE__FAMILY_UNRECORDED ? count : (uint32_t)SONDE__FAMILY_UNRECORDED;
    for (uint32_t i = 0; i < kept; i++) {
        struct sonde__family_unrecorded one = shared->unrecorded[i];
        uint32_t same = 1;
        bool is_told = false;
        one.path[sizeof one.path - 1] = one.reason[sizeof one.reason - 1] = '\0';
        for (uint32_t k = 0; k < kept; k++) {
            bool is_same =
                k != i && strncmp(shared->unrecorded[k].path, one.path, sizeof one.path) == 0;
            is_told |= is_same && k < i;
            same += is_same;
        }
        if (!is_told && atomic_load(&one.is_complete) != 0) {
            sonde__report_line(lines,
                               "%.200s was executed %u time%s without being recorded, with all "
                               "that it starts: %s",
                               one.path, (unsigned)same, same == 1 ? "" : "s", one.reason);
        }
    }
    if (count > kept) {
        sonde__report_line(lines, "%u more programs were executed without being recorded",
                           (unsigned)(count - kept));
    }
}

static void print_if(uint32_t count, const char *what, struct sonde__report_lines lines)
{
    if (count != 0) {
        sonde__report_line(lines, "%u process%s: %s", (unsigned)count, count == 1 ? "" : "es",
                           what);
    }
}

static void print(const struct sonde__audit_family *family, struct sonde__report_lines lines)
{
    const struct sonde__family *shared = family->shared;
    struct sonde__audit_gathered_counts counts = {.processes = 0};
    char what[160];
    sonde__audit_gathered_count(family->ended, &counts);
    uint32_t read = counts.processes, ended = read;
    if (family->ended_count != NULL) {
        ended = atomic_load(family->ended_count);
    }
    print_if(ended > read ? ended - read : 0,
             "ended before the supervisor was killed, and their calls are lost with it", lines);
    if (family->alive != NULL) {
        sonde__audit_gathered_count(family->alive, &counts);
    }
    uint32_t forked = atomic_load(&shared->forked), executed = atomic_load(&shared->executed);
    sonde__report_line(lines, "recorded with it: %u forked process%s and %u executed program%s",
                       (unsigned)forked, forked == 1 ? "" : "es", (unsigned)executed,
                       sonde__base_plural(executed));
    snprintf(what, sizeof what,
             "not recorded, because %u others were recorded at the same time, which is the most",
             (unsigned)family->count);
    print_if(atomic_load(&shared->lost), what, lines);
    print_if(atomic_load(&shared->unreached),
             "forked, but not recorded: sonde's memory is out of reach there (/proc, another user, "
             "a seccomp filter)",
             lines);
    print_if(counts.silent, "not recorded: the recorder did not start", lines);
    print_if(counts.damaged, "what was recorded is lost: the program has damaged it", lines);
    print_if(counts.no_memory, "not all of what was recorded could be read: out of memory", lines);
    print_if(family->alive_count, "still running: later calls are not recorded", lines);
    snprintf(what, sizeof what,
             "beyond the first %u: their calls are counted together, without "
             "stacks",
             SONDE__AUDIT_PROCESSES);
    print_if(counts.together, what, lines);
    print_unrecorded(shared, lines);
    if (family->source.has_patterns && executed != 0) {
        sonde__report_line(lines, "patterns of names stand for functions of the first program's "
                                  "libraries: those of other programs may have more");
    }
}

void sonde__audit_family_end(struct sonde__audit_family *family, struct sonde__report_lines lines)
{
    print(family, lines);
    sonde__audit_gathered_destroy(family->alive);
    family->alive = NULL;
    (void)pthread_mutex_unlock(&family->lock);
}
