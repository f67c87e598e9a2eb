// SPDX-License-Identifier: Apache-2.0
/* This process as a target: images, memory, allocations, threads. Other processes are refused: Mach
 * gives their ports only to programs with an entitlement of debuggers. Sources: mach/vm_region.h,
 * mach-o/loader.h, malloc/malloc.h. */
#include <mach-o/loader.h>
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_statistics.h>
#include <malloc/malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "capture_stopped.h"
#include "host_ports.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "os.h"
#include "target_private.h"
#include "target_self.h"
#include "target_self_loader.h"
#include "target_zones.h"

static void close_own(struct sonde__target *target)
{
    sonde__host_ports_done();
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

struct own {
    struct sonde__target base;
    struct self_counters counters; /* of the images as read */
};

struct taking {
    struct sonde__target_images *images;
    struct self_counters counters;
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
    struct taking *taking = ctx;
    taking->counters = *counters;
    self_loader_open(&loader);
    self_loader_each(&loader, take_image, ctx);
}

static void read_counters(void *ctx, const struct self_counters *counters)
{
    *(struct self_counters *)ctx = *counters;
}

static enum sonde_status refresh_own(struct sonde__target *target, struct sonde_error *ret_error)
{
    struct own *own = (struct own *)target;
    struct sonde__target_images images = {0};
    struct taking taking = {.images = &images};
    self_loader_hold(read_counters, &taking.counters);
    if (target->images.set.generation != 0 && taking.counters.adds == own->counters.adds &&
        taking.counters.subs == own->counters.subs) {
        return SONDE_OK;
    }
    self_loader_hold(take_images, &taking);
    if (taking.failed) {
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
    sonde__target_images_replace(&target->images, &images);
    own->counters = taking.counters;
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

/* --- threads --- */

static enum sonde_status describe_own(const struct sonde__os_stop *stop,
                                      struct sonde__thread *ret_thread)
{
    struct sonde__os_stop_text told;
    struct sonde__text name;
    SONDE_TRY(sonde__os_stop_describe(stop, &told));
    *ret_thread = (struct sonde__thread){.tid = stop->tid,
                                         .state = (uint8_t)sonde__target_thread_state(told.letter),
                                         .letter = told.letter,
                                         .main = stop->tid == sonde__os_main_tid()};
    sonde__base_text_init(&name, ret_thread->name, sizeof ret_thread->name);
    sonde__base_text_str(&name, told.name);
    sonde__base_text_end_whole(&name);
    return SONDE_OK;
}

static enum sonde_status find_own(struct sonde__target *target, uint64_t tid,
                                  struct sonde__thread *ret_thread)
{
    struct sonde__os_stop stop;
    (void)target;
    SONDE_TRY(sonde__host_port_of(tid, &stop));
    return describe_own(&stop, ret_thread);
}

/* Threads of one moment; more are left out (see the report's total). */
enum { THREADS_MAX = 512 };

static int by_tid(const void *a, const void *b)
{
    const struct sonde__thread *x = a, *y = b;
    return x->main != y->main ? (x->main ? -1 : 1) : x->tid < y->tid ? -1 : x->tid > y->tid;
}

static enum sonde_status list_own(struct sonde__target *target, struct sonde_error *ret_error)
{
    struct sonde__os_stop stops[THREADS_MAX];
    size_t total = 0;
    sonde__mem_free(target->threads);
    target->thread_count = 0;
    target->threads = sonde__mem_alloc_array(THREADS_MAX, sizeof *target->threads);
    if (target->threads == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "threads", NULL, 0, 0);
    }
    if (sonde__os_stop_open_all(stops, THREADS_MAX, &total) != SONDE_OK) {
        return sonde__base_fail(ret_error, SONDE_OS, "the list of threads", NULL, 0, 0);
    }
    for (size_t i = 0; i < total && i < THREADS_MAX; i++) {
        target->thread_count +=
            describe_own(&stops[i], &target->threads[target->thread_count]) == SONDE_OK;
        sonde__os_stop_close(&stops[i]);
    }
    qsort(target->threads, target->thread_count, sizeof *target->threads, by_tid);
    return SONDE_OK;
}

struct stopping {
    struct sonde__stopped thread;
    uint64_t taken_ns, pause_ns;
};

static void stop_and_walk(void *ctx)
{
    struct stopping *stopping = ctx;
    stopping->taken_ns = sonde__os_now_ns();
    sonde__capture_stopped(&stopping->thread, 1);
    stopping->pause_ns = sonde__os_now_ns() - stopping->taken_ns;
}

/* Stops this thread only. */
static void capture_own(struct sonde__target *target, const struct sonde__thread *thread,
                        struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    struct sonde__os_stop_purpose purpose = {.qos = 0};
    struct stopping stopping = {.thread = {.stack = *stack, .purpose = &purpose}};
    (void)target;
    ret_capture->status = sonde__host_port_of(thread->tid, &stopping.thread.stop);
    if (ret_capture->status != SONDE_OK) {
        return;
    }
    sonde__target_self_hold_images(stop_and_walk, &stopping);
    *stack = stopping.thread.stack;
    ret_capture->status = stopping.thread.status;
    ret_capture->time_ns = stopping.taken_ns;
    if (ret_capture->status == SONDE_OK) {
        ret_capture->by = SONDE__CAPTURED_STOP;
        ret_capture->pause_ns = stopping.pause_ns;
        ret_capture->qos = purpose.qos;
        memcpy(ret_capture->queue, purpose.queue, sizeof ret_capture->queue);
    } else if (ret_capture->status == SONDE_OS) {
        sonde__target_note(ret_capture,
                           "the kernel did not stop the thread, or not show its registers");
    }
}

static void rest_own(struct sonde__target *target)
{
    (void)target;
    sonde__host_ports_done();
}

static const struct sonde__target_ops own_ops = {.close = close_own,
                                                 .list = list_own,
                                                 .find = find_own,
                                                 .capture = capture_own,
                                                 .rest = rest_own,
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
        return sonde__base_fail(
            ret_error, SONDE_UNSUPPORTED,
            "sonde reads no other processes on this system, only cores and files", NULL, 0,
            (uint64_t)pid);
    }
    target = sonde__mem_alloc_zeroed(sizeof(struct own));
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
