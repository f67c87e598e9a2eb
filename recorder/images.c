// SPDX-License-Identifier: Apache-2.0
/* The log of images: whoever reads the record finds out by it what its addresses were. */
#include <string.h>

#include "capture_images.h"
#include "recorder.h"

enum { TEXT_LOST = UINT32_MAX };

/* Offset of a copy in the page's text; its last byte stays 0. */
static uint32_t put_text(const char *text)
{
    struct sonde__record_page *page = recorder_page;
    size_t size = strlen(text) + 1;
    uint32_t at = page->text_used;
    if (size > sizeof page->text - 1 - at) {
        return TEXT_LOST;
    }
    memcpy(page->text + at, text, size);
    page->text_used += (uint32_t)size;
    return at;
}

static bool is_same(const struct sonde__record_image *logged, const struct sonde__image *image)
{
    return atomic_load_explicit(&logged->closed_node, memory_order_relaxed) == 0 &&
           logged->start == image->start && logged->bias == image->bias &&
           logged->build_id.size == image->build_id.size &&
           memcmp(logged->build_id.bytes, image->build_id.bytes, image->build_id.size) == 0;
}

static bool is_there(const struct sonde__image_set *set, const struct sonde__record_image *logged)
{
    for (uint32_t i = 0; i < set->image_count; i++) {
        if (is_same(logged, &set->images[i])) {
            return true;
        }
    }
    return false;
}

/* Its frames are of an image that is gone: what is loaded there later gets other nodes. */
static void close_image(struct sonde__record_image *logged)
{
    struct sonde__depot *depot = sonde__record_depot(recorder_record);
    (void)sonde__depot_close(depot, logged->start, logged->end);
    atomic_store_explicit(&logged->closed_node, sonde__depot_next(depot), memory_order_release);
}

static void add_image(const struct sonde__image *image)
{
    struct sonde__record_page *page = recorder_page;
    uint32_t count = atomic_load_explicit(&page->image_count, memory_order_relaxed);
    uint32_t path = put_text(image->path);
    if (count == sizeof page->images / sizeof page->images[0] || path == TEXT_LOST) {
        atomic_fetch_add_explicit(&page->images_lost, 1, memory_order_relaxed);
        return;
    }
    struct sonde__record_image *logged = &page->images[count];
    logged->start = image->start;
    logged->end = image->end;
    logged->bias = image->bias;
    logged->path = path;
    logged->flags = image->flags;
    logged->first_node = sonde__depot_next(sonde__record_depot(recorder_record));
    logged->build_id = image->build_id;
    atomic_store_explicit(&page->image_count, count + 1, memory_order_release);
}

void recorder_log_images(void)
{
    struct sonde__record_page *page = recorder_page;
    struct sonde__capture_pin pin = sonde__capture_pin();
    uint32_t count = atomic_load_explicit(&page->image_count, memory_order_relaxed);
    for (uint32_t i = 0; pin.images != NULL && i < count; i++) {
        if (atomic_load_explicit(&page->images[i].closed_node, memory_order_relaxed) == 0 &&
            !is_there(pin.images, &page->images[i])) {
            close_image(&page->images[i]);
        }
    }
    for (uint32_t i = 0; pin.images != NULL && i < pin.images->image_count; i++) {
        bool is_known = false;
        for (uint32_t k = 0; k < count && !is_known; k++) {
            is_known = is_same(&page->images[k], &pin.images->images[i]);
        }
        if (!is_known) {
            add_image(&pin.images->images[i]);
        }
    }
    sonde__capture_unpin(pin);
}

static bool is_logged(const struct sonde__record_blind *blind, const char *module,
                      const struct sonde__hook_blind *from, uint32_t function)
{
    const char *known = blind->module != TEXT_LOST ? recorder_page->text + blind->module : NULL;
    return blind->reason == (uint32_t)from->reason && blind->function == function &&
           (known == NULL) == (module == NULL) && (known == NULL || strcmp(known, module) == 0);
}

static void add_blind(const struct sonde__hook_blind *from)
{
    struct sonde__record_page *page = recorder_page;
    uint32_t count = atomic_load_explicit(&page->blind_count, memory_order_relaxed);
    uint32_t function = UINT32_MAX;
    for (uint32_t i = 0; from->function != NULL && i < page->function_count; i++) {
        if (strcmp(page->names + page->functions[i].name, from->function) == 0) {
            function = i;
        }
    }
    uint32_t module = TEXT_LOST;
    for (uint32_t i = 0; i < count; i++) {
        if (is_logged(&page->blinds[i], from->module, from, function)) {
            return;
        }
        if (module == TEXT_LOST && from->module != NULL && page->blinds[i].module != TEXT_LOST &&
            strcmp(page->text + page->blinds[i].module, from->module) == 0) {
            module = page->blinds[i].module;
        }
    }
    if (from->module != NULL && module == TEXT_LOST) {
        module = put_text(from->module);
    }
    if (count == sizeof page->blinds / sizeof page->blinds[0] ||
        (from->module != NULL && module == TEXT_LOST)) {
        atomic_fetch_add_explicit(&page->blinds_lost, 1, memory_order_relaxed);
        return;
    }
    page->blinds[count] = (struct sonde__record_blind){module, function, (uint32_t)from->reason};
    atomic_store_explicit(&page->blind_count, count + 1, memory_order_release);
}

void recorder_log_blinds(void)
{
    size_t count = 0;
    const struct sonde__hook_blind *blinds = sonde__hook_blinds(recorder_hooks, &count);
    for (size_t i = 0; i < count; i++) {
        add_blind(&blinds[i]);
    }
    atomic_store_explicit(&recorder_page->slots, sonde__hook_slots(recorder_hooks),
                          memory_order_relaxed);
}
