// SPDX-License-Identifier: Apache-2.0
/* This process as a target: images, memory, allocations. Other processes are refused: Mach gives
 * their ports only to programs with an entitlement of debuggers. Threads are captured without a
 * target (api_thread_stop.c). Sources: mach/vm_region.h, mach-o/loader.h, malloc/malloc.h. */
#include <mach-o/loader.h>
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_statistics.h>
#include <malloc/malloc.h>
#include <string.h>

#include "base_status.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "os.h"
#include "target_private.h"
#include "target_self_loader.h"
#include "target_zones.h"

static void close_own(struct sonde__target *target)
{
    sonde__target_base_done(target);
    sonde__mem_free(target);
}

static size_t read_own(struct sonde__target *target, uint64_t address, void *ret_bytes, size_t size)
{
    (void)target;
    return sonde__os_read(address, ret_bytes, size);
}

/* --- images --- */

/* The end of the last segment that the program uses: data is behind the code, in the shared cache
 * far behind, with other images between. */
static uint64_t end_of(const struct sonde__image *image)
{
    const struct mach_header_64 *header = (const void *)(uintptr_t)image->start;
    const char *at = (const char *)(header + 1);
    uint64_t end = image->end;
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)at;
        uint64_t after = segment->vmaddr + image->bias + segment->vmsize;
        if (segment->cmd == LC_SEGMENT_64 && segment->initprot != 0 && after > end &&
            strncmp(segment->segname, SEG_LINKEDIT, sizeof segment->segname) != 0) {
            end = after;
        }
        at += segment->cmdsize;
    }
    return end;
}

struct taking {
    struct sonde__target_images *images;
    size_t loaded_capacity;
    bool failed;
};

static bool take_code(struct sonde__target_images *images, const struct self_object *object)
{
    struct sonde__image_range range = {.image = images->image_count};
    for (uint32_t at = 0; self_loader_code(object, &at, &range.start, &range.end);) {
        if (!SONDE__MEM_ADD(images->ranges, images->range_count, images->range_capacity, range)) {
            return false;
        }
    }
    return true;
}

/* Walks do not use these images, so they need no tables. */
static void take_image(void *ctx, struct self_object *object)
{
    struct taking *taking = ctx;
    struct sonde__target_images *images = taking->images;
    struct sonde__target_loaded loaded = {.start = object->image.start,
                                          .path = sonde__mem_copy_string(object->path)};
    struct sonde__image image = object->image;
    image.path = loaded.path;
    image.end = end_of(&image);
    image.cfi = (struct sonde__cfi){0};
    image.encodings = (struct sonde__encodings){0};
    if (loaded.path == NULL || !take_code(images, object) ||
        !sonde__mem_grow(&images->images, images->image_count, &images->image_capacity,
                         sizeof image) ||
        !sonde__mem_grow(&images->loaded, images->image_count, &taking->loaded_capacity,
                         sizeof loaded)) {
        sonde__mem_free(loaded.path);
        taking->failed = true;
        return;
    }
    images->images[images->image_count] = image;
    images->loaded[images->image_count++] = loaded;
}

static void take_images(void *ctx, const struct self_counters *counters)
{
    struct self_loader loader;
    (void)counters;
    self_loader_open(&loader);
    self_loader_each(&loader, take_image, ctx);
}

static enum sonde_status refresh_own(struct sonde__target *target, struct sonde_error *ret_error)
{
    struct sonde__target_images images = {.retired = target->images.retired};
    struct taking taking = {.images = &images};
    self_loader_hold(take_images, &taking);
    if (taking.failed) {
        images.retired = NULL;
        sonde__target_images_done(&images);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "images", NULL, 0, 0);
    }
    SONDE__SORT_BY(images.ranges, images.range_count, start);
    images.set = (struct sonde__image_set){images.images,
                                           images.ranges,
                                           images.image_count,
                                           images.range_count,
                                           target->images.set.generation + 1,
                                           0};
    target->images.retired = NULL; /* nothing freezes this kind of target */
    sonde__target_images_done(&target->images);
    target->images = images;
    return SONDE_OK;
}

/* --- memory --- */

/* Memory that is the process' own: not of a file, not shared, and no stack. */
static bool is_own(const struct vm_region_extended_info *info)
{
    const vm_prot_t both = VM_PROT_READ | VM_PROT_WRITE;
    return (info->protection & both) == both && info->external_pager == 0 &&
           info->user_tag != VM_MEMORY_STACK && info->share_mode != SM_SHARED &&
           info->share_mode != SM_TRUESHARED;
}

static enum sonde_status own_memory(struct sonde__target *target,
                                    struct sonde__target_memory *ret_memory,
                                    struct sonde_error *ret_error)
{
    struct sonde__target_memory memory = {0};
    size_t capacity = 0;
    vm_address_t at = 0;
    vm_size_t size = 0;
    (void)target;
    for (;; at += size) {
        struct vm_region_extended_info info;
        mach_msg_type_number_t count = VM_REGION_EXTENDED_INFO_COUNT;
        mach_port_t object = MACH_PORT_NULL; /* always null by vm_region.h */
        if (vm_region_64(mach_task_self(), &at, &size, VM_REGION_EXTENDED_INFO,
                         (vm_region_info_t)&info, &count, &object) != KERN_SUCCESS) {
            break; /* none from there on */
        }
        if (is_own(&info) && !SONDE__MEM_ADD(memory.ranges, memory.count, capacity,
                                             (struct sonde__target_range){at, at + size})) {
            sonde__target_memory_done(&memory);
            return sonde__base_fail(ret_error, SONDE_MEMORY, "memory map", NULL, 0, 0);
        }
    }
    *ret_memory = memory;
    return SONDE_OK;
}

/* By itself, a zone knows the beginnings of allocations only. It takes any address. */
static bool allocation_at(struct sonde__target *target, uint64_t address, uint64_t *ret_start,
                          uint64_t *ret_size)
{
    (void)target;
    *ret_start = address;
    *ret_size = malloc_size((const void *)(uintptr_t)address);
    return *ret_size != 0;
}

static const struct sonde__target_ops own_ops = {.close = close_own,
                                                 .refresh = refresh_own,
                                                 .read = read_own,
                                                 .own_memory = own_memory,
                                                 .allocation = allocation_at,
                                                 .allocations = target_zones_list};

enum sonde_status sonde__target_open_process(int32_t pid,
                                             const struct sonde__target_options *options,
                                             struct sonde__target **ret_target,
                                             struct sonde_error *ret_error)
{
    struct sonde__target *target;
    enum sonde_status status;
    (void)options;
    if (pid != sonde__os_pid()) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "another process: on this system only the own one can be opened",
                                NULL, 0, (uint64_t)pid);
    }
    target = sonde__mem_alloc_zeroed(sizeof *target);
    if (target == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "target", NULL, 0, 0);
    }
    target->ops = &own_ops;
    target->pid = pid;
    target->arch = SONDE__ARCH_HOST;
    target->is_live = true;
    status = refresh_own(target, ret_error);
    if (status != SONDE_OK) {
        close_own(target);
        return status;
    }
    *ret_target = target;
    return SONDE_OK;
}
