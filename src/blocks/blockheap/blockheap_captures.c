// SPDX-License-Identifier: Apache-2.0
/* What blocks and boxes hold (block_captures.h), cached for each kind of block.
 *
 * Only code and names can make a capture owned; a layout cannot. */
#include <string.h>

#include "base_search.h"
#include "base_status.h"
#include "blockheap_graph.h"
#include "blockheap_inside.h"
#include "mem_heap.h"

enum { KEPT_MAX = 1 << 16 };

/* Work space for one list at a time. */
struct blockheap_merging {
    struct sonde__block_scratch scratch;
    struct sonde__block_capture items[SONDE__BLOCKHEAP_CAPTURES_MAX];
};

static struct blockheap_merging *merging_of(struct sonde__blockheap *heap)
{
    if (heap->merging == NULL) {
        heap->merging = sonde__mem_alloc(sizeof *heap->merging);
    }
    return heap->merging;
}

/* Record the most reliable source with another kind. */
static void deny(const struct sonde__block_capture *from, struct sonde__blockheap_capture *capture)
{
    for (unsigned source = 0; source < sizeof from->said; source++) {
        if ((from->against >> source & 1) != 0 && from->said[source] != SONDE__BLOCK_UNSAID) {
            capture->denied = from->said[source];
            capture->denied_by = (uint8_t)source;
            return;
        }
    }
}

static bool is_owned(const struct sonde__block_capture *capture, bool has_helpers)
{
    const unsigned weak_words = 1u << SONDE_BLOCK_BY_LAYOUT | 1u << SONDE_BLOCK_BY_DWARF;
    return has_helpers && (capture->sources & ~weak_words) != 0 &&
           (capture->kind == SONDE_BLOCK_STRONG || capture->kind == SONDE_BLOCK_BLOCK ||
            capture->kind == SONDE_BLOCK_BYREF || capture->kind == SONDE_BLOCK_OBJECT);
}

/* --- C++ types known to own their target, or not to --- */

static const struct {
    const char *name; /* of a template, preceded by the length of the name */
    uint8_t owner;
} known_types[] = {
    {"10shared_ptr", SONDE__BLOCKHEAP_OWNER},
    {"10unique_ptr", SONDE__BLOCKHEAP_OWNER},
    {"8weak_ptr", SONDE__BLOCKHEAP_NOT_OWNER},
};

static bool skip(const char **at, const char *text)
{
    size_t length = strlen(text);
    bool is_there = strncmp(*at, text, length) == 0;
    *at += is_there ? length : 0;
    return is_there;
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* "const std::__1::shared_ptr<Thing>": std may have an inline namespace. */
static enum sonde__blockheap_owner owner_by_name(const char *type)
{
    const char *space;
    while (skip(&type, "const ") || skip(&type, "volatile ")) {
    }
    if (!skip(&type, "std::")) {
        return SONDE__BLOCKHEAP_OWNER_UNKNOWN;
    }
    space = strstr(type, "::");
    if (strncmp(type, "__", 2) == 0 && space != NULL) {
        type = space + 2;
    }
    for (size_t i = 0; i < sizeof known_types / sizeof known_types[0]; i++) {
        const char *rest = type;
        if (skip(&rest, skip_digits(known_types[i].name)) && *rest == '<') {
            return known_types[i].owner;
        }
    }
    return SONDE__BLOCKHEAP_OWNER_UNKNOWN;
}

/* "_ZTSSt10shared_ptrI5ThingE", "_ZTSNSt3__110shared_ptrI5ThingEE". */
static enum sonde__blockheap_owner owner_by_encoding(const char *text, uint32_t size)
{
    char copy[64];
    const char *at = copy;
    size_t length = size < sizeof copy - 1 ? size : sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    (void)skip(&at, "_ZTS");
    if (skip(&at, "NSt") && *at >= '1' && *at <= '9' && at[1] == '_') { /* one digit is enough */
        size_t name = (size_t)(*at - '0');
        at += strlen(at) > name ? 1 + name : 0;
    } else if (!skip(&at, "St")) {
        return SONDE__BLOCKHEAP_OWNER_UNKNOWN;
    }
    for (size_t i = 0; i < sizeof known_types / sizeof known_types[0]; i++) {
        const char *rest = at;
        if (skip(&rest, known_types[i].name) && *rest == 'I') {
            return known_types[i].owner;
        }
    }
    return SONDE__BLOCKHEAP_OWNER_UNKNOWN;
}

enum sonde__blockheap_owner
sonde__blockheap_owner_of(const struct sonde__blockheap_capture *capture, bool in_box)
{
    const struct sonde__block_member *variable = capture->variable;
    const char *type = variable == NULL ? NULL : in_box ? variable->variable_type : variable->type;
    if (capture->inside) {
        return SONDE__BLOCKHEAP_OWNER_UNKNOWN;
    }
    if (type != NULL) {
        return owner_by_name(type);
    }
    return capture->type != NULL ? owner_by_encoding(capture->type, capture->type_size)
                                 : SONDE__BLOCKHEAP_OWNER_UNKNOWN;
}

static void take_captures(const struct sonde__block_captures *from, bool has_helpers,
                          struct sonde__blockheap_captures *ret_captures)
{
    ret_captures->count = (uint32_t)from->count;
    ret_captures->lost = from->lost < UINT32_MAX ? (uint32_t)from->lost : UINT32_MAX;
    ret_captures->problem =
        from->helper_problem != NULL ? from->helper_problem : from->layout_problem;
    for (size_t i = 0; i < from->count; i++) {
        const struct sonde__block_capture *one = &from->items[i];
        struct sonde__blockheap_capture *capture = &ret_captures->items[i];
        *capture = (struct sonde__blockheap_capture){.offset = one->offset,
                                                     .size = one->size,
                                                     .kind = one->kind,
                                                     .sources = one->sources,
                                                     .owned = is_owned(one, has_helpers),
                                                     .inside = one->inside,
                                                     .denied = SONDE_BLOCK_UNKNOWN,
                                                     .type = one->encoded,
                                                     .type_size = one->encoded_size,
                                                     .variable = one->member};
        deny(one, capture);
    }
}

void sonde__blockheap_set_variables(struct sonde__blockheap *heap,
                                    sonde__blockheap_variables *variables, void *ctx)
{
    heap->variables = variables;
    heap->variables_ctx = ctx;
}

static struct sonde__blockheap_captures *make(struct sonde__blockheap *heap, uint64_t descriptor,
                                              uint32_t flags, uint64_t invoke)
{
    struct blockheap_merging *merging = merging_of(heap);
    struct sonde__blockheap_captures *out;
    const struct sonde__block_member *members = NULL;
    size_t member_count = 0;
    struct sonde__block_desc desc;
    struct sonde__block_captures found;
    if (merging == NULL ||
        sonde__block_desc_read(&heap->memory, descriptor, flags, &desc) != SONDE_OK) {
        return NULL;
    }
    if (invoke != 0) {
        member_count = heap->variables(heap->variables_ctx, invoke, &members);
    }
    found = (struct sonde__block_captures){.items = merging->items,
                                           .capacity = SONDE__BLOCKHEAP_CAPTURES_MAX};
    sonde__block_captures(&heap->memory, &desc, members, member_count, &merging->scratch, &found);
    out = sonde__mem_alloc(offsetof(struct sonde__blockheap_captures, items) +
                           found.count * sizeof out->items[0]);
    if (out == NULL) {
        return NULL;
    }
    take_captures(
        &found,
        desc.copy != 0 || desc.dispose != 0 || desc.generic_form != SONDE__BLOCK_GENERIC_NONE, out);
    out->block_size = desc.size;
    out->problem = out->problem != NULL ? out->problem : desc.problem;
    return out;
}

static bool is_before(const struct blockheap_kept *a, const struct blockheap_kept *b)
{
    if (a->descriptor != b->descriptor) {
        return a->descriptor < b->descriptor;
    }
    return a->flags != b->flags ? a->flags < b->flags : a->invoke < b->invoke;
}

const struct sonde__blockheap_captures *sonde__blockheap_captures(struct sonde__blockheap *heap,
                                                                  uint64_t descriptor,
                                                                  uint32_t flags, uint64_t invoke)
{
    struct blockheap_kept *kept = heap->kept;
    struct blockheap_kept wanted = {.descriptor = descriptor,
                                    .invoke = heap->variables != NULL ? invoke : 0,
                                    .flags = flags & (BLOCKHEAP_DESC_BITS | SONDE_BLOCK_NOESCAPE)};
    size_t at = SONDE__SEARCH(0, heap->kept_count, i, is_before(&kept[i], &wanted));
    if (at < heap->kept_count && !is_before(&wanted, &kept[at])) {
        return kept[at].captures;
    }
    if (heap->kept_count >= KEPT_MAX ||
        !sonde__mem_grow(&heap->kept, heap->kept_count, &heap->kept_capacity, sizeof *kept)) {
        return NULL;
    }
    wanted.captures = make(heap, descriptor, wanted.flags, wanted.invoke);
    kept = heap->kept;
    memmove(kept + at + 1, kept + at, (heap->kept_count - at) * sizeof *kept);
    heap->kept_count++;
    kept[at] = wanted;
    return wanted.captures;
}

void blockheap_kept_done(struct sonde__blockheap *heap)
{
    struct blockheap_kept *kept = heap->kept;
    for (size_t i = 0; i < heap->kept_count; i++) {
        sonde__mem_free(kept[i].captures);
    }
    sonde__mem_free(kept);
    sonde__mem_free(heap->merging);
}

enum sonde_status sonde__blockheap_byref(struct sonde__blockheap *heap, uint64_t address,
                                         const struct sonde__block_member *variable,
                                         struct sonde__block_byref *ret_byref,
                                         struct sonde__blockheap_captures *ret_captures)
{
    struct blockheap_merging *merging = merging_of(heap);
    struct sonde__block_captures found;
    SONDE_TRY(sonde__block_byref_read(&heap->memory, address, ret_byref));
    if (merging == NULL) {
        return SONDE_MEMORY;
    }
    found = (struct sonde__block_captures){.items = merging->items,
                                           .capacity = SONDE__BLOCKHEAP_CAPTURES_MAX};
    sonde__block_byref_captures(&heap->memory, ret_byref, variable, &merging->scratch, &found);
    take_captures(&found, ret_byref->dispose != 0, ret_captures);
    ret_captures->block_size = 0;
    return SONDE_OK;
}

bool sonde__blockheap_unwrap(struct sonde__blockheap *heap, uint64_t address, uint32_t size,
                             struct sonde__block_wrapped *ret_wrapped)
{
    struct sonde__block_literal literal, inner;
    struct sonde__block_wrapped wrapped;
    if (sonde__block_literal_read(&heap->memory, address, &literal) != SONDE_OK ||
        !sonde__block_unwrap(&heap->memory, &literal, size, &wrapped) ||
        (wrapped.block != 0 && heap->target != NULL &&
         (sonde__block_literal_read(&heap->memory, wrapped.block, &inner) != SONDE_OK ||
          sonde__blockheap_class_at(heap, inner.isa) == NULL))) {
        return false;
    }
    *ret_wrapped = wrapped;
    return true;
}
