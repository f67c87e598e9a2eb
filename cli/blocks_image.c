// SPDX-License-Identifier: Apache-2.0
#include "blocks_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "block_helper.h"
#include "demangle.h"

const char *blocks_kind_text(unsigned kind)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        SONDE_BLOCK_KIND_MAP(TEXT)
#undef TEXT
    };
    return kind < sizeof texts / sizeof texts[0] ? texts[kind] : "?";
}

const char *blocks_source_text(unsigned source)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        SONDE_BLOCK_SOURCE_MAP(TEXT)
#undef TEXT
    };
    return source < sizeof texts / sizeof texts[0] ? texts[source] : "?";
}

/* --- captures: what the sources say, the most reliable first --- */

static struct blocks_capture *capture_at(struct blocks_desc *desc, uint32_t offset)
{
    for (unsigned i = 0; i < desc->capture_count; i++) {
        if (desc->captures[i].offset == offset) {
            return &desc->captures[i];
        }
    }
    return NULL;
}

/* A block is an object, too: layouts, and what releases one, do not tell it from others. */
static bool agree(uint8_t kind, uint8_t claimed)
{
    return kind == claimed || (kind == SONDE_BLOCK_BLOCK && claimed == SONDE_BLOCK_STRONG) ||
           (kind == SONDE_BLOCK_STRONG && claimed == SONDE_BLOCK_BLOCK);
}

static void take_claim(struct blocks_desc *desc, const struct sonde__block_claim *claim)
{
    struct blocks_capture *capture = capture_at(desc, claim->offset);
    if (capture == NULL) {
        if (desc->capture_count == BLOCKS_CAPTURES_MAX) {
            desc->problem = "more captures than are shown";
            return;
        }
        desc->captures[desc->capture_count++] =
            (struct blocks_capture){.offset = claim->offset,
                                    .size = claim->size,
                                    .kind = claim->kind,
                                    .sources = 1u << claim->source,
                                    .type = claim->type,
                                    .type_size = claim->type_size};
        return;
    }
    if (agree(capture->kind, claim->kind)) {
        capture->sources |= 1u << claim->source;
        if (claim->kind == SONDE_BLOCK_BLOCK) {
            capture->kind = claim->kind;
        }
    } else {
        capture->other_sources |= 1u << claim->source;
        capture->other = claim->kind;
    }
    if (capture->type == NULL) {
        capture->type = claim->type;
        capture->type_size = claim->type_size;
    }
}

static int by_offset(const void *a, const void *b)
{
    const struct blocks_capture *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* What the helpers' code does. */
static void follow_helpers(struct blocks_image *image, struct blocks_desc *desc,
                           struct sonde__block_claims *claims)
{
    static struct sonde__block_work work;
    const uint64_t helpers[] = {desc->desc.dispose, desc->desc.copy};
    const enum sonde__block_helper_form forms[] = {SONDE__BLOCK_HELPER_DISPOSE,
                                                   SONDE__BLOCK_HELPER_COPY};
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__block_followed followed;
        if (helpers[i] == 0) {
            continue;
        }
        sonde__block_helper_claims(&image->memory, helpers[i], forms[i], SONDE__BLOCK_HEADER_BYTES,
                                   desc->desc.size, &work, claims, &followed);
        if (followed.problem != NULL) {
            desc->problem = followed.problem;
        }
    }
}

static void gather(struct blocks_image *image, struct blocks_desc *desc)
{
    static struct sonde__block_claim items[BLOCKS_CLAIMS_MAX];
    struct sonde__block_claims claims = {.items = items, .capacity = BLOCKS_CLAIMS_MAX};
    struct sonde__block_name name;
    const char *symbols[] = {sonde__loaded_symbol_at(&image->loaded, desc->desc.dispose),
                             sonde__loaded_symbol_at(&image->loaded, desc->desc.copy),
                             desc->found->symbol};
    follow_helpers(image, desc, &claims);
    for (unsigned i = 0; i < 3; i++) {
        if (symbols[i] != NULL) {
            (void)sonde__block_name_read(symbols[i], &claims, &name);
        }
    }
    if (desc->desc.layout_form != SONDE__BLOCK_LAYOUT_NONE) {
        const char *problem = sonde__block_layout_claims(
            &image->memory, desc->desc.layout_form, desc->desc.layout, SONDE__BLOCK_HEADER_BYTES,
            desc->desc.size, SONDE_BLOCK_BY_LAYOUT, &claims);
        desc->problem = problem != NULL ? problem : desc->problem;
    }
    for (unsigned source = 0; source < BLOCKS_SOURCES; source++) {
        for (size_t i = 0; i < claims.count; i++) {
            if (items[i].source == source && !items[i].inside) {
                take_claim(desc, &items[i]);
            }
        }
    }
    qsort(desc->captures, desc->capture_count, sizeof desc->captures[0], by_offset);
}

/* --- variables --- */

/* Are captures that the block manages in the variable's bytes, but not all of it? */
static bool has_parts(const struct blocks_desc *desc, const struct sonde__types_capture *variable)
{
    for (unsigned i = 0; i < desc->capture_count; i++) {
        uint64_t offset = desc->captures[i].offset;
        if (offset > variable->offset && offset < variable->offset + variable->size) {
            return true;
        }
    }
    return false;
}

static void add_variable(struct blocks_desc *desc, const struct blocks_variable *variable,
                         bool noescape)
{
    const struct sonde__types_capture *stored = &variable->capture;
    bool is_box = stored->is_byref && !noescape;
    struct blocks_capture *capture;
    if (stored->offset >= desc->desc.size) {
        desc->problem = "debug information tells of captures behind the block's end";
        return;
    }
    capture = capture_at(desc, (uint32_t)stored->offset);
    if (capture == NULL) {
        if (desc->capture_count == BLOCKS_CAPTURES_MAX) {
            desc->problem = "more captures than are shown";
            return;
        }
        capture = &desc->captures[desc->capture_count];
        *capture = (struct blocks_capture){.offset = (uint32_t)stored->offset};
        capture->kind = is_box                    ? SONDE_BLOCK_BYREF
                        : has_parts(desc, stored) ? SONDE_BLOCK_OBJECT
                                                  : SONDE_BLOCK_DATA;
        desc->capture_count++;
    }
    capture->sources |= 1u << SONDE_BLOCK_BY_DWARF;
    capture->size = (uint32_t)stored->size;
    /* a box of a block that does not escape is the variable's own place, a plain pointer */
    snprintf(capture->declaration, sizeof capture->declaration, "%s%.*s",
             stored->is_byref ? noescape ? "address of " : "__block " : "",
             (int)sizeof capture->declaration - 12, variable->declaration);
}

bool blocks_add_variables(struct blocks_image *image, struct blocks_desc *desc,
                          const struct sonde__blockfile_block *block,
                          char constants[BLOCKS_CONSTANTS_BYTES])
{
    static struct blocks_variable variable;
    struct blocks_variables variables = {0};
    bool noescape = block->flags_known && (block->flags & SONDE_BLOCK_NOESCAPE) != 0;
    size_t used = 0;
    bool any = false;
    constants[0] = '\0';
    while (blocks_next_variable(&image->places, blocks_vaddr(image, block->invoke), &variables,
                                &variable)) {
        any = true;
        if (variable.capture.is_stored) {
            add_variable(desc, &variable, noescape);
        } else if (used + sizeof variable.declaration + 2 < BLOCKS_CONSTANTS_BYTES) {
            used += (size_t)snprintf(constants + used, BLOCKS_CONSTANTS_BYTES - used, "%s\n",
                                     variable.declaration);
        }
    }
    qsort(desc->captures, desc->capture_count, sizeof desc->captures[0], by_offset);
    return any;
}

static void read_type(struct blocks_image *image, struct blocks_desc *desc)
{
    struct sonde__text text;
    size_t length;
    desc->encoding[0] = desc->type[0] = '\0';
    if (desc->desc.signature == 0 ||
        !sonde__block_read_text(&image->memory, desc->desc.signature, desc->encoding,
                                sizeof desc->encoding, &length)) {
        desc->encoding[0] = '\0';
        return;
    }
    sonde__base_text_init(&text, desc->type, sizeof desc->type);
    if (!sonde__block_signature(desc->encoding, length, NULL, &text)) {
        desc->type[0] = '\0';
    }
}

void blocks_describe(struct blocks_image *image, const struct sonde__blockfile_desc *found,
                     struct blocks_desc *ret_desc)
{
    ret_desc->found = found;
    ret_desc->problem = NULL;
    ret_desc->capture_count = 0;
    ret_desc->encoding[0] = ret_desc->type[0] = '\0';
    if (sonde__block_desc_read(&image->memory, found->vaddr, found->flags, &ret_desc->desc) !=
        SONDE_OK) {
        ret_desc->desc = (struct sonde__block_desc){.address = found->vaddr, .size = found->size};
        ret_desc->problem = "the descriptor could not be read";
        return;
    }
    ret_desc->problem = ret_desc->desc.problem;
    read_type(image, ret_desc);
    gather(image, ret_desc);
}

/* --- functions --- */

uint64_t blocks_vaddr(const struct blocks_image *image, uint64_t address)
{
    return address - image->loaded.bias;
}

void blocks_name_function(struct blocks_image *image, uint64_t address,
                          struct blocks_function *ret_function)
{
    static char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    const char *name = sonde__loaded_symbol_at(&image->loaded, address);
    ret_function->symbol = name;
    if (!blocks_place(&image->places, blocks_vaddr(image, address), &ret_function->place)) {
        ret_function->place = (struct blocks_place){0};
    }
    if (name == NULL) {
        name = ret_function->place.name != NULL ? ret_function->place.name : "";
    }
    snprintf(ret_function->name, sizeof ret_function->name, "%s",
             image->raw ? name : sonde__demangle(name, buffer));
}
