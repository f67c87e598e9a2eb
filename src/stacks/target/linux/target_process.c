// SPDX-License-Identifier: Apache-2.0
/* A process as a target: how it is opened, its threads, its images. Capture: target_capture.c. */
#include "target_process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "host_denied.h"
#include "host_process.h"
#include "mem_heap.h"
#include "os.h"

static struct sonde__target_process *process_of(struct sonde__target *target)
{
    return (struct sonde__target_process *)target;
}

static void close_process(struct sonde__target *target)
{
    struct sonde__target_process *p = process_of(target);
    sonde__target_release(p);
    sonde__target_process_rest(target);
    sonde__target_files_close(&p->files);
    sonde__host_identity_drop(&p->process);
    sonde__target_base_done(target);
    sonde__host_maps_done(&p->maps);
    sonde__mem_free(p->stopped);
    sonde__mem_free(p->window);
    sonde__mem_free(p->sample);
    sonde__mem_free(p);
}

static void describe_thread(const struct sonde__target *target,
                            const struct sonde__host_thread *found,
                            struct sonde__thread *ret_thread)
{
    *ret_thread =
        (struct sonde__thread){.tid = found->tid,
                               .state = (uint8_t)sonde__target_thread_state(found->letter),
                               .letter = found->letter,
                               .main = found->tid == (uint64_t)target->pid};
    memcpy(ret_thread->name, found->name, sizeof ret_thread->name);
}

static enum sonde_status find_in_process(struct sonde__target *target, uint64_t tid,
                                         struct sonde__thread *ret_thread)
{
    struct sonde__target_process *p = process_of(target);
    struct sonde__host_thread found;
    SONDE_TRY(sonde__target_process_state(p, tid, &found));
    p->files.is_fresh = true;
    describe_thread(target, &found, ret_thread);
    return SONDE_OK;
}

static enum sonde_status list_process(struct sonde__target *target, struct sonde_error *ret_error)
{
    struct sonde__host_thread *found;
    struct sonde__thread *threads;
    uint32_t count;
    SONDE_TRY(sonde__host_threads_read(target->pid, &found, &count, ret_error));
    process_of(target)->files.is_fresh = false; /* it is older than the list */
    threads = sonde__mem_alloc_array((size_t)count + 1, sizeof *threads);
    if (threads == NULL) {
        sonde__mem_free(found);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "threads", NULL, 0, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        describe_thread(target, &found[i], &threads[i]);
    }
    sonde__mem_free(found);
    sonde__mem_free(target->threads);
    target->threads = threads;
    target->thread_count = count;
    return SONDE_OK;
}

static size_t read_process(struct sonde__target *target, uint64_t address, void *ret_bytes,
                           size_t size)
{
    return sonde__os_read_process(target->pid, address, ret_bytes, size, NULL);
}

static size_t read_for_images(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    return read_process(ctx, address, ret_bytes, size);
}

static bool same_maps(const struct sonde__host_maps *a, const struct sonde__host_maps *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        const struct sonde__host_map *x = &a->items[i], *y = &b->items[i];
        if (x->start != y->start || x->end != y->end || x->offset != y->offset ||
            x->device != y->device || x->inode != y->inode || x->flags != y->flags ||
            strcmp(x->path, y->path) != 0) {
            return false;
        }
    }
    return true;
}

static enum sonde_status refresh_process(struct sonde__target *target,
                                         struct sonde_error *ret_error)
{
    struct sonde__target_process *p = process_of(target);
    struct sonde__host_maps maps;
    struct sonde__target_source from = {.read = read_for_images,
                                        .ctx = target,
                                        .root = sonde__target_root(target),
                                        .main_path = target->executable,
                                        .live_pid = target->pid,
                                        .arch = target->arch};
    enum sonde_status status;
    SONDE_TRY(sonde__host_maps_read(target->pid, &maps, ret_error));
    if (p->maps.count != 0 && same_maps(&p->maps, &maps)) {
        sonde__host_maps_done(&maps);
        return SONDE_OK;
    }
    status = sonde__target_images_build(&target->images, &maps, &from);
    if (status != SONDE_OK) {
        sonde__host_maps_done(&maps);
        return sonde__base_fail(ret_error, status, "images", NULL, 0, 0);
    }
    sonde__host_maps_done(&p->maps);
    p->maps = maps;
    return SONDE_OK;
}

/* May the address be code by now? A JIT may have mapped more since the images were read. */
static bool may_be_code_by_now(struct sonde__target *target, uint64_t address)
{
    struct sonde__host_maps maps;
    bool may_be = false;
    if (sonde__host_maps_read(target->pid, &maps, NULL) != SONDE_OK) {
        return true;
    }
    for (uint32_t i = 0; i < maps.count && !may_be; i++) {
        const struct sonde__host_map *map = &maps.items[i];
        may_be =
            address >= map->start && address < map->end && (map->flags & SONDE__MAP_EXECUTE) != 0;
    }
    sonde__host_maps_done(&maps);
    return may_be;
}

static enum sonde_status own_memory_of_process(struct sonde__target *target,
                                               struct sonde__target_memory *ret_memory,
                                               struct sonde_error *ret_error)
{
    struct sonde__host_maps maps;
    enum sonde_status status;
    SONDE_TRY(sonde__host_maps_read(target->pid, &maps, ret_error));
    status = sonde__target_memory_of(&maps, ret_memory, ret_error);
    sonde__host_maps_done(&maps);
    return status;
}

static const struct sonde__target_ops process_ops = {.close = close_process,
                                                     .list = list_process,
                                                     .find = find_in_process,
                                                     .refresh = refresh_process,
                                                     .read = read_process,
                                                     .own_memory = own_memory_of_process,
                                                     .capture = sonde__target_process_capture,
                                                     .expect = sonde__target_process_expect,
                                                     .met = sonde__target_process_met,
                                                     .pause = sonde__target_process_pause,
                                                     .rest = sonde__target_process_rest,
                                                     .may_be_code = may_be_code_by_now,
                                                     .stop = sonde__target_process_stop,
                                                     .resume = sonde__target_process_resume};

/* Read the machine of the ELF that begins in this map. False: no ELF. */
static bool machine_of(struct sonde__target_process *p, const struct sonde__host_map *map,
                       bool *ret_is64, unsigned *ret_machine)
{
    static const char magic[4] = {0x7f, 'E', 'L', 'F'};
    uint8_t head[20];
    if (map->path[0] != '/' || map->offset != 0 ||
        read_process(&p->base, map->start, head, sizeof head) != sizeof head ||
        memcmp(head, magic, sizeof magic) != 0) {
        return false;
    }
    *ret_is64 = head[4] == 2;
    *ret_machine = (unsigned)(head[18] | head[19] << 8);
    return true;
}

/* Check the machine by the main program's header in memory. Below it may be that of another
 * program: an emulator's guest. */
static enum sonde_status check_machine(struct sonde__target_process *p,
                                       struct sonde_error *ret_error)
{
    const struct sonde__host_map *found = NULL;
    bool is64 = true;
    unsigned machine = 0;
    for (uint32_t i = 0; i < p->maps.count; i++) {
        const struct sonde__host_map *map = &p->maps.items[i];
        bool is_main = p->base.executable != NULL && strcmp(map->path, p->base.executable) == 0;
        bool map_is64;
        unsigned map_machine;
        if ((found == NULL || is_main) && machine_of(p, map, &map_is64, &map_machine)) {
            found = map;
            is64 = map_is64;
            machine = map_machine;
            if (is_main) {
                break;
            }
        }
    }
    if (found == NULL) {
        return SONDE_OK; /* no file is mapped: only a JIT knows the code */
    }
    if (!is64) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "a 32-bit program", found->path, 0,
                                0);
    }
    if (sonde__elf_arch(machine) != SONDE__ARCH_HOST) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "a program for another architecture",
                                found->path, 0, machine);
    }
    return SONDE_OK;
}

/* Check the permission once: every read of another process needs the same one, and this gives
 * one clear line instead of one per thread. */
static enum sonde_status check_readable(struct sonde__target_process *p,
                                        struct sonde_error *ret_error)
{
    char byte, why[160];
    int32_t os_error = 0;
    for (uint32_t i = 0; i < p->maps.count; i++) {
        if ((p->maps.items[i].flags & SONDE__MAP_READ) == 0) {
            continue;
        }
        if (sonde__os_read_process(p->base.pid, p->maps.items[i].start, &byte, 1, &os_error) == 1) {
            return SONDE_OK;
        }
        if (os_error == EPERM) {
            sonde__host_explain_denied(p->base.pid, why, sizeof why);
            return sonde__base_fail(ret_error, SONDE_DENIED, "cannot read its memory", why,
                                    os_error, 0);
        }
        if (os_error == ENOSYS) {
            return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                    "cannot read its memory: process_vm_readv is missing here, and "
                                    "its /proc mem file may not be opened",
                                    NULL, 0, 0);
        }
    }
    return SONDE_OK;
}

static enum sonde_status denied(int32_t pid, enum sonde_status status,
                                struct sonde_error *ret_error)
{
    char why[160];
    if (status != SONDE_DENIED) {
        return status;
    }
    sonde__host_explain_denied(pid, why, sizeof why);
    return sonde__base_fail(ret_error, SONDE_DENIED, why, NULL, 0, (uint64_t)pid);
}

static enum sonde_status fill_process(struct sonde__target_process *p,
                                      const struct sonde__target_options *options,
                                      struct sonde_error *ret_error)
{
    char path[SONDE__HOST_PATH_MAX];
    enum sonde_status status;
    p->window = sonde__mem_alloc_zeroed(sizeof *p->window);
    if (options->root != NULL) {
        p->base.root = sonde__mem_copy_string(options->root);
    } else {
        p->base.root = sonde__mem_copy_string(
            sonde__host_root_prefix(p->base.pid, path, sizeof path) ? path : "");
    }
    if (sonde__host_own_root(p->base.pid, path, sizeof path)) {
        p->base.own_root = sonde__mem_copy_string(path);
    }
    if (sonde__host_executable(p->base.pid, path, sizeof path)) {
        p->base.executable = sonde__mem_copy_string(path);
    }
    if (p->window == NULL || p->base.root == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "target", NULL, 0, 0);
    }
    p->window->pid = p->base.pid;
    /* First only the map: the next steps read memory, and a refusal must be explained. */
    status = sonde__host_maps_read(p->base.pid, &p->maps, ret_error);
    if (status != SONDE_OK) {
        return denied(p->base.pid, status, ret_error);
    }
    if (p->maps.count == 0) {
        return sonde__base_fail(ret_error, SONDE_ABSENT, "the process has ended", NULL, 0,
                                (uint64_t)p->base.pid);
    }
    SONDE_TRY(check_readable(p, ret_error));
    SONDE_TRY(check_machine(p, ret_error));
    sonde__host_maps_done(&p->maps);
    return refresh_process(&p->base, ret_error);
}

enum sonde_status sonde__target_open_process(int32_t pid,
                                             const struct sonde__target_options *options,
                                             struct sonde__target **ret_target,
                                             struct sonde_error *ret_error)
{
    static const struct sonde__target_options defaults;
    struct sonde__host_process process;
    struct sonde__target_process *p;
    enum sonde_status status;
    options = options != NULL ? options : &defaults;
    SONDE_TRY(sonde__host_process_read(pid, &process, ret_error));
    if (process.kernel) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "a kernel thread: it has no user stack", NULL, 0, (uint64_t)pid);
    }
    if (process.zombie) {
        return sonde__base_fail(ret_error, SONDE_ABSENT,
                                "the process has ended (a zombie: its parent did not wait for it)",
                                NULL, 0, (uint64_t)pid);
    }
    status = sonde__host_passive_works(ret_error);
    if (status == SONDE_UNSUPPORTED) {
        return status;
    }
    p = sonde__mem_alloc_zeroed(sizeof *p);
    if (p == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "target", NULL, 0, 0);
    }
    if (sonde__host_identity_take(process.pid, (uint64_t)process.pid, &p->process, NULL) !=
        SONDE_OK) {
        sonde__mem_free(p);
        return sonde__base_fail(ret_error, SONDE_ABSENT, "the process has ended", NULL, 0,
                                (uint64_t)process.pid);
    }
    p->base.ops = &process_ops;
    p->base.pid = process.pid;
    p->base.arch = SONDE__ARCH_HOST;
    p->base.mode = options->mode;
    p->base.is_live = true;
    p->base.scripts.wanted = options->scripts;
    p->sample_of_probe = options->sample;
    p->ways = options->restricted
                  ? options->ways
                  : SONDE__TARGET_BY_PERF | SONDE__TARGET_BY_PTRACE | SONDE__TARGET_BY_SIGNAL;
    status = fill_process(p, options, ret_error);
    if (status != SONDE_OK) {
        close_process(&p->base);
        return status;
    }
    *ret_target = &p->base;
    return SONDE_OK;
}
