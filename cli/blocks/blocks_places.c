// SPDX-License-Identifier: Apache-2.0
#include "blocks_places.h"

#include <stdio.h>
#include <string.h>

#include <sonde/block.h>

#include "mem_heap.h"
#include "mem_sort.h"

void blocks_places_of_file(struct blocks_places *places,
                           const struct sonde__symfile_options *options, const char *path,
                           const struct sonde__macho *macho)
{
    struct sonde__symfile_index_wanted wanted = {0};
    struct sonde_error error;
    bool no_debug;
    if (macho != NULL) {
        wanted.uuid = macho->uuid;
        wanted.arch = sonde__macho_arch_name(macho->cpu, macho->subtype);
    }
    places->has_file = sonde__symfile_types_open(options, path, &wanted, &places->file, &no_debug,
                                                 &error) == SONDE_OK;
    places->types = places->has_file ? places->file.types : NULL;
}

/* Does the file have the image's build-id? If neither has one, the path decides. */
static bool is_of(const struct sonde__elf *elf, const struct sonde__image *image)
{
    struct sonde__build_id id = {0};
    (void)sonde__elf_build_id(elf, &id);
    return id.size == image->build_id.size && memcmp(id.bytes, image->build_id.bytes, id.size) == 0;
}

void blocks_places_of_image(struct blocks_places *places,
                            const struct sonde__symfile_options *options,
                            const struct sonde__image *image)
{
    struct sonde__symfile_options here = *options;
    const char *path = image->path;
    if (image->file != NULL) { /* the file at the path was replaced */
        here.root = NULL;
        path = image->file;
    }
    places->options = here;
    if (path == NULL || path[0] != '/') {
        return;
    }
    blocks_places_of_file(places, &places->options, path, NULL);
    if (places->has_file && !(places->file.has_pair && is_of(&places->file.pair.own, image))) {
        blocks_places_done(places);
    }
}

void blocks_places_of_object(struct blocks_places *places, const struct sonde__macho *macho)
{
    struct sonde__types_source source = {.sections = &places->sections};
    if (!sonde__dwarf_sections_of_macho(macho, &places->sections) ||
        sonde__types_open(&source, &places->types) != SONDE_OK) {
        places->types = NULL;
    }
}

static void relocate_all(struct blocks_places *places, const struct sonde__elf *elf,
                         struct sonde__loaded *loaded)
{
    uint8_t *at = places->copy;
    for (unsigned i = 0; i < SONDE__DWARF_SECTION_COUNT; i++) {
        const struct sonde__bytes *from = sonde__dwarf_section(&places->inflated.views, i);
        size_t size = sonde__base_bytes_left(from);
        char name[40];
        snprintf(name, sizeof name, ".debug_%s", sonde__dwarf_section_name(i));
        memcpy(at, from->at, size);
        sonde__loaded_relocate(loaded, elf, name, at, size);
        sonde__base_bytes_init(sonde__dwarf_section(&places->sections, i), at, size);
        at += size;
    }
}

void blocks_places_of_elf_object(struct blocks_places *places, const struct sonde__elf *elf,
                                 struct sonde__loaded *loaded)
{
    struct sonde__types_source source = {.sections = &places->sections};
    struct sonde_error error;
    size_t size = 0;
    places->has_inflated =
        sonde__symfile_sections_open(elf, false, &places->inflated, &error) == SONDE_OK;
    for (unsigned i = 0; places->has_inflated && i < SONDE__DWARF_SECTION_COUNT; i++) {
        size += sonde__base_bytes_left(sonde__dwarf_section(&places->inflated.views, i));
    }
    places->copy = size != 0 ? sonde__mem_alloc(size) : NULL;
    if (places->copy == NULL) {
        return;
    }
    sonde__dwarf_sections_init(&places->sections);
    relocate_all(places, elf, loaded);
    if (sonde__types_open(&source, &places->types) != SONDE_OK) {
        places->types = NULL;
    }
}

void blocks_places_done(struct blocks_places *places)
{
    if (places->has_file) {
        sonde__symfile_types_close(&places->file);
    } else if (places->types != NULL) {
        sonde__types_close(places->types);
    }
    if (places->has_inflated) {
        sonde__symfile_sections_close(&places->inflated);
    }
    sonde__mem_free(places->copy);
    places->copy = NULL;
    places->has_inflated = places->has_file = false;
    places->types = NULL;
}

bool blocks_place(const struct blocks_places *places, uint64_t vaddr,
                  struct blocks_place *ret_place)
{
    struct sonde__type_function function;
    if (places->types == NULL) {
        return false;
    }
    sonde__types_refill(places->types);
    if (sonde__types_function_at(places->types, vaddr, &function) != SONDE_OK ||
        function.low != vaddr) {
        return false;
    }
    ret_place->name = function.linkage != NULL ? function.linkage : function.name;
    ret_place->line = 0;
    if (!sonde__type_declared_at(places->types, function.self, ret_place->file,
                                 sizeof ret_place->file, &ret_place->line)) {
        ret_place->file[0] = '\0';
    }
    return true;
}

/* Write a C declaration to `text`; after an error, the part that is known. */
static void put_text(const struct blocks_places *places, struct sonde__type_ref type,
                     const char *name, char *text, size_t size)
{
    text[0] = '\0';
    if (sonde__type_text(places->types, type, name, text, size) != SONDE_OK) {
        text[size - 1] = '\0';
    }
}

bool blocks_next_variable(const struct blocks_places *places, uint64_t vaddr,
                          struct blocks_variables *variables, struct blocks_variable *ret_variable)
{
    if (places->types == NULL) {
        return false;
    }
    sonde__types_refill(places->types);
    if (!variables->began) {
        variables->began = true;
        if (sonde__types_block_at(places->types, vaddr, &variables->block) != SONDE_OK) {
            return false;
        }
    }
    if (sonde__types_next_capture(places->types, &variables->block, &variables->captures,
                                  &ret_variable->capture) != SONDE_OK) {
        return false;
    }
    put_text(places, ret_variable->capture.type, ret_variable->capture.name,
             ret_variable->declaration, sizeof ret_variable->declaration);
    put_text(places, ret_variable->capture.type, NULL, ret_variable->type,
             sizeof ret_variable->type);
    return true;
}

/* --- members --- */

static uint8_t form_of(const struct blocks_places *places, struct sonde__type_ref type)
{
    switch (sonde__types_held_by(places->types, type)) {
    case SONDE__TYPES_HELD_OBJECT:
        return SONDE__BLOCK_MEMBER_OBJECT;
    case SONDE__TYPES_HELD_BLOCK:
        return SONDE__BLOCK_MEMBER_BLOCK;
    default:
        return SONDE__BLOCK_MEMBER_OTHER;
    }
}

static uint8_t value_of(const struct blocks_places *places, struct sonde__type_ref ref)
{
    enum { BOOLEAN = 2, REAL = 4, SIGNED, SIGNED_CHAR, UNSIGNED, UNSIGNED_CHAR }; /* DW_ATE_* */
    struct sonde__type type;
    if (sonde__type_strip(places->types, ref, &type) != SONDE_OK) {
        return SONDE__BLOCK_VALUE_BYTES;
    }
    switch (type.kind) {
    case SONDE__TYPE_POINTER:
    case SONDE__TYPE_REFERENCE:
    case SONDE__TYPE_RVALUE_REFERENCE:
        return SONDE__BLOCK_VALUE_ADDRESS;
    case SONDE__TYPE_ENUM:
        return SONDE__BLOCK_VALUE_SIGNED;
    case SONDE__TYPE_BASE:
        return type.encoding == BOOLEAN         ? SONDE__BLOCK_VALUE_BOOLEAN
               : type.encoding == REAL          ? SONDE__BLOCK_VALUE_REAL
               : type.encoding == SIGNED        ? SONDE__BLOCK_VALUE_SIGNED
               : type.encoding == SIGNED_CHAR   ? SONDE__BLOCK_VALUE_CHARACTER
               : type.encoding == UNSIGNED      ? SONDE__BLOCK_VALUE_UNSIGNED
               : type.encoding == UNSIGNED_CHAR ? SONDE__BLOCK_VALUE_UNSIGNED
                                                : SONDE__BLOCK_VALUE_BYTES;
    default:
        return SONDE__BLOCK_VALUE_BYTES;
    }
}

/* False: damaged, or no memory. */
static bool take_member(const struct blocks_places *places, const struct blocks_variable *variable,
                        struct sonde__block_member *ret_member)
{
    const struct sonde__types_capture *capture = &variable->capture;
    uint8_t form = form_of(places, capture->type);
    struct sonde__block_member member = {.offset = (uint32_t)capture->offset,
                                         .size = (uint32_t)capture->size,
                                         .form = form,
                                         .value = value_of(places, capture->type),
                                         .name = capture->name};
    if (capture->offset > SONDE__BLOCK_SIZE_MAX || capture->size > SONDE__BLOCK_SIZE_MAX ||
        capture->size == 0 || capture->variable_offset > SONDE__BLOCK_BYREF_MAX ||
        capture->variable_size > SONDE__BLOCK_BYREF_MAX) {
        return false;
    }
    member.declaration = sonde__mem_copy_string(variable->declaration);
    member.type = sonde__mem_copy_string(variable->type);
    if (capture->is_byref) {
        member.form = SONDE__BLOCK_MEMBER_BYREF;
        member.variable_offset = (uint32_t)capture->variable_offset;
        member.variable_size = (uint32_t)capture->variable_size;
        member.variable_form = form;
        member.variable_type = member.type;
    }
    *ret_member = member;
    return true;
}

void blocks_members(const struct blocks_places *places, uint64_t vaddr,
                    struct blocks_members *ret_members)
{
    static struct blocks_variable variable;
    struct blocks_variables variables = {0};
    struct blocks_members members = {0};
    size_t capacity = 0;
    while (members.count < BLOCKS_MEMBERS_MAX &&
           blocks_next_variable(places, vaddr, &variables, &variable)) {
        if (!variable.capture.is_stored) {
            continue;
        }
        if (!sonde__mem_grow(&members.items, members.count, &capacity, sizeof *members.items)) {
            break;
        }
        members.count += take_member(places, &variable, &members.items[members.count]);
    }
    SONDE__SORT_BY(members.items, members.count, offset);
    *ret_members = members;
}

void blocks_members_done(struct blocks_members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        sonde__mem_free((char *)members->items[i].declaration);
        sonde__mem_free((char *)members->items[i].type);
    }
    sonde__mem_free(members->items);
    *members = (struct blocks_members){0};
}

size_t blocks_declaration(const struct sonde__block_member *member, uint8_t kind, char *text,
                          size_t size)
{
    const char *before = member->form != SONDE__BLOCK_MEMBER_BYREF ? ""
                         : kind == SONDE_BLOCK_BYREF               ? "__block "
                                                                   : "address of ";
    const char *declaration = member->declaration != NULL ? member->declaration : "";
    int used = snprintf(text, size, "%s%s", before, declaration);
    return used < 0 ? 0 : (size_t)used < size ? (size_t)used : size - 1;
}
