// SPDX-License-Identifier: Apache-2.0
/* Index of the definitions of all names of a file, made at the first query by name. Each unit has
 * copies of the types in headers; copies with equal name, kind, size and line are kept once. */
#include <string.h>

#include "base_hash.h"
#include "base_status.h"
#include "dwarf_constants.h"
#include "mem_heap.h"
#include "types_data.h"

/* Real files have some 10^5 different types. */
#define NAMES_MAX ((size_t)1 << 21)
/* Distinct definitions of one name; further ones are dropped. */
#define ALIKE_MAX   64
#define NESTING_MAX 256
#define NONE        UINT32_MAX

struct name {
    uint64_t full, plain, base; /* hashes: ns::T<int>; T<int>; T */
    uint64_t size, line;
    struct sonde__type_ref ref;
    uint32_t next;  /* next with the same full name */
    uint8_t family; /* enum sonde__type_kind, STRUCT also for classes */
    bool local;     /* inside a function */
};

struct types_names {
    struct name *all;
    size_t count, capacity;
    struct sonde__mem_table firsts; /* by full name */
};

void types_names_done(struct types_names *names)
{
    if (names != NULL) {
        sonde__mem_free(names->all);
        sonde__mem_table_done(&names->firsts);
        sonde__mem_free(names);
    }
}

static uint64_t hash_scope(const struct types_unit *u, uint32_t scope)
{
    uint32_t chain[TYPES_HOPS_MAX];
    uint64_t hash = SONDE__HASH_EMPTY;
    int n = 0;
    for (; scope != UINT32_MAX && n < TYPES_HOPS_MAX; scope = u->scopes[scope].parent) {
        if (u->scopes[scope].name[0] == '\0') {
            break;
        }
        chain[n++] = scope;
    }
    while (n > 0) {
        hash = types_hash_below(hash, u->scopes[chain[--n]].name);
    }
    return hash;
}

/* --- the table --- */

static uint8_t family_of(enum sonde__type_kind kind)
{
    return (uint8_t)(kind == SONDE__TYPE_CLASS ? SONDE__TYPE_STRUCT : kind);
}

static uint32_t hash_full(uint64_t full)
{
    return (uint32_t)(full >> 20);
}

/* First definition with a full name. */
static uint32_t first_of(const struct types_names *names, uint64_t full)
{
    return SONDE__TABLE_FIND(&names->firsts, hash_full(full), i, names->all[i].full == full);
}

static enum sonde_status add(struct types_names *names, struct name name)
{
    unsigned alike = 0;
    uint32_t last = NONE;
    for (uint32_t i = first_of(names, name.full); i != NONE; i = names->all[i].next) {
        const struct name *other = &names->all[i];
        if (other->family == name.family && other->size == name.size && other->line == name.line &&
            other->local == name.local) {
            return SONDE_OK;
        }
        last = i;
        alike++;
    }
    if (alike >= ALIKE_MAX) {
        return SONDE_OK;
    }
    if (names->count >= NAMES_MAX) {
        return SONDE_LIMIT;
    }
    if (!sonde__mem_grow(&names->all, names->count, &names->capacity, sizeof *names->all)) {
        return SONDE_MEMORY;
    }
    if (last != NONE) {
        names->all[last].next = (uint32_t)names->count;
    } else if (!sonde__mem_table_add(&names->firsts, hash_full(name.full),
                                     (uint32_t)names->count)) {
        return SONDE_MEMORY;
    }
    name.next = NONE;
    names->all[names->count] = name;
    names->count++;
    return SONDE_OK;
}

/* --- reading all units --- */

struct level {
    uint64_t prefix;
    bool local;
};

struct walk {
    struct sonde__types *t;
    struct types_names *names;
    uint32_t unit;
    struct level levels[NESTING_MAX];
    unsigned depth;
};

static bool is_named(unsigned tag)
{
    switch (tag) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_interface_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_typedef:
    case DW_TAG_base_type:
        return true;
    default:
        return false;
    }
}

static enum sonde_status add_die(struct walk *w, const struct types_die *die,
                                 const struct level *level)
{
    if (die->has_signature) { /* loads the type unit, if a package has it */
        (void)types_by_signature(w->t, die->signature);
        return SONDE_OK;
    }
    if (die->declaration || die->name == NULL) {
        return SONDE_OK;
    }
    return add(w->names,
               (struct name){
                   .full = types_hash_below(level->prefix, die->name),
                   .plain = types_hash_text(SONDE__HASH_EMPTY, die->name, strlen(die->name)),
                   .base = types_hash_text(SONDE__HASH_EMPTY, die->name, strcspn(die->name, "<")),
                   .size = die->size,
                   .line = die->line,
                   .ref = die->self,
                   .family = family_of(types_kind(die->tag)),
                   .local = level->local});
}

static enum sonde_status visit(struct walk *w, uint64_t offset, unsigned tag, bool children)
{
    struct level *level = &w->levels[(w->depth < NESTING_MAX ? w->depth : NESTING_MAX) - 1];
    struct level own = *level;
    struct level inner = *level;
    bool named = is_named(tag);
    if (named || (children && (tag == DW_TAG_namespace || tag == DW_TAG_module))) {
        struct types_die die;
        SONDE_TRY(types_die(w->t, (struct sonde__type_ref){w->unit, offset}, &die));
        if (die.specification.die != 0) { /* a class that is defined outside of its scope */
            uint32_t scope;
            SONDE_TRY(types_scope_of(w->t, die.specification, &scope));
            own.prefix = hash_scope(&w->t->units[die.specification.unit], scope);
        }
        SONDE_TRY(types_whole(w->t, &die));
        if (named) {
            SONDE_TRY(add_die(w, &die, &own));
        }
        if (tag != DW_TAG_enumeration_type) {
            const char *name = die.name;
            name = name == NULL && tag == DW_TAG_namespace ? "(anonymous namespace)" : name;
            inner.prefix = types_hash_below(own.prefix, name != NULL ? name : "{}");
        }
    } else if (tag == DW_TAG_subprogram) {
        inner = (struct level){SONDE__HASH_EMPTY, true};
    }
    if (children) {
        if (w->depth < NESTING_MAX) {
            w->levels[w->depth] = inner;
        }
        w->depth++;
    }
    return SONDE_OK;
}

/* After an error the rest of a unit is skipped. */
static enum sonde_status read_unit(struct walk *w)
{
    uint64_t offset = w->t->units[w->unit].head.die_offset;
    w->levels[0] = (struct level){SONDE__HASH_EMPTY, false};
    w->depth = 1;
    while (w->depth > 0) {
        uint64_t at = offset;
        uint16_t tag;
        bool children;
        enum sonde_status status = types_step(w->t, w->unit, &offset, &tag, &children);
        if (status == SONDE_OK && tag == 0) {
            w->depth--;
        } else if (status == SONDE_OK) {
            status = visit(w, at, tag, children);
        }
        if (status == SONDE_LIMIT || status == SONDE_MEMORY) {
            return status;
        }
        if (status != SONDE_OK) {
            break;
        }
        if (w->depth == 1) {
            break; /* after the unit's DIE */
        }
    }
    return SONDE_OK;
}

static enum sonde_status read_all(struct sonde__types *t, struct types_names *names)
{
    struct walk *w = sonde__mem_alloc_zeroed(sizeof *w);
    enum sonde_status status = w != NULL ? SONDE_OK : SONDE_MEMORY;
    uint64_t signature;
    for (uint32_t i = 0; status == SONDE_OK && t->source.split_type_at != NULL &&
                         t->source.split_type_at(t->source.ctx, i, &signature);
         i++) {
        if (signature != 0) {
            (void)types_by_signature(t, signature);
        }
    }
    /* split files and packages add units meanwhile */
    for (uint32_t i = 0; status == SONDE_OK && i < t->unit_count; i++) {
        uint32_t body = types_body(t, i);
        if (body != i) {
            continue; /* its split unit comes later, or is missing */
        }
        *w = (struct walk){.t = t, .names = names, .unit = i};
        status = read_unit(w);
    }
    sonde__mem_free(w);
    return status;
}

static enum sonde_status load_names(struct sonde__types *t)
{
    if (t->names != NULL) {
        return SONDE_OK;
    }
    struct types_names *names = sonde__mem_alloc_zeroed(sizeof *names);
    if (names == NULL) {
        return SONDE_MEMORY;
    }
    uint64_t left = t->work_left;
    t->work_left = types_work_of_all(t);
    enum sonde_status status = read_all(t, names);
    t->work_left = left;
    if (status != SONDE_OK) {
        types_names_done(names);
        return status;
    }
    t->names = names;
    return SONDE_OK;
}

/* --- queries --- */

static bool is_prefix(const char **name, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(*name, word, size) != 0 || (*name)[size] != ' ') {
        return false;
    }
    *name += size;
    *name += strspn(*name, " ");
    return true;
}

/* The kind given by a C keyword before a name; UNKNOWN: any. */
static uint8_t take_family(const char **name)
{
    *name += strspn(*name, " ");
    return (uint8_t)(is_prefix(name, "struct") || is_prefix(name, "class") ? SONDE__TYPE_STRUCT
                     : is_prefix(name, "union")                            ? SONDE__TYPE_UNION
                     : is_prefix(name, "enum")                             ? SONDE__TYPE_ENUM
                                                                           : SONDE__TYPE_UNKNOWN);
}

static uint64_t hash_of(const struct name *name, int pass)
{
    return pass == 0 ? name->full : pass == 1 ? name->plain : name->base;
}

enum sonde_status sonde__types_find(struct sonde__types *t, const char *name,
                                    sonde__types_found *found, void *ctx)
{
    uint8_t family = take_family(&name);
    uint64_t hash = types_hash_text(SONDE__HASH_EMPTY, name, strlen(name));
    bool any = false;
    sonde__types_refill(t);
    SONDE_TRY(load_names(t));
    for (int pass = 0; pass < 3 && !any; pass++) {
        for (size_t i = 0; i < t->names->count; i++) {
            const struct name *entry = &t->names->all[i];
            struct sonde__type type;
            if (hash_of(entry, pass) != hash ||
                (family != SONDE__TYPE_UNKNOWN && family != entry->family)) {
                continue;
            }
            enum sonde_status status = sonde__type_get(t, entry->ref, &type);
            if (status == SONDE_LIMIT || status == SONDE_MEMORY) {
                return status;
            }
            any = true;
            if (status == SONDE_OK && !found(ctx, &type)) {
                return SONDE_OK;
            }
        }
    }
    return any ? SONDE_OK : SONDE_ABSENT;
}

enum sonde_status types_definition(struct sonde__types *t, const struct sonde__type *type,
                                   struct sonde__type_ref *ret_ref)
{
    const struct name *only = NULL;
    uint32_t scope;
    unsigned count = 0;
    if (type->name == NULL) {
        return SONDE_ABSENT;
    }
    SONDE_TRY(load_names(t));
    SONDE_TRY(types_scope_of(t, type->self, &scope));
    uint64_t full = types_hash_below(hash_scope(&t->units[type->self.unit], scope), type->name);
    for (uint32_t i = first_of(t->names, full); i != NONE; i = t->names->all[i].next) {
        const struct name *name = &t->names->all[i];
        if (name->family != family_of(type->kind) || name->local) {
            continue;
        }
        count++;
        if (only == NULL || name->ref.unit == type->self.unit) {
            only = name;
        }
    }
    if (only == NULL) {
        return SONDE_ABSENT;
    }
    if (count > 1 && only->ref.unit != type->self.unit) {
        return SONDE_AMBIGUOUS;
    }
    *ret_ref = only->ref;
    return SONDE_OK;
}
