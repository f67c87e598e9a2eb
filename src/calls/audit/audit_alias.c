// SPDX-License-Identifier: Apache-2.0
#include "audit_alias.h"

#include <string.h>

#include "image_elf_format.h"

struct search {
    const struct sonde__audit_libraries *libraries;
    size_t library; /* that is searched */
    struct sonde__audit_list *list;
    uint32_t listed;                        /* names that were in it before */
    bool is_known[SONDE__RECORD_FUNCTIONS]; /* defined by an earlier library */
    bool is_here[SONDE__RECORD_FUNCTIONS];
    uint64_t values[SONDE__RECORD_FUNCTIONS]; /* of those that are here */
    char *text;
    size_t size;
};

static bool is_defined_before(const struct search *search, const char *name)
{
    for (size_t n = 0; n < search->library; n++) {
        struct sonde__elf_symbol symbol;
        for (uint32_t at = 0;
             sonde__audit_next_definition(&search->libraries->items[n], &at, &symbol);) {
            if (strcmp(symbol.name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void note_value(struct search *search, const struct sonde__elf_symbol *symbol)
{
    for (uint32_t i = 0; i < search->listed; i++) {
        if (!search->is_known[i] && strcmp(search->list->names[i], symbol->name) == 0) {
            /* none of several versions: the alias could be of any */
            bool is_other = search->is_here[i] && search->values[i] != symbol->value;
            search->is_here[i] = true;
            search->values[i] = is_other ? 0 : symbol->value;
        }
    }
}

static void add_if_alias(struct search *search, const struct sonde__elf_symbol *symbol)
{
    struct sonde__audit_list *list = search->list;
    size_t length = strlen(symbol->name);
    for (uint32_t i = 0; i < search->listed; i++) {
        if (!search->is_here[i] || search->values[i] != symbol->value || symbol->value == 0) {
            continue;
        }
        if (list->count < SONDE__RECORD_FUNCTIONS && length < search->size &&
            length <= SONDE__AUDIT_NAME_MAX && !sonde__audit_list_has(list, symbol->name) &&
            !is_defined_before(search, symbol->name)) {
            memcpy(search->text, symbol->name, length + 1);
            list->same[list->count] = list->same[i];
            list->names[list->count++] = search->text;
            search->text += length + 1;
            search->size -= length + 1;
        }
        return;
    }
}

/* Listed names that this library defines at one address. */
static void join_listed(struct search *search)
{
    for (uint32_t i = 1; i < search->listed; i++) {
        for (uint32_t k = 0; k < i && search->is_here[i] && search->values[i] != 0; k++) {
            if (search->is_here[k] && search->values[k] == search->values[i]) {
                search->list->same[i] = search->list->same[k];
                break;
            }
        }
    }
}

static void inspect_library(struct search *search)
{
    const struct sonde__audit_library_file *library = &search->libraries->items[search->library];
    struct sonde__elf_symbol symbol;
    memset(search->is_here, 0, sizeof search->is_here);
    for (uint32_t at = 0; sonde__audit_next_definition(library, &at, &symbol);) {
        if (symbol.type == SONDE__STT_FUNC) {
            note_value(search, &symbol);
        }
    }
    join_listed(search);
    for (uint32_t at = 0; sonde__audit_next_definition(library, &at, &symbol);) {
        if (symbol.type == SONDE__STT_FUNC) {
            add_if_alias(search, &symbol);
        }
    }
    for (uint32_t i = 0; i < search->listed; i++) {
        search->is_known[i] |= search->is_here[i];
    }
}

void sonde__audit_add_aliases(const struct sonde__audit_libraries *libraries,
                              struct sonde__audit_list *list, char *text, size_t size)
{
    struct search search = {
        .libraries = libraries, .list = list, .listed = list->count, .text = text, .size = size};
    for (uint32_t i = 0; i < list->count; i++) {
        list->same[i] = i;
    }
    for (; search.library < libraries->count; search.library++) {
        inspect_library(&search);
    }
}
