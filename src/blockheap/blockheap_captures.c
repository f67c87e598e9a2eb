// SPDX-License-Identifier: Apache-2.0
/* From what the sources claim to one list of captures.
 *
 * Helpers decide who owns what: a block without them owns nothing, whatever its layout says (but
 * for blocks that the runtime copies by a list, or that never leave their function: of those the
 * descriptor's name is the only word). What a layout alone says is shown as that. */
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "blockheap_graph.h"
#include "blockheap_inside.h"
#include "mem_heap.h"

enum { CLAIMS_MAX = 1024, KEPT_AT_FIRST = 64, KEPT_MAX = 1 << 16 };

struct merging {
    struct sonde__block_claim items[CLAIMS_MAX];
    struct sonde__block_claims claims;
    struct sonde__blockheap_captures *out;
    bool has_helpers;  /* or a list that stands for them */
    bool helpers_said; /* what they own is known, from a source that does not lie */
    bool desc_named;   /* the descriptor's name says of every object what it is */
    bool stays;        /* the block does not escape: it needs to own nothing */
};

/* An object has a first part at its own offset: both are shown. */
static bool is_whole(const struct sonde__block_claim *claim)
{
    return claim->kind == SONDE_BLOCK_OBJECT;
}

static int by_offset(const void *a, const void *b)
{
    const struct sonde__block_claim *x = a, *y = b;
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    if (x->inside != y->inside) { /* the whole before its first part */
        return x->inside ? 1 : -1;
    }
    if (is_whole(x) != is_whole(y)) {
        return is_whole(x) ? -1 : 1;
    }
    if (x->source != y->source) {
        return (int)x->source - (int)y->source;
    }
    /* a block is copied as one and released as an object */
    return (int)(y->kind == SONDE_BLOCK_BLOCK) - (int)(x->kind == SONDE_BLOCK_BLOCK);
}

static bool is_managed(uint8_t kind)
{
    return kind == SONDE_BLOCK_UNKNOWN || kind == SONDE_BLOCK_STRONG || kind == SONDE_BLOCK_WEAK ||
           kind == SONDE_BLOCK_BLOCK || kind == SONDE_BLOCK_BYREF || kind == SONDE_BLOCK_OBJECT;
}

/* A block is an object, too, to a layout and to what releases it. */
static bool same_kind(uint8_t a, const struct sonde__block_claim *b)
{
    return a == b->kind || (a == SONDE_BLOCK_BLOCK && b->kind == SONDE_BLOCK_STRONG);
}

/* All claims of one offset, the most reliable first. */
static void add_capture(struct merging *m, const struct sonde__block_claim *claims, size_t count)
{
    const struct sonde__block_claim *best = &claims[0];
    struct sonde__blockheap_capture capture = {.offset = best->offset,
                                               .size = best->size,
                                               .kind = best->kind,
                                               .inside = best->inside,
                                               .denied = SONDE_BLOCK_UNKNOWN,
                                               .type = best->type,
                                               .type_size = best->type_size};
    if (best->source == SONDE_BLOCK_BY_LAYOUT &&
        (m->desc_named || (is_managed(best->kind) && (m->helpers_said || !m->has_helpers)))) {
        /* the layout alone: an object of somebody else, or none at all */
        capture.denied = best->kind;
        capture.denied_by = best->source;
        capture.kind = SONDE_BLOCK_DATA;
    } else if (m->stays && !m->has_helpers && best->kind == SONDE_BLOCK_BYREF) {
        /* such a block has the variable's address, not its box */
        capture.denied = best->kind;
        capture.denied_by = best->source;
        capture.kind = SONDE_BLOCK_DATA;
    } else if (best->source == SONDE_BLOCK_BY_DESC_NAME && best->kind == SONDE_BLOCK_STRONG &&
               !m->has_helpers && !m->stays) {
        /* what a manual program does not retain is called strong in the name, too */
        capture.denied = best->kind;
        capture.denied_by = best->source;
        capture.kind = SONDE_BLOCK_UNRETAINED;
    }
    for (size_t i = 0; i < count && capture.kind == SONDE_BLOCK_STRONG; i++) {
        if (claims[i].kind == SONDE_BLOCK_BLOCK) { /* copied as a block, released as an object */
            capture.kind = SONDE_BLOCK_BLOCK;
        }
    }
    capture.owned =
        m->has_helpers && (capture.kind == SONDE_BLOCK_STRONG ||
                           capture.kind == SONDE_BLOCK_BLOCK || capture.kind == SONDE_BLOCK_BYREF);
    for (size_t i = 0; i < count; i++) {
        if (same_kind(capture.kind, &claims[i])) {
            capture.sources |= 1u << claims[i].source;
        } else if (claims[i].source != best->source && capture.denied == SONDE_BLOCK_UNKNOWN) {
            capture.denied = claims[i].kind;
            capture.denied_by = claims[i].source;
        }
        if (capture.type == NULL && claims[i].type != NULL) {
            capture.type = claims[i].type;
            capture.type_size = claims[i].type_size;
        }
    }
    if (m->out->count < SONDE__BLOCKHEAP_CAPTURES_MAX) {
        m->out->items[m->out->count++] = capture;
    } else {
        m->out->lost++;
    }
}

static void merge(struct merging *m)
{
    size_t count = m->claims.count;
    qsort(m->items, count, sizeof m->items[0], by_offset);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && m->items[end].offset == m->items[i].offset &&
                          m->items[end].inside == m->items[i].inside &&
                          is_whole(&m->items[end]) == is_whole(&m->items[i]);
             end++) {
        }
        add_capture(m, m->items + i, end - i);
    }
    m->out->lost += (uint32_t)m->claims.lost;
}

/* Of [begin, end) what no claim covers are plain bytes, or nothing. */
static void add_gaps(struct sonde__blockheap_captures *out, uint32_t begin, uint32_t end)
{
    uint32_t known = out->count, at = begin;
    for (uint32_t i = 0; i <= known; i++) {
        uint32_t next = i < known ? out->items[i].offset : end;
        if (next > at && next <= end && out->count < SONDE__BLOCKHEAP_CAPTURES_MAX) {
            out->items[out->count++] = (struct sonde__blockheap_capture){
                .offset = at, .size = next - at, .kind = SONDE_BLOCK_DATA};
        }
        if (i < known && out->items[i].kind != SONDE_BLOCK_OBJECT) {
            uint32_t size = out->items[i].size != 0 ? out->items[i].size : 8;
            at = next + size > at ? next + size : at;
        } else if (i < known) { /* the end of a C++ object is not known without its type */
            at = next + 8 > at ? next + 8 : at;
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const struct sonde__blockheap_capture *x = a, *y = b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1)
                                  : (int)x->inside - (int)y->inside;
}

static void finish(struct merging *m, uint32_t begin, uint32_t end)
{
    merge(m);
    add_gaps(m->out, begin, end);
    qsort(m->out->items, m->out->count, sizeof m->out->items[0], by_place);
}

static void claim_names(struct sonde__blockheap *heap, struct merging *m, uint64_t address)
{
    struct sonde__block_name name;
    const char *text = address != 0 ? blockheap_name_at(heap, address) : NULL;
    size_t before = m->claims.count;
    enum sonde__block_name_form form =
        text != NULL ? sonde__block_name_read(text, &m->claims, &name) : SONDE__BLOCK_NAME_OTHER;
    m->helpers_said |= form != SONDE__BLOCK_NAME_OTHER && m->claims.count > before;
    m->desc_named |= form == SONDE__BLOCK_NAME_DESC;
}

static void read_captures(struct sonde__blockheap *heap, const struct sonde__block_desc *desc,
                          struct merging *m)
{
    m->stays = (desc->flags & SONDE_BLOCK_NOESCAPE) != 0;
    m->has_helpers =
        desc->copy != 0 || desc->dispose != 0 || desc->generic_form != SONDE__BLOCK_GENERIC_NONE;
    blockheap_claim_helpers(heap, desc, &m->claims, &m->helpers_said, &m->out->problem);
    if (desc->generic_form != SONDE__BLOCK_GENERIC_NONE) {
        const char *problem = sonde__block_generic_claims(&heap->memory, desc, &m->claims);
        m->helpers_said |= problem == NULL;
    }
    claim_names(heap, m, desc->copy);
    claim_names(heap, m, desc->dispose);
    claim_names(heap, m, desc->address);
    if (desc->layout_form != SONDE__BLOCK_LAYOUT_NONE) {
        (void)sonde__block_layout_claims(&heap->memory, desc->layout_form, desc->layout,
                                         SONDE__BLOCK_HEADER_BYTES, desc->size,
                                         SONDE_BLOCK_BY_LAYOUT, &m->claims);
    }
    if (m->out->problem == NULL) {
        m->out->problem = desc->problem;
    }
    finish(m, SONDE__BLOCK_HEADER_BYTES, desc->size);
}

static struct merging *new_merging(struct sonde__blockheap_captures *out)
{
    struct merging *m = sonde__mem_alloc_zeroed(sizeof *m);
    if (m != NULL) {
        m->claims.items = m->items;
        m->claims.capacity = CLAIMS_MAX;
        m->out = out;
    }
    return m;
}

static struct sonde__blockheap_captures *make(struct sonde__blockheap *heap, uint64_t descriptor,
                                              uint32_t flags)
{
    struct sonde__blockheap_captures *out = sonde__mem_alloc_zeroed(sizeof *out);
    struct merging *m = out != NULL ? new_merging(out) : NULL;
    struct sonde__block_desc desc;
    if (m == NULL || sonde__block_desc_read(&heap->memory, descriptor, flags, &desc) != SONDE_OK) {
        sonde__mem_free(m);
        sonde__mem_free(out);
        return NULL;
    }
    out->block_size = desc.size;
    read_captures(heap, &desc, m);
    sonde__mem_free(m);
    return out;
}

const struct sonde__blockheap_captures *
sonde__blockheap_captures(struct sonde__blockheap *heap, uint64_t descriptor, uint32_t flags)
{
    struct blockheap_kept *kept = heap->kept;
    size_t low = 0, high = heap->kept_count;
    flags &= BLOCKHEAP_DESC_BITS | SONDE_BLOCK_NOESCAPE;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = kept[middle].descriptor != descriptor ? kept[middle].descriptor < descriptor
                                                            : kept[middle].flags < flags;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    if (low < heap->kept_count && kept[low].descriptor == descriptor && kept[low].flags == flags) {
        return kept[low].captures;
    }
    if (heap->kept_count >= KEPT_MAX ||
        !sonde__mem_grow(&heap->kept, heap->kept_count, &heap->kept_capacity, sizeof *kept)) {
        return NULL;
    }
    kept = heap->kept;
    memmove(kept + low + 1, kept + low, (heap->kept_count - low) * sizeof *kept);
    heap->kept_count++;
    kept[low] = (struct blockheap_kept){descriptor, flags, make(heap, descriptor, flags)};
    return kept[low].captures;
}

void blockheap_kept_done(struct sonde__blockheap *heap)
{
    struct blockheap_kept *kept = heap->kept;
    for (size_t i = 0; i < heap->kept_count; i++) {
        sonde__mem_free(kept[i].captures);
    }
    sonde__mem_free(kept);
}

enum sonde_status sonde__blockheap_byref(struct sonde__blockheap *heap, uint64_t address,
                                         struct sonde__block_byref *ret_byref,
                                         struct sonde__blockheap_captures *ret_captures)
{
    struct merging *m;
    SONDE_TRY(sonde__block_byref_read(&heap->memory, address, ret_byref));
    ret_captures->count = ret_captures->lost = 0;
    ret_captures->problem = NULL;
    m = new_merging(ret_captures);
    if (m == NULL) {
        return SONDE_MEMORY;
    }
    m->has_helpers = ret_byref->dispose != 0;
    blockheap_claim_byref(heap, ret_byref, &m->claims, &m->helpers_said, &ret_captures->problem);
    finish(m, ret_byref->variable, ret_byref->size);
    sonde__mem_free(m);
    return SONDE_OK;
}
