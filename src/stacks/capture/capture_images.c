// SPDX-License-Identifier: Apache-2.0
#include "capture_images.h"

#include "arch_regs.h"
#include "base_mem.h"
#include "capture_made.h"
#include "capture_memo.h"
#include "capture_program.h"
#include "os.h"
#include "unwind_memory.h"

enum { CACHE_LINE = 64 };

static struct {
    _Alignas(CACHE_LINE) uint32_t pinned;
} stripes[SONDE__CAPTURE_STRIPES];

static const struct sonde__image_set *published;
uint64_t sonde__capture_published_generation;

/* Thread control blocks are a stack's size apart; the multiplication spreads any such distance. */
static uint32_t own_stripe(void)
{
    uint64_t mixed = (sonde__os_thread_pointer() >> 6) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 58);
}

struct sonde__capture_pin sonde__capture_pin(void)
{
    struct sonde__capture_pin pin;
    pin.stripe = own_stripe();
    /* sequentially consistent, like the writer's swap and look: either the writer sees this
     * count, or this load sees the new pointer */
    __atomic_fetch_add(&stripes[pin.stripe].pinned, 1, __ATOMIC_SEQ_CST);
    pin.images = __atomic_load_n(&published, __ATOMIC_SEQ_CST);
    return pin;
}

void sonde__capture_unpin(struct sonde__capture_pin pin)
{
    /* release: pairs with the writer's look: all use of the snapshot comes before it */
    __atomic_fetch_sub(&stripes[pin.stripe].pinned, 1, __ATOMIC_RELEASE);
}

const struct sonde__image_set *sonde__capture_publish(const struct sonde__image_set *images)
{
    const struct sonde__image_set *before =
        __atomic_exchange_n(&published, images, __ATOMIC_SEQ_CST);
    __atomic_store_n(&sonde__capture_published_generation, images != NULL ? images->generation : 0,
                     __ATOMIC_RELAXED);
    return before;
}

uint64_t sonde__capture_stripes_idle(void)
{
    uint64_t idle = 0;
    for (uint32_t i = 0; i < SONDE__CAPTURE_STRIPES; i++) {
        if (__atomic_load_n(&stripes[i].pinned, __ATOMIC_SEQ_CST) == 0) {
            idle |= (uint64_t)1 << i;
        }
    }
    return idle;
}

void sonde__capture_forget_pins(void)
{
    for (uint32_t i = 0; i < SONDE__CAPTURE_STRIPES; i++) {
        __atomic_store_n(&stripes[i].pinned, 0, __ATOMIC_SEQ_CST);
    }
}

/* Other things may use the memory by now, and a sanitizer does not see the loader free it. */
SONDE__NO_SANITIZE static bool has_bytes(const uint8_t *at, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (*(const volatile uint8_t *)(at + i) != bytes[i]) {
            return false;
        }
    }
    return true;
}

/* Is the loader's image here the one of the snapshot? Another one may have been loaded at the
 * same place, with its records at the same address; but the build-id in memory differs then.
 * (The object cannot be unloaded now: its code is on the walked stack.) */
static bool is_same(const uint8_t *eh_frame_hdr, const uint8_t *build_id_at,
                    const struct sonde__build_id *build_id, const struct sonde__os_image *found)
{
    uint64_t id_at = (uint64_t)(uintptr_t)build_id_at;
    return (uint64_t)(uintptr_t)eh_frame_hdr == found->eh_frame_hdr && build_id->size != 0 &&
           id_at >= found->start && id_at < found->end && found->end - id_at >= build_id->size &&
           has_bytes(build_id_at, build_id->bytes, build_id->size);
}

bool sonde__capture_image_is_still_loaded(const struct sonde__memo_image *image)
{
    struct sonde__os_image found;
    if (!sonde__os_find_image(image->start, &found)) {
        return false; /* unloaded; or no answer, and it may be unloaded */
    }
    return is_same(image->eh_frame_hdr, image->build_id_at, &image->build_id, &found);
}

const struct sonde__image *sonde__capture_check_image(struct sonde__capture_finder *finder,
                                                      const struct sonde__image *image, uint64_t pc)
{
    struct sonde__os_image found;
    if (image != NULL && image->is_permanent) {
        return image;
    }
    if (!sonde__os_find_image(pc, &found)) {
        /* a loader that knows all images says no */
        return image != NULL && sonde__os_loader_answers() ? NULL : image;
    }
    if (image != NULL &&
        is_same(image->cfi.eh_frame_hdr, image->build_id_at, &image->build_id, &found)) {
        return image;
    }
    sonde__capture_make_image(&finder->made, &found);
    return &finder->made;
}

/* The image of the snapshot, or of the program. */
static const struct sonde__image *find_known(const struct sonde__capture_finder *finder,
                                             uint64_t pc, uint64_t *ret_start, uint64_t *ret_end)
{
    const struct sonde__image_set *set = finder->snapshot;
    const struct sonde__image_range *range = set != NULL ? sonde__image_range_find(set, pc) : NULL;
    if (range == NULL || range->image >= set->image_count) {
        return sonde__capture_program_find(pc, ret_start, ret_end);
    }
    *ret_start = range->start;
    *ret_end = range->end;
    return &set->images[range->image];
}

const struct sonde__image *sonde__capture_find_image(void *finder, uint64_t pc, uint64_t *ret_start,
                                                     uint64_t *ret_end)
{
    struct sonde__capture_finder *f = finder;
    const struct sonde__image *image =
        sonde__capture_check_image(f, find_known(f, pc, ret_start, ret_end), pc);
    if (image == &f->made) {
        *ret_start = image->start;
        *ret_end = image->end;
    }
    return image;
}

/* Like is_same(), for an image that nothing keeps loaded. */
static bool is_same_doubtful(const struct sonde__image *image, const struct sonde__os_image *found)
{
    uint8_t bytes[SONDE__BUILD_ID_MAX];
    size_t size = image->build_id.size;
    return (uint64_t)(uintptr_t)image->cfi.eh_frame_hdr == found->eh_frame_hdr && size != 0 &&
           sonde__os_read((uint64_t)(uintptr_t)image->build_id_at, bytes, size) == size &&
           sonde__base_mem_compare(bytes, image->build_id.bytes, size) == 0;
}

const struct sonde__image *sonde__capture_find_doubtful(void *finder, uint64_t pc,
                                                        uint64_t *ret_start, uint64_t *ret_end)
{
    struct sonde__capture_finder *f = finder;
    struct sonde__os_image found;
    if (!sonde__os_loader_answers()) {
        /* musl, static: nothing is ever unloaded */
        return sonde__capture_find_image(finder, pc, ret_start, ret_end);
    }
    const struct sonde__image *image = find_known(f, pc, ret_start, ret_end);
    if (image != NULL && image->is_permanent) {
        return image;
    }
    if (!sonde__os_find_image(pc, &found)) {
        return NULL;
    }
    sonde__base_mem_set(&f->made, 0, sizeof f->made);
    f->made.path = "";
    f->made.start = found.start;
    f->made.end = found.end;
    f->made.arch = SONDE__ARCH_HOST;
    if (image != NULL && image->rules != NULL && is_same_doubtful(image, &found)) {
        f->made.bias = image->bias;
        f->made.rules = image->rules;
    }
    *ret_start = found.start;
    *ret_end = found.end;
    return &f->made;
}
