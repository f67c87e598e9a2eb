// SPDX-License-Identifier: Apache-2.0
/* The log of images, with which a reader of the record resolves addresses. */
#include <stddef.h>
#include <string.h>

#include "capture_images.h"
#include "record_v8.h"
#include "recorder.h"

enum { TEXT_LOST = UINT32_MAX };

/* How far the page is filled. The page's own counts are for its reader. */
static uint32_t text_used, blind_count, site_count;
static struct sonde__record_images known;

/* Copy a text to the page and return its offset; the last byte of the page's text stays 0. */
static uint32_t put_text(const char *text)
{
    struct sonde__record_page *page = recorder_page;
    size_t size = strlen(text) + 1;
    uint32_t at = text_used;
    if (size > sizeof page->text - 1 - at) {
        return TEXT_LOST;
    }
    memcpy(page->text + at, text, size);
    text_used += (uint32_t)size;
    page->text_used = text_used;
    return at;
}

static bool is_text_at(uint32_t at, const char *text)
{
    size_t size = strlen(text) + 1, all = sizeof recorder_page->text;
    return at < all && size <= all - at && memcmp(recorder_page->text + at, text, size) == 0;
}

/* Store the entry before the count that includes it. */
static bool add_image(void *ctx, struct sonde__record_image *logged,
                      const struct sonde__image *image)
{
    struct sonde__record_page *page = ctx;
    logged->path = put_text(image->path);
    if (logged->path == TEXT_LOST) {
        return false;
    }
    atomic_store_explicit(&page->image_count, (uint32_t)(logged - page->images) + 1,
                          memory_order_release);
    return true;
}

void recorder_log_images(void)
{
    struct sonde__record_page *page = recorder_page;
    known.images = page->images;
    known.most = sizeof page->images / sizeof page->images[0];
    struct sonde__capture_pin pin = sonde__capture_pin();
    uint32_t lost = sonde__record_look(&known, sonde__record_depot(recorder_record), pin.images,
                                       add_image, page);
    sonde__capture_unpin(pin);
    if (lost != 0) {
        atomic_fetch_add_explicit(&page->images_lost, lost, memory_order_relaxed);
    }
}

static bool is_logged(const struct sonde__record_blind *blind, const char *module,
                      const struct sonde__hook_blind *from, uint32_t function)
{
    return blind->reason == (uint32_t)from->reason && blind->function == function &&
           (blind->module == TEXT_LOST) == (module == NULL) &&
           (module == NULL || is_text_at(blind->module, module));
}

static void add_blind(const struct sonde__hook_blind *from)
{
    struct sonde__record_page *page = recorder_page;
    uint32_t function = UINT32_MAX;
    for (uint32_t i = 0; from->function != NULL && i < recorder_name_count; i++) {
        if (strcmp(recorder_names[i], from->function) == 0) {
            function = i;
        }
    }
    if (from->function != NULL && function == UINT32_MAX) {
        return; /* only of interest to the recorder */
    }
    uint32_t module = TEXT_LOST;
    for (uint32_t i = 0; i < blind_count; i++) {
        if (is_logged(&page->blind_spots[i], from->module, from, function)) {
            return;
        }
        if (module == TEXT_LOST && from->module != NULL &&
            is_text_at(page->blind_spots[i].module, from->module)) {
            module = page->blind_spots[i].module;
        }
    }
    if (from->module != NULL && module == TEXT_LOST) {
        module = put_text(from->module);
    }
    if (blind_count == sizeof page->blind_spots / sizeof page->blind_spots[0] ||
        (from->module != NULL && module == TEXT_LOST)) {
        atomic_fetch_add_explicit(&page->blind_spots_lost, 1, memory_order_relaxed);
        return;
    }
    page->blind_spots[blind_count++] =
        (struct sonde__record_blind){module, function, (uint32_t)from->reason};
    atomic_store_explicit(&page->blind_count, blind_count, memory_order_release);
}

void recorder_log_blind_spots(void)
{
    static uint64_t sweeps;
    size_t count = 0;
    if (sonde__hook_sweeps(recorder_hooks) == sweeps) {
        return;
    }
    sweeps = sonde__hook_sweeps(recorder_hooks);
    const struct sonde__hook_blind *blind_spots = sonde__hook_blind_spots(recorder_hooks, &count);
    for (size_t i = 0; i < count; i++) {
        add_blind(&blind_spots[i]);
    }
}

void recorder_log_site(const char *module, uint64_t vaddr, enum sonde__raw_result result)
{
    struct sonde__record_page *page = recorder_page;
    const uint32_t most = sizeof page->sites / sizeof page->sites[0];
    uint32_t text = TEXT_LOST;
    if (site_count != 0 && is_text_at(page->sites[site_count - 1].module, module)) {
        text = page->sites[site_count - 1].module;
    } else if (site_count < most) {
        text = put_text(module);
    }
    if (text == TEXT_LOST || site_count == most) {
        atomic_fetch_add_explicit(&page->sites_lost, 1, memory_order_relaxed);
        return;
    }
    page->sites[site_count++] = (struct sonde__record_site){text, (uint32_t)result, vaddr};
    atomic_store_explicit(&page->site_count, site_count, memory_order_release);
}

static void continue_script(const struct sonde__script_page *from)
{
    struct sonde__script_page *page = &recorder_page->script;
    size_t size = offsetof(struct sonde__script_page, missing);
    memcpy((char *)page + sizeof page->is_set, (const char *)from + sizeof page->is_set,
           size - sizeof page->is_set);
    memcpy(page->unread, from->unread, sizeof page->unread);
    sonde__record_script_restart();
    sonde__record_v8_restart();
    atomic_store(&page->is_set, atomic_load(&from->is_set));
}

/* Images that were unloaded before are of no node of the new depot. */
void recorder_continue_log(const struct sonde__record_page *from)
{
    struct sonde__record_page *page = recorder_page;
    memcpy(page->images, from->images, known.count * sizeof page->images[0]);
    memcpy(page->blind_spots, from->blind_spots, blind_count * sizeof page->blind_spots[0]);
    memcpy(page->sites, from->sites, site_count * sizeof page->sites[0]);
    memcpy(page->text, from->text, text_used);
    for (uint32_t i = 0; i < known.count; i++) {
        page->images[i].first_node = SONDE__DEPOT_FIRST;
        if (atomic_load(&page->images[i].closed_node) != 0) {
            atomic_store(&page->images[i].closed_node, 1);
        }
    }
    for (uint32_t i = 0; i < recorder_name_count; i++) {
        atomic_store(&page->functions[i].method, atomic_load(&from->functions[i].method));
        memcpy(page->functions[i].overrider, from->functions[i].overrider,
               sizeof page->functions[i].overrider);
        atomic_store(&page->functions[i].overriders, atomic_load(&from->functions[i].overriders));
    }
    continue_script(&from->script);
    known.images = page->images;
    page->own_start = from->own_start;
    page->own_end = from->own_end;
    page->text_used = text_used;
    atomic_store(&page->site_count, site_count);
    atomic_store(&page->blind_count, blind_count);
    atomic_store(&page->image_count, known.count);
}
