// SPDX-License-Identifier: Apache-2.0
/* Merges the claims of all sources by offset, in the order of trust. */
#include "block_captures.h"
#include "mem_sort.h"

#include <string.h>

#define WORD 8u

struct merge {
    const struct sonde__block_memory *memory;
    struct sonde__block_scratch *scratch;
    struct sonde__block_captures *out;
    uint32_t begin, size;
    bool is_noescape;
    bool has_helpers; /* the block has helpers, or a list that the runtime copies by */
    bool is_followed; /* a helper was followed to its end */
    bool lists_all;   /* the descriptor's name also lists captures that are not owned */
    const struct sonde__block_member *members;
    size_t member_count;
};

/* --- the list --- */

static struct sonde__block_capture *find(struct merge *m, uint32_t offset, bool inside)
{
    for (size_t i = 0; i < m->out->count; i++) {
        struct sonde__block_capture *capture = &m->out->items[i];
        if (capture->offset == offset && capture->inside == inside) {
            return capture;
        }
    }
    return NULL;
}

/* Insert a capture in order; null: the list is full. */
static struct sonde__block_capture *insert(struct merge *m, uint32_t offset, uint32_t size,
                                           bool inside, enum sonde_block_kind kind)
{
    struct sonde__block_captures *out = m->out;
    size_t at = 0;
    if (out->count == out->capacity) {
        out->lost++;
        return NULL;
    }
    while (at < out->count &&
           (out->items[at].offset < offset || (out->items[at].offset == offset && inside))) {
        at++;
    }
    memmove(&out->items[at + 1], &out->items[at], (out->count - at) * sizeof *out->items);
    out->count++;
    out->items[at] = (struct sonde__block_capture){
        .offset = offset, .size = size, .kind = (uint8_t)kind, .inside = inside};
    memset(out->items[at].said, SONDE__BLOCK_UNSAID, sizeof out->items[at].said);
    return &out->items[at];
}

static void add_claim(struct sonde__block_capture *capture, const struct sonde__block_claim *claim)
{
    uint8_t *said = &capture->said[claim->source];
    /* a block is copied as a block and released as an object: keep the more precise kind */
    if (*said == SONDE__BLOCK_UNSAID ||
        (*said == SONDE_BLOCK_STRONG && claim->kind == SONDE_BLOCK_BLOCK)) {
        *said = claim->kind;
    }
    if (claim->type != NULL &&
        (capture->encoded == NULL || claim->source == SONDE_BLOCK_BY_HELPER_NAME)) {
        capture->encoded = claim->type;
        capture->encoded_size = claim->type_size;
    }
    capture->size = capture->size == 0 ? claim->size : capture->size;
}

static bool is_inside_block(const struct merge *m, const struct sonde__block_claim *claim)
{
    return claim->offset >= m->begin && claim->offset < m->size &&
           m->size - claim->offset >= claim->size;
}

/* --- code and names --- */

/* How far an object can reach: to the next capture that is not a part of another. */
static uint32_t reach(const struct merge *m, const struct sonde__block_claim *claims, size_t count,
                      uint32_t offset)
{
    uint32_t end = m->size;
    for (size_t i = 0; i < count; i++) {
        if (!claims[i].inside && claims[i].offset > offset && claims[i].offset < end) {
            end = claims[i].offset;
        }
    }
    return end;
}

/* The code may show parts where a name has one object. */
static void add_object(struct merge *m, const struct sonde__block_claim *claim, uint32_t end)
{
    struct sonde__block_capture *capture = find(m, claim->offset, false);
    if (capture == NULL || capture->kind != SONDE_BLOCK_OBJECT) {
        if (capture != NULL) {
            capture->inside = true;
        }
        capture = insert(m, claim->offset, 0, false, SONDE_BLOCK_OBJECT);
    }
    if (capture == NULL) {
        return;
    }
    add_claim(capture, claim);
    for (size_t i = 0; i < m->out->count; i++) {
        struct sonde__block_capture *part = &m->out->items[i];
        if (part->offset > claim->offset && part->offset < end) {
            part->inside = true;
        }
    }
}

/* A nested object is listed only if nothing else is known at its offset. */
static bool is_part_with_parts(const struct sonde__block_claim *claim)
{
    return claim->inside && claim->kind == SONDE_BLOCK_OBJECT;
}

static void add_claims(struct merge *m, const struct sonde__block_claims *claims)
{
    m->out->lost += claims->lost;
    for (size_t i = 0; i < claims->count; i++) {
        const struct sonde__block_claim *claim = &claims->items[i];
        struct sonde__block_capture *capture;
        if (!is_inside_block(m, claim) || is_part_with_parts(claim)) {
            continue;
        }
        if (claim->kind == SONDE_BLOCK_OBJECT && !claim->inside) {
            add_object(m, claim, reach(m, claims->items, claims->count, claim->offset));
            continue;
        }
        capture = find(m, claim->offset, true);
        if (capture == NULL && !claim->inside) {
            capture = find(m, claim->offset, false);
        }
        if (capture == NULL) {
            capture = insert(m, claim->offset, claim->size, claim->inside,
                             (enum sonde_block_kind)claim->kind);
        }
        if (capture != NULL) {
            add_claim(capture, claim);
        }
    }
    for (size_t i = 0; i < claims->count; i++) {
        const struct sonde__block_claim *claim = &claims->items[i];
        if (is_inside_block(m, claim) && is_part_with_parts(claim) &&
            find(m, claim->offset, true) == NULL) {
            struct sonde__block_capture *capture =
                insert(m, claim->offset, claim->size, true, SONDE_BLOCK_OBJECT);
            if (capture != NULL) {
                add_claim(capture, claim);
            }
        }
    }
}

static struct sonde__block_claims begin_claims(struct merge *m)
{
    return (struct sonde__block_claims){.items = m->scratch->claims,
                                        .capacity = SONDE__BLOCK_CLAIMS_MAX};
}

static void follow(struct merge *m, uint64_t helper, enum sonde__block_helper_form form)
{
    struct sonde__block_claims claims = begin_claims(m);
    struct sonde__block_followed followed;
    if (helper == 0) {
        return;
    }
    m->has_helpers = true;
    sonde__block_helper_claims(m->memory, helper, form, m->begin, m->size, &m->scratch->work,
                               &claims, &followed);
    m->out->steps += followed.steps;
    if (followed.problem == NULL) {
        m->is_followed = true;
    } else {
        m->out->helper_problem = followed.problem;
        m->out->helper_problem_at = followed.at;
    }
    add_claims(m, &claims);
}

static void read_name(struct merge *m, uint64_t address, enum sonde__block_name_form form)
{
    struct sonde__block_claims claims = begin_claims(m);
    struct sonde__block_name name;
    const char *text =
        address != 0 && m->memory->name != NULL ? m->memory->name(m->memory->ctx, address) : NULL;
    if (text == NULL || sonde__block_name_read(text, &claims, &name) != form) {
        return;
    }
    if (form == SONDE__BLOCK_NAME_DESC) {
        if (name.size != m->size) {
            return;
        }
        m->lists_all = name.is_arc;
    }
    add_claims(m, &claims);
}

/* --- layout --- */

static const struct sonde__block_member *member_at(const struct merge *m, uint32_t offset)
{
    for (size_t i = 0; i < m->member_count; i++) {
        if (m->members[i].offset <= offset && offset - m->members[i].offset < m->members[i].size) {
            return &m->members[i];
        }
    }
    return NULL;
}

static bool is_pointer_to_object(const struct sonde__block_member *member, uint32_t offset)
{
    return member->offset == offset && (member->form == SONDE__BLOCK_MEMBER_OBJECT ||
                                        member->form == SONDE__BLOCK_MEMBER_BLOCK);
}

/* The kind of a capture that only the layout claims. It is not owned if the helpers are known. */
static enum sonde_block_kind by_layout_alone(const struct merge *m,
                                             const struct sonde__block_claim *claim)
{
    const struct sonde__block_member *member = member_at(m, claim->offset);
    bool is_unretained = claim->kind == SONDE_BLOCK_UNRETAINED;
    if (m->member_count > 0) {
        return member != NULL && (is_pointer_to_object(member, claim->offset) ||
                                  (member->form == SONDE__BLOCK_MEMBER_OTHER && is_unretained &&
                                   member->size > WORD))
                   ? SONDE_BLOCK_UNRETAINED
                   : SONDE_BLOCK_DATA;
    }
    if (m->lists_all) {
        return SONDE_BLOCK_DATA; /* otherwise helpers would claim it */
    }
    if (is_unretained) {
        return SONDE_BLOCK_UNRETAINED;
    }
    if (claim->kind == SONDE_BLOCK_BYREF) {
        return SONDE_BLOCK_DATA; /* a NOESCAPE block has a pointer to the variable itself */
    }
    if (m->has_helpers && !m->is_followed) {
        return (enum sonde_block_kind)claim->kind;
    }
    return m->has_helpers ? SONDE_BLOCK_UNKNOWN : SONDE_BLOCK_UNRETAINED;
}

static void add_layout(struct merge *m, uint8_t form, uint64_t layout, uint32_t from)
{
    struct sonde__block_claims claims = begin_claims(m);
    m->out->layout_problem = sonde__block_layout_claims(m->memory, form, layout, from, m->size,
                                                        SONDE_BLOCK_BY_LAYOUT, &claims);
    m->out->lost += claims.lost;
    for (size_t i = 0; i < claims.count; i++) {
        const struct sonde__block_claim *claim = &claims.items[i];
        struct sonde__block_capture *capture = find(m, claim->offset, true);
        if (capture == NULL) {
            capture = find(m, claim->offset, false);
        }
        if (capture == NULL) {
            capture = insert(m, claim->offset, WORD, false, by_layout_alone(m, claim));
        }
        if (capture != NULL) {
            add_claim(capture, claim);
        }
    }
}

/* --- debug information --- */

static enum sonde_block_kind kind_of_member(const struct merge *m,
                                            const struct sonde__block_member *member)
{
    switch (member->form) {
    case SONDE__BLOCK_MEMBER_OBJECT:
    case SONDE__BLOCK_MEMBER_BLOCK: /* not retained */
        return m->out->is_owned_known ? SONDE_BLOCK_UNRETAINED : SONDE_BLOCK_UNKNOWN;
    case SONDE__BLOCK_MEMBER_BYREF: /* with helpers it would be listed already */
        return m->is_noescape ? SONDE_BLOCK_DATA : SONDE_BLOCK_BYREF;
    default:
        return SONDE_BLOCK_DATA;
    }
}

/* Does a trusted source say that it is managed? Without helpers, names only repeat the layout. */
static bool is_managed(const struct merge *m, const struct sonde__block_capture *capture)
{
    return m->has_helpers && capture->kind != SONDE_BLOCK_OBJECT &&
           capture->kind != SONDE_BLOCK_DATA && capture->kind != SONDE_BLOCK_UNRETAINED;
}

/* Earlier sources may have split a member of several words. */
static void add_member(struct merge *m, const struct sonde__block_member *member)
{
    struct sonde__block_capture *capture;
    bool has_parts = false;
    for (size_t i = 0; i < m->out->count; i++) {
        struct sonde__block_capture *part = &m->out->items[i];
        if (part->offset >= member->offset && part->offset - member->offset < member->size &&
            member->form == SONDE__BLOCK_MEMBER_OTHER && is_managed(m, part) &&
            (member->size > WORD || part->inside)) {
            part->inside = true;
            has_parts = true;
        }
    }
    capture = find(m, member->offset, false);
    if (capture == NULL || (member->bit_size != 0 && capture->member != NULL)) {
        capture = insert(m, member->offset, member->size, false,
                         has_parts ? SONDE_BLOCK_OBJECT : kind_of_member(m, member));
    }
    if (capture != NULL) {
        if (has_parts && capture->kind == SONDE_BLOCK_DATA) {
            capture->kind = SONDE_BLOCK_OBJECT;
        }
        capture->member = member;
        capture->size = member->size;
    }
}

static int by_place(const struct sonde__block_capture *a, const struct sonde__block_capture *b)
{
    return SONDE__ORDER2(a, b, offset, inside);
}

/* Sort again, because captures may have become parts. */
static void sort(struct sonde__block_captures *out)
{
    for (size_t i = 1; i < out->count; i++) {
        struct sonde__block_capture capture = out->items[i];
        size_t at = i;
        for (; at > 0 && by_place(&out->items[at - 1], &capture) > 0; at--) {
            out->items[at] = out->items[at - 1];
        }
        out->items[at] = capture;
    }
}

/* --- the end --- */

/* Add data captures for bytes without a claim. After an object of unknown size these start behind
 * its first word, and may belong to the object or to another variable. Before a part of an object
 * they belong to the object. */
static void fill_gaps(struct merge *m)
{
    uint32_t at = m->begin;
    for (size_t i = 0; i <= m->out->count; i++) {
        const struct sonde__block_capture *next = i < m->out->count ? &m->out->items[i] : NULL;
        bool is_part = next != NULL && next->inside;
        uint32_t from = at, to = next != NULL ? next->offset : m->size;
        if (next != NULL && next->offset + (next->size != 0 ? next->size : WORD) > at) {
            at = next->offset + (next->size != 0 ? next->size : WORD);
        }
        if (from < to) {
            if (insert(m, from, to - from, is_part, SONDE_BLOCK_DATA) == NULL) {
                return;
            }
            i++;
        }
    }
}

/* Does the claim `said` agree with the capture? Layouts know neither blocks nor the parts of
 * objects. */
static bool means(unsigned source, uint8_t said, uint8_t kind)
{
    return said == kind || ((source == SONDE_BLOCK_BY_LAYOUT || source == SONDE_BLOCK_BY_HELPER) &&
                            said == SONDE_BLOCK_STRONG && kind == SONDE_BLOCK_BLOCK);
}

static bool is_owned(unsigned kind)
{
    return kind == SONDE_BLOCK_STRONG || kind == SONDE_BLOCK_WEAK || kind == SONDE_BLOCK_BLOCK ||
           kind == SONDE_BLOCK_BYREF || kind == SONDE_BLOCK_OBJECT;
}

/* The most trusted source decides: code, then names. Else the kind stays. */
static void decide(const struct merge *m, struct sonde__block_capture *capture)
{
    for (unsigned source = 0; source <= SONDE_BLOCK_BY_DESCRIPTOR_NAME; source++) {
        if (capture->said[source] != SONDE__BLOCK_UNSAID) {
            capture->kind = capture->said[source];
            break;
        }
    }
    if (capture->kind == SONDE_BLOCK_STRONG && capture->member != NULL &&
        capture->member->form == SONDE__BLOCK_MEMBER_BLOCK) {
        capture->kind = SONDE_BLOCK_BLOCK; /* in a box: moved, and released as an object */
    }
    /* a NOESCAPE block copies nothing, so it owns nothing */
    if (m->is_noescape && !m->has_helpers) {
        if (capture->kind == SONDE_BLOCK_STRONG || capture->kind == SONDE_BLOCK_BLOCK) {
            capture->kind = SONDE_BLOCK_UNRETAINED;
        } else if (capture->kind == SONDE_BLOCK_BYREF) {
            capture->kind = SONDE_BLOCK_DATA;
        }
    } else if (!m->has_helpers && is_owned(capture->kind) && m->out->is_owned_known &&
               capture->said[SONDE_BLOCK_BY_GENERIC] == SONDE__BLOCK_UNSAID) {
        capture->kind = SONDE_BLOCK_UNRETAINED; /* the name only repeats the layout */
    }
    if (capture->member != NULL) { /* types identify boxes, but not ownership */
        capture->said[SONDE_BLOCK_BY_DWARF] =
            capture->member->form == SONDE__BLOCK_MEMBER_BYREF ? SONDE_BLOCK_BYREF : capture->kind;
    }
    for (unsigned source = 0; source < sizeof capture->said; source++) {
        uint8_t said = capture->said[source];
        if (said != SONDE__BLOCK_UNSAID) {
            uint8_t *set =
                means(source, said, capture->kind) ? &capture->sources : &capture->against;
            *set = (uint8_t)(*set | 1u << source);
        }
    }
    if (m->is_followed && is_owned(capture->kind) && !capture->inside &&
        capture->kind != SONDE_BLOCK_OBJECT &&
        capture->said[SONDE_BLOCK_BY_HELPER] == SONDE__BLOCK_UNSAID) {
        capture->against |= 1u << SONDE_BLOCK_BY_HELPER;
    }
}

static void finish(struct merge *m)
{
    for (size_t i = 0; i < m->member_count; i++) {
        const struct sonde__block_member *member = &m->members[i];
        if (member->offset >= m->begin && member->offset < m->size &&
            member->size <= m->size - member->offset) {
            add_member(m, member);
        }
    }
    sort(m->out);
    if (m->member_count == 0) {
        fill_gaps(m);
    }
    for (size_t i = 0; i < m->out->count; i++) {
        decide(m, &m->out->items[i]);
    }
}

static void begin(struct merge *m)
{
    struct sonde__block_captures *out = m->out;
    *out = (struct sonde__block_captures){.items = out->items, .capacity = out->capacity};
}

void sonde__block_captures(const struct sonde__block_memory *memory,
                           const struct sonde__block_desc *desc,
                           const struct sonde__block_member *members, size_t member_count,
                           struct sonde__block_scratch *scratch,
                           struct sonde__block_captures *ret_captures)
{
    struct merge m = {.memory = memory,
                      .scratch = scratch,
                      .out = ret_captures,
                      .begin = SONDE__BLOCK_HEADER_BYTES,
                      .size = desc->size,
                      .is_noescape = (desc->flags & SONDE_BLOCK_NOESCAPE) != 0,
                      .members = members,
                      .member_count = member_count};
    struct sonde__block_claims claims = begin_claims(&m);
    bool is_generic = desc->generic_form != SONDE__BLOCK_GENERIC_NONE;
    begin(&m);
    follow(&m, desc->copy, SONDE__BLOCK_HELPER_COPY);
    follow(&m, desc->dispose, SONDE__BLOCK_HELPER_DISPOSE);
    if (is_generic) {
        const char *problem = sonde__block_generic_claims(memory, desc, &claims);
        m.has_helpers = true;
        if (problem == NULL) {
            m.is_followed = m.is_followed || (desc->copy == 0 && desc->dispose == 0);
        } else {
            ret_captures->helper_problem = problem;
        }
        add_claims(&m, &claims);
    }
    ret_captures->is_owned_known = ret_captures->helper_problem == NULL;
    read_name(&m, desc->copy, SONDE__BLOCK_NAME_COPY);
    read_name(&m, desc->dispose, SONDE__BLOCK_NAME_DISPOSE);
    read_name(&m, desc->address, SONDE__BLOCK_NAME_DESC);
    add_layout(&m, desc->layout_form, desc->layout, SONDE__BLOCK_HEADER_BYTES);
    finish(&m);
}

/* --- boxes --- */

#define BYREF_HEADER 24u

static enum sonde_block_kind kind_of_box(unsigned kind)
{
    switch (kind) {
    case SONDE__BLOCK_BYREF_STRONG:
        return SONDE_BLOCK_STRONG;
    case SONDE__BLOCK_BYREF_WEAK:
        return SONDE_BLOCK_WEAK;
    case SONDE__BLOCK_BYREF_UNRETAINED:
        return SONDE_BLOCK_UNRETAINED;
    case SONDE__BLOCK_BYREF_DATA:
        return SONDE_BLOCK_DATA;
    default:
        return SONDE_BLOCK_UNKNOWN;
    }
}

/* Offset of the variable: from debug information; else that of the only thing that the helper
 * releases; else after the header, if alignment adds no padding. */
static uint32_t place_in_box(const struct merge *m, const struct sonde__block_byref *byref,
                             const struct sonde__block_member *member)
{
    if (member != NULL) {
        return member->variable_offset;
    }
    return m->out->count == 1 ? m->out->items[0].offset : byref->variable;
}

/* The box' flags give the variable's kind if it is a pointer. */
static void add_flags(struct merge *m, const struct sonde__block_byref *byref, uint32_t place)
{
    struct sonde__block_claim claim = {.offset = place,
                                       .size = WORD,
                                       .kind = (uint8_t)kind_of_box(byref->kind),
                                       .source = SONDE_BLOCK_BY_LAYOUT};
    struct sonde__block_capture *capture;
    if (claim.kind == SONDE_BLOCK_UNKNOWN || claim.kind == SONDE_BLOCK_DATA ||
        !is_inside_block(m, &claim)) {
        return;
    }
    capture = find(m, claim.offset, false);
    if (capture == NULL) {
        /* with helpers, they would show what the box owns */
        enum sonde_block_kind kind =
            m->is_followed ? SONDE_BLOCK_UNRETAINED : (enum sonde_block_kind)claim.kind;
        capture = insert(m, claim.offset, WORD, false, kind);
    }
    if (capture != NULL) {
        add_claim(capture, &claim);
    }
}

void sonde__block_byref_captures(const struct sonde__block_memory *memory,
                                 const struct sonde__block_byref *byref,
                                 const struct sonde__block_member *member,
                                 struct sonde__block_scratch *scratch,
                                 struct sonde__block_captures *ret_captures)
{
    struct sonde__block_member variable;
    struct merge m = {.memory = memory,
                      .scratch = scratch,
                      .out = ret_captures,
                      .begin = BYREF_HEADER,
                      .size = byref->size};
    begin(&m);
    /* copying a box moves the variable and retains nothing, so only dispose shows ownership */
    follow(&m, byref->dispose, SONDE__BLOCK_HELPER_DISPOSE);
    ret_captures->is_owned_known = ret_captures->helper_problem == NULL;
    m.begin = byref->variable;
    if (member != NULL && (member->variable_size == 0 || member->variable_offset < m.begin ||
                           member->variable_offset >= byref->size)) {
        member = NULL; /* belongs to another box */
    }
    if (byref->kind == SONDE__BLOCK_BYREF_LAYOUT) {
        uint8_t form = byref->layout == 0       ? SONDE__BLOCK_LAYOUT_NONE
                       : byref->layout < 0x1000 ? SONDE__BLOCK_LAYOUT_INLINE
                                                : SONDE__BLOCK_LAYOUT_STRING;
        add_layout(&m, form, byref->layout,
                   member != NULL ? member->variable_offset : byref->variable);
    } else {
        add_flags(&m, byref, place_in_box(&m, byref, member));
    }
    if (member != NULL) {
        variable = (struct sonde__block_member){.offset = member->variable_offset,
                                                .size = member->variable_size,
                                                .form = member->variable_form,
                                                .name = member->name,
                                                .type = member->variable_type};
        m.members = &variable;
        m.member_count = 1;
    }
    finish(&m);
    for (size_t i = 0; i < ret_captures->count; i++) { /* of this box */
        struct sonde__block_capture *capture = &ret_captures->items[i];
        capture->member = capture->member != NULL ? member : NULL;
    }
}
