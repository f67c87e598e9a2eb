// SPDX-License-Identifier: Apache-2.0
/* Reads what clang encodes in the names of descriptors and helpers so that the linker can merge
 * equal ones. Source: CGBlocks.cpp (getBlockDescriptorName, getBlockCaptureStr,
 * getCopyDestroyHelperFuncName), CGObjCMac.cpp (getRCBlockLayoutStr), CGNonTrivialStruct.cpp. */
#include <string.h>

#include "block_claims.h"

/* Larger numbers are not offsets in a block. */
#define NUMBER_MAX SONDE__BLOCK_SIZE_MAX

struct parser {
    const char *at, *end;
};

static char peek(const struct parser *p)
{
    return p->at < p->end ? *p->at : '\0';
}

static bool take_char(struct parser *p, char c)
{
    if (peek(p) != c || p->at == p->end) {
        return false;
    }
    p->at++;
    return true;
}

static bool take_text(struct parser *p, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, text, size) != 0) {
        return false;
    }
    p->at += size;
    return true;
}

static bool take_number(struct parser *p, uint32_t *ret_number)
{
    uint32_t number = 0;
    const char *begin = p->at;
    for (; peek(p) >= '0' && peek(p) <= '9'; p->at++) {
        number = number * 10 + (uint32_t)(*p->at - '0');
        if (number > NUMBER_MAX) {
            return false;
        }
    }
    if (p->at == begin) {
        return false;
    }
    *ret_number = number;
    return true;
}

/* --- parts of C structs --- */

struct parts {
    struct parser p;
    uint32_t base;
    uint8_t source;
    struct sonde__block_claims *claims;
    unsigned depth;
};

/* Nested arrays and structs. */
#define DEPTH_MAX 16u
/* Array elements that are claimed one by one; the rest of a larger array is not claimed. */
#define ELEMENTS_MAX 4096u

static void claim_part(struct parts *parts, enum sonde_block_kind kind, uint32_t offset,
                       uint32_t size)
{
    struct sonde__block_claim claim = {.offset = parts->base + offset,
                                       .size = size,
                                       .kind = (uint8_t)kind,
                                       .source = parts->source,
                                       .inside = true};
    sonde__block_claim_add(parts->claims, &claim);
}

/* _s[b][v]OFFSET, _w[v]OFFSET, _t[v]OFFSETwSIZE, _pa..; the cursor is after the letter. */
static bool scalar(struct parts *parts, char letter)
{
    struct parser *p = &parts->p;
    enum sonde_block_kind kind = letter == 's'   ? SONDE_BLOCK_STRONG
                                 : letter == 'w' ? SONDE_BLOCK_WEAK
                                                 : SONDE_BLOCK_DATA;
    uint32_t offset, size = 8;
    if (letter == 's' && take_char(p, 'b')) {
        kind = SONDE_BLOCK_BLOCK;
    }
    (void)take_char(p, 'v');
    if (!take_number(p, &offset)) {
        return false;
    }
    if (letter == 't' && !(take_char(p, 'w') && take_number(p, &size))) {
        return false;
    }
    if (kind != SONDE_BLOCK_DATA) {
        claim_part(parts, kind, offset, size);
    }
    return true;
}

/* Repeat the claims of element 0, added from `first` on, for the other elements of an array. */
static void repeat(struct parts *parts, size_t first, uint32_t step, uint32_t count)
{
    struct sonde__block_claims *claims = parts->claims;
    size_t last = claims->count;
    for (uint32_t i = 1; i < count && i < ELEMENTS_MAX && first < last; i++) {
        for (size_t k = first; k < last; k++) {
            struct sonde__block_claim claim = claims->items[k];
            if ((uint64_t)claim.offset + (uint64_t)i * step > NUMBER_MAX) {
                return;
            }
            claim.offset += i * step;
            if (claims->count == claims->capacity) {
                claims->lost += (uint64_t)(count - i) * (last - first) - (k - first);
                return;
            }
            sonde__block_claim_add(claims, &claim);
        }
    }
}

static bool fields(struct parts *parts);

/* AB OFFSET s SIZE n COUNT fields _AE */
static bool array(struct parts *parts)
{
    struct parser *p = &parts->p;
    uint32_t offset, size, count;
    size_t first = parts->claims->count;
    if (!take_number(p, &offset) || !take_char(p, 's') || !take_number(p, &size) ||
        !take_char(p, 'n') || !take_number(p, &count) || !fields(parts) || !take_text(p, "_AE")) {
        return false;
    }
    repeat(parts, first, size, count);
    return true;
}

/* Read fields until something else comes. */
static bool fields(struct parts *parts)
{
    struct parser *p = &parts->p;
    bool is_known = true;
    if (parts->depth >= DEPTH_MAX) {
        return false;
    }
    parts->depth++;
    while (is_known && p->end - p->at >= 2 && p->at[0] == '_') {
        char letter = p->at[1];
        if (take_text(p, "_AB")) {
            is_known = array(parts);
        } else if (letter == 'S') { /* its fields follow inline */
            p->at += 2;
        } else if (letter == 's' || letter == 'w' || letter == 't') {
            p->at += 2;
            is_known = scalar(parts, letter);
        } else {
            break;
        }
    }
    parts->depth--;
    return is_known;
}

bool sonde__block_struct_claims(const char *text, size_t size, uint32_t base,
                                enum sonde_block_source source, struct sonde__block_claims *claims)
{
    struct parts parts = {
        .p = {text, text + size}, .base = base, .source = (uint8_t)source, .claims = claims};
    struct sonde__block_claims before = *claims;
    uint32_t align;
    if (take_number(&parts.p, &align)) {
        struct parser ahead = parts.p;
        if (take_char(&ahead, '_') && take_number(&ahead, &align)) { /* the source's */
            parts.p = ahead;
        }
        if (fields(&parts) && parts.p.at == parts.p.end) {
            return true;
        }
    }
    *claims = before;
    return false;
}

/* --- captures --- */

static bool take_type(struct parser *p, uint32_t size, struct sonde__block_claim *claim)
{
    if ((size_t)(p->end - p->at) < size) {
        return false;
    }
    claim->type = p->at;
    claim->type_size = size;
    p->at += size;
    return true;
}

/* One capture, after its offset. It may have letters for copy and for dispose. */
static bool capture_kind(struct parser *p, struct sonde__block_claim *claim, bool *is_arc)
{
    uint32_t size;
    claim->size = 8;
    if (take_char(p, 's')) {
        claim->kind = SONDE_BLOCK_STRONG;
        *is_arc = true;
    } else if (take_char(p, 'w')) {
        claim->kind = SONDE_BLOCK_WEAK;
        *is_arc = true;
    } else if (take_char(p, 'b')) {
        claim->kind = SONDE_BLOCK_BLOCK;
        (void)take_char(p, 's'); /* copied as a block, released as an object */
    } else if (take_char(p, 'o')) {
        claim->kind = SONDE_BLOCK_STRONG;
    } else if (take_char(p, 'r')) {
        claim->kind = SONDE_BLOCK_BYREF;
        if (!take_char(p, 'w')) {
            (void)take_char(p, 'c');
            (void)take_char(p, 'd');
        }
    } else if (take_char(p, 'c')) {
        claim->kind = SONDE_BLOCK_OBJECT;
        claim->size = 0;
        return take_number(p, &size) && take_type(p, size, claim);
    } else if (take_char(p, 'n')) {
        claim->kind = SONDE_BLOCK_OBJECT;
        claim->size = 0;
        return take_number(p, &size) && take_char(p, '_') && take_type(p, size, claim);
    } else if (take_char(p, 'p')) {
        uint32_t key;
        claim->kind = SONDE_BLOCK_DATA;
        return take_number(p, &key) && take_char(p, 'd') && take_number(p, &key);
    } else {
        return false;
    }
    return true;
}

static void add(struct sonde__block_claims *claims, const struct sonde__block_claim *claim)
{
    if (claims == NULL) {
        return;
    }
    sonde__block_claim_add(claims, claim);
    if (claim->kind == SONDE_BLOCK_OBJECT && claim->type_size > 0 && claim->type[0] != '_') {
        (void)sonde__block_struct_claims(claim->type, claim->type_size, claim->offset,
                                         (enum sonde_block_source)claim->source, claims);
    }
}

/* [e][a]ALIGN_ captures */
static bool captures(struct parser *p, enum sonde_block_source source,
                     struct sonde__block_claims *claims, struct sonde__block_name *name)
{
    uint32_t align, offset;
    (void)take_char(p, 'e');
    (void)take_char(p, 'a');
    if (!take_number(p, &align) || !take_char(p, '_')) {
        return false;
    }
    while (take_number(p, &offset)) {
        struct sonde__block_claim claim = {.offset = offset, .source = (uint8_t)source};
        if (!capture_kind(p, &claim, &name->is_arc)) {
            return false;
        }
        add(claims, &claim);
    }
    return true;
}

/* eLENGTH_ENCODING l, and the captures of a NOESCAPE block. */
static bool signature_and_layout(struct parser *p, struct sonde__block_claims *claims,
                                 struct sonde__block_name *name)
{
    uint32_t size, offset;
    if (!take_char(p, 'e') || !take_number(p, &size) || !take_char(p, '_') ||
        (size_t)(p->end - p->at) < size) {
        return false;
    }
    name->signature = p->at;
    name->signature_size = size;
    p->at += size;
    if (!take_char(p, 'l')) {
        return false;
    }
    while (p->at < p->end && *p->at != '.') { /* ".12" is the linker's */
        char letter = *p->at++;
        struct sonde__block_claim claim = {.source = SONDE_BLOCK_BY_DESCRIPTOR_NAME};
        claim.kind = letter == 'u'   ? SONDE_BLOCK_UNRETAINED
                     : letter == 's' ? SONDE_BLOCK_STRONG
                     : letter == 'r' ? SONDE_BLOCK_BYREF
                     : letter == 'w' ? SONDE_BLOCK_WEAK
                                     : SONDE_BLOCK_UNKNOWN;
        if (claim.kind == SONDE_BLOCK_UNKNOWN || !take_number(p, &offset) || !take_char(p, 'l') ||
            !take_number(p, &size)) {
            return false;
        }
        name->is_arc |= letter == 'u'; /* without claims they count as strong */
        claim.size = 8;
        for (claim.offset = offset; claim.offset - offset + 8 <= size; claim.offset += 8) {
            add(claims, &claim);
        }
    }
    return true;
}

static bool descriptor(struct parser *p, struct sonde__block_claims *claims,
                       struct sonde__block_name *name)
{
    struct parser without = *p;
    struct sonde__block_claims before = claims != NULL ? *claims : (struct sonde__block_claims){0};
    if (!take_number(p, &name->size) || !take_char(p, '_')) {
        return false;
    }
    without = *p;
    if (signature_and_layout(&without, claims, name)) { /* "e8_" is ambiguous */
        return true;
    }
    if (claims != NULL) {
        *claims = before;
    }
    name->has_helpers = true;
    return captures(p, SONDE_BLOCK_BY_DESCRIPTOR_NAME, claims, name) && take_char(p, '_') &&
           signature_and_layout(p, claims, name);
}

enum sonde__block_name_form sonde__block_name_read(const char *text,
                                                   struct sonde__block_claims *claims,
                                                   struct sonde__block_name *ret_name)
{
    struct sonde__block_claims before = claims != NULL ? *claims : (struct sonde__block_claims){0};
    struct sonde__block_name name = {.form = SONDE__BLOCK_NAME_OTHER};
    struct parser p = {text, text + strlen(text)};
    bool is_known = false;
    while (take_char(&p, '_')) {
    }
    if (take_text(&p, "block_descriptor_")) {
        name.form = SONDE__BLOCK_NAME_DESC;
        is_known = descriptor(&p, claims, &name);
    } else {
        name.form = take_text(&p, "copy_helper_block_")      ? SONDE__BLOCK_NAME_COPY
                    : take_text(&p, "destroy_helper_block_") ? SONDE__BLOCK_NAME_DISPOSE
                                                             : SONDE__BLOCK_NAME_OTHER;
        is_known = name.form != SONDE__BLOCK_NAME_OTHER &&
                   captures(&p, SONDE_BLOCK_BY_HELPER_NAME, claims, &name) &&
                   (p.at == p.end || *p.at == '.');
    }
    if (!is_known) {
        name = (struct sonde__block_name){.form = SONDE__BLOCK_NAME_OTHER};
        if (claims != NULL) {
            *claims = before;
        }
    }
    *ret_name = name;
    return (enum sonde__block_name_form)name.form;
}
