// SPDX-License-Identifier: Apache-2.0
#include "blocks_places.h"

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

void blocks_places_of_object(struct blocks_places *places, const struct sonde__macho *macho)
{
    struct sonde__types_source source = {.sections = &places->sections};
    if (!sonde__dwarf_sections_of_macho(macho, &places->sections) ||
        sonde__types_open(&source, &places->types) != SONDE_OK) {
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
    places->has_file = false;
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

/* What is not known as a whole is shown as far as it is. */
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
