// SPDX-License-Identifier: Apache-2.0
#include "blocks_image.h"

#include <stdio.h>
#include <string.h>

#include "base_text.h"
#include "block_captures.h"
#include "demangle.h"

/* --- captures, by their most reliable source --- */

static struct blocks_capture *take_capture(struct blocks_desc *desc,
                                           const struct sonde__block_capture *known)
{
    struct blocks_capture *capture = &desc->captures[desc->capture_count];
    *capture = (struct blocks_capture){.offset = known->offset,
                                       .size = known->size,
                                       .kind = known->kind,
                                       .inside = known->inside,
                                       .sources = known->sources,
                                       .other_sources = known->against,
                                       .type = known->encoded,
                                       .type_size = known->encoded_size};
    for (unsigned i = 0; i < sizeof known->said; i++) {
        if ((known->against >> i & 1) != 0 && known->said[i] != SONDE__BLOCK_UNSAID) {
            capture->other = known->said[i];
            capture->has_other = true;
        }
    }
    if (known->member != NULL && !known->inside) {
        (void)blocks_declaration(known->member, known->kind, capture->declaration,
                                 sizeof capture->declaration);
    }
    desc->capture_count++;
    return capture;
}

/* False for bytes that no source describes: they are no capture. */
static bool is_listed(const struct sonde__block_capture *capture)
{
    return capture->sources != 0 || capture->against != 0;
}

const struct sonde__blockfile_box *blocks_box(const struct blocks_image *image,
                                              const struct sonde__blockfile_block *block,
                                              const struct blocks_capture *capture)
{
    return capture->kind == SONDE_BLOCK_BYREF && !capture->inside && !capture->in_box
               ? sonde__blockfile_box_of(&image->file, block, capture->offset)
               : NULL;
}

/* Append the content of a __block variable's box to its capture. */
static void take_box(struct blocks_image *image, struct blocks_desc *desc,
                     const struct sonde__blockfile_box *box,
                     const struct sonde__block_member *member)
{
    static struct sonde__block_capture items[BLOCKS_CAPTURES_MAX];
    static struct sonde__block_scratch scratch;
    struct sonde__block_captures captures = {.items = items, .capacity = BLOCKS_CAPTURES_MAX};
    struct sonde__block_byref byref;
    sonde__blockfile_box_read(box, &byref);
    sonde__block_byref_captures(&image->memory, &byref, member, &scratch, &captures);
    for (size_t i = 0; i < captures.count && desc->capture_count < BLOCKS_CAPTURES_MAX; i++) {
        if (is_listed(&items[i])) {
            struct blocks_capture *capture = take_capture(desc, &items[i]);
            capture->in_box = true;
            capture->declaration[0] = '\0';
            if (items[i].member != NULL && !items[i].inside && member->declaration != NULL) {
                snprintf(capture->declaration, sizeof capture->declaration, "%s",
                         member->declaration);
            }
        }
    }
    if (captures.helper_problem != NULL && desc->problem == NULL) {
        desc->problem = captures.helper_problem;
    }
}

/* block: the owner of the captures; null: all blocks with the descriptor. */
static void gather(struct blocks_image *image, struct blocks_desc *desc,
                   const struct sonde__block_desc *as, const struct blocks_members *members,
                   const struct sonde__blockfile_block *block)
{
    static struct sonde__block_capture items[BLOCKS_CAPTURES_MAX];
    static struct sonde__block_scratch scratch;
    struct sonde__block_captures captures = {.items = items, .capacity = BLOCKS_CAPTURES_MAX};
    sonde__block_captures(&image->memory, as, members->items, members->count, &scratch, &captures);
    desc->capture_count = 0;
    for (size_t i = 0; i < captures.count && desc->capture_count < BLOCKS_CAPTURES_MAX; i++) {
        const struct sonde__blockfile_box *box;
        const struct blocks_capture *capture;
        if (!is_listed(&items[i])) {
            continue;
        }
        capture = take_capture(desc, &items[i]);
        box = block != NULL ? blocks_box(image, block, capture) : NULL;
        if (box != NULL) {
            take_box(image, desc, box, items[i].member);
        }
    }
    if (captures.helper_problem != NULL) {
        desc->problem = captures.helper_problem;
    } else if (captures.layout_problem != NULL) {
        desc->problem = captures.layout_problem;
    } else if (captures.lost != 0) {
        desc->problem = "more captures than are shown";
    }
}

/* --- variables --- */

/* Use the block's own flags: other blocks with the descriptor may differ. */
static void add_members(struct blocks_image *image, struct blocks_desc *desc,
                        const struct sonde__blockfile_block *block)
{
    struct sonde__block_desc as = desc->desc;
    struct blocks_members members;
    if (block->flags_known) {
        as.flags |= block->flags & SONDE_BLOCK_NOESCAPE;
    }
    blocks_members(&image->places, blocks_vaddr(image, block->invoke), &members);
    gather(image, desc, &as, &members, block);
    if (members.count > 0 && members.items[members.count - 1].offset >= as.size) {
        desc->problem = "the debug information has captures beyond the end of the block";
    }
    blocks_members_done(&members);
}

bool blocks_add_variables(struct blocks_image *image, struct blocks_desc *desc,
                          const struct sonde__blockfile_block *block,
                          char constants[BLOCKS_CONSTANTS_BYTES])
{
    static struct blocks_variable variable;
    struct blocks_variables variables = {0};
    size_t used = 0;
    bool any = false;
    for (unsigned i = 0; i < desc->capture_count; i++) {
        any = any || blocks_box(image, block, &desc->captures[i]) != NULL;
    }
    constants[0] = '\0';
    while (blocks_next_variable(&image->places, blocks_vaddr(image, block->invoke), &variables,
                                &variable)) {
        any = true;
        if (!variable.capture.is_stored &&
            used + sizeof variable.declaration + 2 < BLOCKS_CONSTANTS_BYTES) {
            used += (size_t)snprintf(constants + used, BLOCKS_CONSTANTS_BYTES - used, "%s\n",
                                     variable.declaration);
        }
    }
    if (any) {
        add_members(image, desc, block);
    }
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
    gather(image, ret_desc, &ret_desc->desc, &(struct blocks_members){0}, NULL);
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

bool blocks_name_run(struct blocks_image *image, const struct sonde__blockfile_block *block,
                     struct blocks_function *ret_function)
{
    const char *name = sonde__loaded_symbol_at(&image->loaded, block->invoke);
    if (block->first == 0 || !sonde__block_is_thunk(name)) {
        return false;
    }
    blocks_name_function(image, block->first, ret_function);
    return true;
}
