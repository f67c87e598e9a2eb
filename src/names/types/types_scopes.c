// SPDX-License-Identifier: Apache-2.0
/* The scope of a DIE. DIEs do not refer to their parents, so the namespaces and classes of a unit
 * are recorded once, as ranges of offsets, when a name is needed. */
#include <string.h>

#include "base_search.h"
#include "base_status.h"
#include "dwarf_constants.h"
#include "mem_heap.h"
#include "types_data.h"

/* Deeper scopes count as part of the last recorded one. */
#define NESTING_MAX 256
#define SCOPES_MAX  ((size_t)1 << 22)

static bool is_scope(unsigned tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
        return true;
    default:
        return false;
    }
}

static const char *scope_name(const struct types_die *die)
{
    if (die->tag == DW_TAG_subprogram) {
        return "";
    }
    return die->name != NULL               ? die->name
           : die->tag == DW_TAG_namespace  ? "(anonymous namespace)"
           : die->tag == DW_TAG_union_type ? "(anonymous union)"
           : die->tag == DW_TAG_class_type ? "(anonymous class)"
                                           : "(anonymous struct)";
}

struct level {
    uint32_t scope; /* scope of its children; UINT32_MAX: the unit */
    bool begins;    /* that scope begins here */
};

struct walk {
    struct sonde__types *t;
    uint32_t unit;
    struct types_scope *scopes;
    size_t count, capacity;
    struct level levels[NESTING_MAX];
    unsigned depth;
};

/* The recorded scope that contains an offset. */
static uint32_t scope_at(const struct types_scope *scopes, size_t count, uint64_t offset)
{
    /* the last that starts before it */
    size_t at = SONDE__SEARCH(0, count, i, scopes[i].begin < offset);
    uint32_t scope = at == 0 ? UINT32_MAX : (uint32_t)(at - 1);
    while (scope != UINT32_MAX && scopes[scope].end < offset) {
        scope = scopes[scope].outer;
    }
    return scope;
}

static enum sonde_status add_scope(struct walk *w, uint64_t offset, uint32_t enclosing)
{
    struct types_die die;
    uint32_t named_in = enclosing;
    if (w->count >= SCOPES_MAX) {
        return SONDE_LIMIT;
    }
    SONDE_TRY(types_die(w->t, (struct sonde__type_ref){w->unit, offset}, &die));
    uint64_t before = die.specification.unit == w->unit ? die.specification.die : 0;
    if (before != 0 && before < offset) { /* a class defined outside of its scope */
        named_in = scope_at(w->scopes, w->count, before);
    }
    SONDE_TRY(types_whole(w->t, &die));
    if (!SONDE__MEM_ADD(w->scopes, w->count, w->capacity,
                        (struct types_scope){.begin = offset,
                                             .end = UINT64_MAX,
                                             .outer = enclosing,
                                             .parent = named_in,
                                             .name = scope_name(&die)})) {
        return SONDE_MEMORY;
    }
    return SONDE_OK;
}

/* Enter a DIE with children. */
static enum sonde_status enter(struct walk *w, uint64_t offset, unsigned tag)
{
    unsigned above = w->depth < NESTING_MAX ? w->depth : NESTING_MAX;
    struct level level = {above > 0 ? w->levels[above - 1].scope : UINT32_MAX, false};
    if (is_scope(tag) && w->depth < NESTING_MAX) {
        SONDE_TRY(add_scope(w, offset, level.scope));
        level = (struct level){(uint32_t)(w->count - 1), true};
    }
    if (w->depth < NESTING_MAX) {
        w->levels[w->depth] = level;
    }
    w->depth++;
    return SONDE_OK;
}

static void leave(struct walk *w, uint64_t offset)
{
    w->depth--;
    if (w->depth < NESTING_MAX && w->levels[w->depth].begins) {
        w->scopes[w->levels[w->depth].scope].end = offset;
    }
}

static enum sonde_status next_die(struct walk *w, uint64_t *offset)
{
    uint64_t at = *offset;
    uint16_t tag;
    bool children;
    enum sonde_status status = types_step(w->t, w->unit, offset, &tag, &children);
    if (status == SONDE_OK && tag == 0) {
        leave(w, at);
    } else if (status == SONDE_OK && children) {
        status = enter(w, at, tag);
    }
    return status;
}

static enum sonde_status walk_unit(struct walk *w)
{
    uint64_t offset = w->t->units[w->unit].head.die_offset;
    enum sonde_status status;
    do {
        status = next_die(w, &offset);
    } while (status == SONDE_OK && w->depth > 0);
    /* scopes before an error are valid */
    return status == SONDE_LIMIT || status == SONDE_MEMORY ? status : SONDE_OK;
}

static enum sonde_status load_scopes(struct sonde__types *t, uint32_t unit)
{
    struct walk *w = sonde__mem_alloc_zeroed(sizeof *w);
    if (w == NULL) {
        return SONDE_MEMORY;
    }
    w->t = t;
    w->unit = unit;
    enum sonde_status status = walk_unit(w);
    if (status == SONDE_OK) {
        struct types_unit *u = &t->units[unit];
        u->scopes = w->scopes;
        u->scope_count = w->count;
        u->scopes_tried = true;
    } else {
        sonde__mem_free(w->scopes);
    }
    sonde__mem_free(w);
    return status;
}

enum sonde_status types_scope_of(struct sonde__types *t, struct sonde__type_ref ref,
                                 uint32_t *ret_scope)
{
    SONDE_TRY(types_ready(t, ref.unit));
    if (!t->units[ref.unit].scopes_tried) {
        SONDE_TRY(load_scopes(t, ref.unit));
    }
    const struct types_unit *u = &t->units[ref.unit];
    *ret_scope = scope_at(u->scopes, u->scope_count, ref.die);
    return SONDE_OK;
}
