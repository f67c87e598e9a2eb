// SPDX-License-Identifier: Apache-2.0
#include "symbolize_tails.h"

#include <string.h>

#include "tail_across.h"

enum { NAME_BYTES = 4096 };

/* --- names --- */

/* Entry of the function that an image exports under a versioned name. As in the loader, an
 * unversioned export matches any version. */
static bool find_export(struct symbolize_image *image, const char *name, uint64_t *ret_vaddr)
{
    char bare[NAME_BYTES];
    size_t size = strcspn(name, "@");
    if (sonde__symindex_export(&image->index.strings, name, ret_vaddr)) {
        return true;
    }
    if (name[size] == '\0' || size >= sizeof bare) {
        return false;
    }
    memcpy(bare, name, size);
    bare[size] = '\0';
    return sonde__symindex_export(&image->index.strings, bare, ret_vaddr);
}

static bool find_name(struct symbolize_images *images, const char *name,
                      struct sonde__tail_place *ret_place)
{
    bool is_known = false;
    if (name[0] == '\0') {
        return false;
    }
    symbolize_open_named(images);
    for (struct symbolize_image *image = images->opened; image != NULL; image = image->next) {
        uint64_t vaddr;
        if (image->found && find_export(image, name, &vaddr)) {
            uint32_t number = symbolize_image_number(images, image);
            if (vaddr == UINT64_MAX ||
                (is_known && (ret_place->image != number || ret_place->vaddr != vaddr))) {
                return false; /* several images define it, and their search order is unknown */
            }
            *ret_place = (struct sonde__tail_place){number, vaddr};
            is_known = true;
        }
    }
    return is_known;
}

/* --- the search --- */

static const struct sonde__tail_graph *graph_of(void *ctx, uint32_t number, uint64_t *ret_base)
{
    struct symbolize_image *image = symbolize_image_at(ctx, number);
    *ret_base = image->index.index.base;
    return &image->tails;
}

static bool word_of(void *ctx, const struct sonde__tail_place *at, struct sonde__tail_place *ret_to)
{
    const struct symbolize_image *image = symbolize_image_at(ctx, at->image);
    return find_name(ctx, sonde__symindex_word(&image->index.index, at->vaddr), ret_to);
}

static bool entry_of(void *ctx, const struct sonde__tail_place *at, uint64_t *ret_vaddr)
{
    struct sonde__symindex_symbol symbol;
    if (!sonde__symindex_symbol(&symbolize_image_at(ctx, at->image)->index.index, at->vaddr,
                                &symbol)) {
        return false;
    }
    *ret_vaddr = symbol.start;
    return true;
}

/* Find the function that the call before `back` enters. Start-up code calls main; that is taken to
 * be the inner image's. */
static bool find_callee(struct symbolize_images *images, const struct symbolize_image *caller,
                        uint64_t back, const struct symbolize_image *inner,
                        struct sonde__tail_place *ret_entry)
{
    uint64_t base = caller->index.index.base;
    uint32_t entry, cell;
    bool is_main = false;
    if (back - base >= UINT32_MAX) {
        return false;
    }
    if (sonde__tail_site(&caller->tails, (uint32_t)(back - base), &entry, &is_main)) {
        const struct symbolize_image *where = is_main ? inner : caller;
        if (is_main && !sonde__tail_main(&inner->tails, &entry)) {
            return false;
        }
        *ret_entry = (struct sonde__tail_place){symbolize_image_number(images, where),
                                                where->index.index.base + entry};
        return true;
    }
    return sonde__tail_leaving_call(&caller->tails, (uint32_t)(back - base), &cell) &&
           find_name(images, sonde__symindex_word(&caller->index.index, base + cell), ret_entry);
}

bool symbolize_find_tails(struct symbolize_images *images, struct symbolize_image *caller,
                          uint64_t back, struct symbolize_image *inner, uint64_t pc,
                          struct sonde__tail_frames *ret_tails)
{
    const struct sonde__tail_images access = {images, graph_of, word_of, entry_of};
    struct sonde__tail_place entry, there;
    if (!find_callee(images, caller, back, inner, &entry)) {
        return false;
    }
    there = (struct sonde__tail_place){symbolize_image_number(images, inner), pc};
    return sonde__tail_across(&access, &entry, &there, ret_tails) != SONDE__TAIL_NOTHING;
}
