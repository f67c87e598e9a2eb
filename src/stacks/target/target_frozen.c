// SPDX-License-Identifier: Apache-2.0
#include "target_frozen.h"

#include <string.h>

#include "mem_heap.h"
#include "os.h"
#include "target_private.h"

struct frozen {
    struct sonde__target base;
    struct sonde__target_retired *retired; /* of the original target; counts this one as a user */
};

static void close_frozen(struct sonde__target *target)
{
    struct frozen *f = (struct frozen *)target;
    sonde__mem_free(target->images.images);
    sonde__mem_free(target->images.ranges);
    sonde__mem_free(target->images.loaded);
    target->images = (struct sonde__target_images){0}; /* what they point to is the original's */
    sonde__target_base_done(target);
    if (f->retired != NULL) {
        atomic_fetch_sub_explicit(&f->retired->users, 1, memory_order_release);
    }
    sonde__mem_free(f);
}

static size_t read_process(struct sonde__target *target, uint64_t address, void *ret_bytes,
                           size_t size)
{
    return sonde__os_read_process(target->pid, address, ret_bytes, size, NULL);
}

static const struct sonde__target_ops frozen_ops = {.close = close_frozen, .read = read_process};

static void *copy_array(const void *from, size_t count, size_t size)
{
    void *to = sonde__mem_alloc_array(count + 1, size);
    if (to != NULL && count > 0) {
        memcpy(to, from, count * size);
    }
    return to;
}

static bool copy_images(const struct sonde__target_images *from, struct sonde__target_images *to)
{
    to->images = copy_array(from->images, from->image_count, sizeof *from->images);
    to->ranges = copy_array(from->ranges, from->range_count, sizeof *from->ranges);
    to->loaded = copy_array(from->loaded, from->image_count, sizeof *from->loaded);
    to->image_count = from->image_count;
    to->range_count = from->range_count;
    to->set = (struct sonde__image_set){to->images, to->ranges, from->image_count,
                                        from->range_count, from->set.generation};
    for (uint32_t i = 0; to->images != NULL && i < to->image_count; i++) {
        to->images[i].rules = NULL; /* no walks here */
    }
    return to->images != NULL && to->ranges != NULL && to->loaded != NULL;
}

enum sonde_status sonde__target_freeze(struct sonde__target *target,
                                       struct sonde__target **ret_frozen)
{
    struct frozen *f = sonde__mem_alloc_zeroed(sizeof *f);
    if (f == NULL) {
        return SONDE_MEMORY;
    }
    f->base.ops = &frozen_ops;
    f->base.pid = target->pid;
    f->base.arch = target->arch;
    f->base.mode = target->mode;
    f->base.is_live = target->is_live;
    f->base.scripts.has_image = target->scripts.has_image;
    f->base.scripts.is_packed = target->scripts.is_packed;
    f->base.scripts.build_id = target->scripts.build_id;
    f->base.scripts.bias = target->scripts.bias;
    f->base.root = sonde__mem_copy_string(sonde__target_root(target));
    f->base.own_root = target->own_root != NULL ? sonde__mem_copy_string(target->own_root) : NULL;
    f->base.executable = sonde__mem_copy_string(sonde__target_executable(target));
    f->retired = sonde__target_images_share(&target->images);
    if (!copy_images(&target->images, &f->base.images) || f->retired == NULL ||
        f->base.root == NULL || f->base.executable == NULL) {
        close_frozen(&f->base);
        return SONDE_MEMORY;
    }
    *ret_frozen = &f->base;
    return SONDE_OK;
}
