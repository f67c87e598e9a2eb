// SPDX-License-Identifier: Apache-2.0
#include "audit_page.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch_regs.h"
#include "hook.h"
#include "hook_method.h"
#include "mem_heap.h"

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* Load each word exactly once: a compiler may turn a plain access into two loads. */
static void load(void *to, const void *from, size_t size)
{
    uint32_t *words = to;
    const volatile uint32_t *at = from;
    for (size_t i = 0; i < size / sizeof *words; i++) {
        words[i] = at[i];
    }
}

/* The same of `field` up to its first `count` elements, at the same place of both. */
#define LOAD(page, memory, field, count)                                                           \
    load((page)->field, (const char *)(memory) + offsetof(struct sonde__record_page, field),       \
         (count) * sizeof((page)->field[0]))

static uint32_t at_most(uint32_t count, uint32_t most)
{
    return count < most ? count : most;
}

static void check_images(struct sonde__record_page *page)
{
    for (uint32_t i = 0; i < atomic_load(&page->image_count); i++) {
        struct sonde__record_image *image = &page->images[i];
        if (image->build_id.size > SONDE__BUILD_ID_MAX) {
            image->build_id.size = 0;
        }
    }
}

static void end_names(struct sonde__record_page *page)
{
    for (uint32_t i = 0; i < SONDE__RECORD_PHASES; i++) {
        page->phases.list[i].name[SONDE__RECORD_PHASE_NAME - 1] = '\0';
    }
    for (uint32_t i = 0; i < page->function_count; i++) {
        page->functions[i].overrider[SONDE__RECORD_CLASS_BYTES - 1] = '\0';
    }
}

void sonde__audit_page_take_phases(struct sonde__record_page *page, const void *memory)
{
    const struct sonde__record_page *from = memory;
    load(&page->phases, &from->phases, sizeof page->phases);
    end_names(page);
}

/* The program writes text, then an entry that refers to it, then the count: so the counts are
 * loaded before the entries, and the text last. */
static void copy(struct sonde__record_page *page, const void *memory)
{
    const struct sonde__record_page *from = memory;
    load(page, from, offsetof(struct sonde__record_page, functions));
    atomic_thread_fence(memory_order_acquire);
    page->function_count = at_most(page->function_count, COUNT_OF(page->functions));
    atomic_store(&page->image_count,
                 at_most(atomic_load(&page->image_count), COUNT_OF(page->images)));
    atomic_store(&page->blind_count,
                 at_most(atomic_load(&page->blind_count), COUNT_OF(page->blind_spots)));
    atomic_store(&page->site_count, at_most(atomic_load(&page->site_count), COUNT_OF(page->sites)));
    LOAD(page, from, functions, page->function_count);
    LOAD(page, from, images, atomic_load(&page->image_count));
    LOAD(page, from, blind_spots, atomic_load(&page->blind_count));
    LOAD(page, from, sites, atomic_load(&page->site_count));
    atomic_thread_fence(memory_order_acquire);
    load(&page->text_used, &from->text_used, sizeof page->text_used);
    page->text_used = at_most(page->text_used, COUNT_OF(page->text));
    LOAD(page, from, text, ((size_t)page->text_used + 3u) / 4u * 4u);
    page->text[sizeof page->text - 1] = '\0';
    end_names(page);
    check_images(page);
}

/* A place in a copy that holds the offset of a text. */
struct reference {
    const char *text;
    uint32_t *at;
};

static void refer(struct sonde__record_page *page, struct reference *reference, uint32_t *at)
{
    uint32_t last = sizeof page->text - 1;
    *at = at_most(*at, last);
    if (last - *at >= SONDE__AUDIT_TEXT_MAX) {
        page->text[*at + SONDE__AUDIT_TEXT_MAX - 1] = '\0';
    }
    *reference = (struct reference){page->text + *at, at};
}

static uint32_t refer_all(struct sonde__record_page *page, struct reference *references)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < atomic_load(&page->image_count); i++) {
        refer(page, &references[count++], &page->images[i].path);
    }
    for (uint32_t i = 0; i < atomic_load(&page->blind_count); i++) {
        if (page->blind_spots[i].module != UINT32_MAX) {
            refer(page, &references[count++], &page->blind_spots[i].module);
        }
    }
    for (uint32_t i = 0; i < atomic_load(&page->site_count); i++) {
        refer(page, &references[count++], &page->sites[i].module);
    }
    return count;
}

static int by_text(const void *left, const void *right)
{
    const struct reference *a = left, *b = right;
    return a->text == b->text ? 0 : strcmp(a->text, b->text);
}

/* Check the offsets of text, and let equal texts share one: readers compare numbers, where a
 * hostile page would have them compare long texts with each other. */
static enum sonde_status settle_texts(struct sonde__record_page *page)
{
    size_t most = (size_t)atomic_load(&page->image_count) + atomic_load(&page->blind_count) +
                  atomic_load(&page->site_count);
    struct reference *references = sonde__mem_alloc_array(most + 1, sizeof *references);
    if (references == NULL) {
        return SONDE_MEMORY;
    }
    uint32_t count = refer_all(page, references);
    qsort(references, count, sizeof *references, by_text);
    for (uint32_t i = 1; i < count; i++) {
        if (by_text(&references[i - 1], &references[i]) == 0) {
            *references[i].at = *references[i - 1].at;
        }
    }
    sonde__mem_free(references);
    return SONDE_OK;
}

enum sonde_status sonde__audit_page_copy(const void *memory, struct sonde__record_page **ret_page)
{
    struct sonde__record_page *page = sonde__mem_alloc_zeroed(sizeof *page);
    if (page == NULL) {
        return SONDE_MEMORY;
    }
    copy(page, memory);
    if (settle_texts(page) != SONDE_OK) {
        sonde__mem_free(page);
        return SONDE_MEMORY;
    }
    *ret_page = page;
    return SONDE_OK;
}

void sonde__audit_page_free(struct sonde__record_page *page)
{
    sonde__mem_free(page);
}

const char *sonde__audit_page_damaged(const struct sonde__record_page *page, uint32_t nodes,
                                      uint32_t functions, uint32_t *ret_at)
{
    const struct {
        const char *name;
        uint32_t at;
        bool is_damaged;
    } fields[] = {
        {"version", offsetof(struct sonde__record_page, version),
         page->version != SONDE__RECORD_PAGE_VERSION},
        {"nodes", offsetof(struct sonde__record_page, nodes), page->nodes != nodes},
        {"function_count", offsetof(struct sonde__record_page, function_count),
         page->function_count != functions},
        {"state", offsetof(struct sonde__record_page, state),
         atomic_load(&page->state) > SONDE__RECORD_FAILED},
    };
    for (uint32_t i = 0; i < COUNT_OF(fields); i++) {
        if (fields[i].is_damaged) {
            *ret_at = fields[i].at;
            return fields[i].name;
        }
    }
    return NULL;
}

void sonde__audit_page_defined(const struct sonde__record_page *page,
                               struct sonde__audit_defined *ret_defined)
{
    memset(ret_defined, 0, sizeof *ret_defined);
    for (uint32_t i = 0; i < atomic_load(&page->blind_count); i++) {
        const struct sonde__record_blind *blind = &page->blind_spots[i];
        if (blind->reason == SONDE__HOOK_INSIDE && blind->function < SONDE__RECORD_FUNCTIONS) {
            ret_defined->functions[blind->function] = true;
        }
    }
}

bool sonde__audit_page_overridden(const struct sonde__record_page *page, uint32_t index,
                                  char ret_text[SONDE__AUDIT_OVERRIDDEN_BYTES])
{
    const struct sonde__record_function *function = &page->functions[index];
    return sonde__hook_override_text(function->overrider, atomic_load(&function->overriders),
                                     ret_text, SONDE__AUDIT_OVERRIDDEN_BYTES);
}

struct sonde__image sonde__audit_page_image(const struct sonde__record_page *page, uint32_t index)
{
    const struct sonde__record_image *from = &page->images[index];
    return (struct sonde__image){
        .path = sonde__audit_page_text(page, from->path),
        .start = from->start,
        .end = from->end,
        .bias = from->bias,
        .flags = from->flags,
        .build_id = from->build_id,
        .arch = SONDE__ARCH_HOST,
    };
}
