// SPDX-License-Identifier: Apache-2.0
/* The functions of target.h that are common to all kinds. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "mem_heap.h"
#include "os.h"
#include "target_private.h"
#include "unwind_walk.h"

void sonde__target_base_done(struct sonde__target *target)
{
    sonde__target_images_done(&target->images);
    sonde__target_jit_done(&target->jit);
    sonde__target_scripts_done(&target->scripts);
    sonde__mem_free(target->threads);
    sonde__mem_free(target->executable);
    sonde__mem_free(target->root);
    sonde__mem_free(target->own_root);
}

void sonde__target_close(struct sonde__target *target)
{
    if (target != NULL) {
        target->ops->close(target);
    }
}

struct sonde__target_signals sonde__target_signals(const struct sonde__target *target)
{
    return target->signals;
}

bool sonde__target_is_live(const struct sonde__target *target)
{
    return target->is_live;
}

int32_t sonde__target_pid(const struct sonde__target *target)
{
    return target->pid;
}

unsigned sonde__target_arch(const struct sonde__target *target)
{
    return target->arch;
}

const char *sonde__target_executable(const struct sonde__target *target)
{
    return target->executable != NULL ? target->executable : "";
}

const char *sonde__target_doubt(const struct sonde__target *target)
{
    return target->doubt;
}

const char *sonde__target_inner_path(const struct sonde__target *target, const char *path)
{
    size_t size = target->own_root != NULL ? strlen(target->own_root) : 0;
    bool inside = size > 0 && strncmp(path, target->own_root, size) == 0 && path[size] == '/';
    return inside ? path + size : path;
}

const char *sonde__target_root(const struct sonde__target *target)
{
    return target->root != NULL ? target->root : "";
}

enum sonde_status sonde__target_threads(struct sonde__target *target,
                                        const struct sonde__thread **ret_threads,
                                        uint32_t *ret_count, struct sonde_error *ret_error)
{
    if (target->ops->list == NULL) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "threads of a frozen target", NULL, 0,
                                0);
    }
    SONDE_TRY(target->ops->list(target, ret_error));
    *ret_threads = target->threads;
    *ret_count = target->thread_count;
    return SONDE_OK;
}

enum sonde_status sonde__target_thread(struct sonde__target *target, uint64_t tid,
                                       struct sonde__thread *ret_thread)
{
    return target->ops->find != NULL ? target->ops->find(target, tid, ret_thread)
                                     : SONDE_UNSUPPORTED;
}

const struct sonde__image_set *sonde__target_images(struct sonde__target *target)
{
    return &target->images.set;
}

enum sonde_status sonde__target_refresh(struct sonde__target *target, struct sonde_error *ret_error)
{
    return target->ops->refresh != NULL ? target->ops->refresh(target, ret_error) : SONDE_OK;
}

size_t sonde__target_read(struct sonde__target *target, uint64_t address, void *ret_bytes,
                          size_t size)
{
    return target->ops->read(target, address, ret_bytes, size);
}

enum sonde_status sonde__target_own_memory(struct sonde__target *target,
                                           struct sonde__target_memory *ret_memory,
                                           struct sonde_error *ret_error)
{
    return target->ops->own_memory != NULL
               ? target->ops->own_memory(target, ret_memory, ret_error)
               : sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "memory of a frozen target", NULL,
                                  0, 0);
}

bool sonde__target_tells_allocations(const struct sonde__target *target)
{
    return target->ops->allocation != NULL;
}

bool sonde__target_allocation(struct sonde__target *target, uint64_t address, uint64_t *ret_start,
                              uint64_t *ret_size)
{
    return target->ops->allocation != NULL &&
           target->ops->allocation(target, address, ret_start, ret_size);
}

enum sonde_status sonde__target_allocations(struct sonde__target *target,
                                            struct sonde__target_allocations *ret_allocations,
                                            struct sonde_error *ret_error)
{
    *ret_allocations = (struct sonde__target_allocations){.count = 0};
    return target->ops->allocations != NULL ? target->ops->allocations(ret_allocations, ret_error)
                                            : SONDE_OK;
}

void sonde__target_allocations_done(struct sonde__target_allocations *allocations)
{
    if (allocations->ranges != NULL) {
        sonde__os_unmap(allocations->ranges, allocations->mapped_bytes);
    }
    *allocations = (struct sonde__target_allocations){.count = 0};
}

void sonde__target_memory_done(struct sonde__target_memory *memory)
{
    sonde__mem_free(memory->ranges);
    *memory = (struct sonde__target_memory){0};
}

/* Files of a core have a path but no inode. */
static bool is_own(const struct sonde__host_map *map)
{
    uint32_t both = SONDE__MAP_READ | SONDE__MAP_WRITE;
    return (map->flags & both) == both && (map->flags & SONDE__MAP_SHARED) == 0 &&
           map->inode == 0 && map->path[0] != '/' && strncmp(map->path, "[stack", 6) != 0;
}

enum sonde_status sonde__target_memory_of(const struct sonde__host_maps *maps,
                                          struct sonde__target_memory *ret_memory,
                                          struct sonde_error *ret_error)
{
    struct sonde__target_memory memory = {0};
    memory.ranges = sonde__mem_alloc_array((size_t)maps->count + 1, sizeof *memory.ranges);
    if (memory.ranges == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "memory map", NULL, 0, 0);
    }
    for (uint32_t i = 0; i < maps->count; i++) {
        if (is_own(&maps->items[i])) {
            memory.ranges[memory.count++] =
                (struct sonde__target_range){maps->items[i].start, maps->items[i].end};
        }
    }
    *ret_memory = memory;
    return SONDE_OK;
}

bool sonde__target_image_bytes(struct sonde__target *target, const struct sonde__image *image,
                               const void **ret_bytes, size_t *ret_size)
{
    const struct sonde__target_images *images = &target->images;
    for (uint32_t i = 0; i < images->image_count; i++) {
        if (images->images[i].start == image->start && images->loaded[i].memory != NULL) {
            *ret_bytes = images->loaded[i].memory;
            *ret_size = images->loaded[i].memory_size;
            return true;
        }
    }
    return false;
}

void sonde__target_capture(struct sonde__target *target, const struct sonde__thread *thread,
                           struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    *ret_capture = (struct sonde__capture){.status = SONDE_ABSENT, .syscall = -1};
    sonde__stack_reset(stack);
    target->scripts.last = (struct sonde__target_script){0};
    if (target->ops->capture != NULL) {
        target->ops->capture(target, thread, stack, ret_capture);
    } else {
        ret_capture->status = SONDE_UNSUPPORTED;
    }
}

void sonde__target_expect(struct sonde__target *target, uint64_t tid, uint64_t after_ns,
                          uint32_t count)
{
    if (target->ops->expect != NULL) {
        target->ops->expect(target, tid, after_ns, count);
    }
}

bool sonde__target_met(struct sonde__target *target, uint64_t tid, struct sonde_stack *stack,
                       struct sonde__capture *ret_capture)
{
    return target->ops->met != NULL && target->ops->met(target, tid, stack, ret_capture);
}

void sonde__target_pause(struct sonde__target *target)
{
    if (target->ops->pause != NULL) {
        target->ops->pause(target);
    }
}

void sonde__target_rest(struct sonde__target *target)
{
    if (target->ops->rest != NULL) {
        target->ops->rest(target);
    }
}

enum sonde_status sonde__target_stop(struct sonde__target *target, struct sonde_error *ret_error)
{
    return target->ops->stop != NULL ? target->ops->stop(target, ret_error) : SONDE_OK;
}

void sonde__target_resume(struct sonde__target *target, uint64_t *ret_pause_ns)
{
    uint64_t pause_ns = 0;
    if (target->ops->resume != NULL) {
        target->ops->resume(target, &pause_ns);
    }
    if (ret_pause_ns != NULL) {
        *ret_pause_ns = pause_ns;
    }
}

void sonde__target_note(struct sonde__capture *capture, const char *format, ...)
{
    size_t length = strlen(capture->note);
    va_list args;
    if (length > 0 && length + 2 < sizeof capture->note) {
        memcpy(capture->note + length, "; ", 3);
        length += 2;
    }
    va_start(args, format);
    vsnprintf(capture->note + length, sizeof capture->note - length, format, args);
    va_end(args);
}
