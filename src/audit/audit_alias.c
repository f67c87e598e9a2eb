// SPDX-License-Identifier: Apache-2.0
#include "audit_alias.h"

#include <elf.h>
#include <string.h>

#include "audit_library.h"
#include "audit_scope.h"
#include "host_file.h"
#include "host_run.h"
#include "image_elf.h"

struct search {
    struct sonde__audit_list *list;
    uint32_t listed;                        /* names that were in it before */
    bool is_known[SONDE__RECORD_FUNCTIONS]; /* defined by an earlier library */
    bool is_here[SONDE__RECORD_FUNCTIONS];
    uint64_t values[SONDE__RECORD_FUNCTIONS]; /* of those that are here */
    char *text;
    size_t size;
};

static bool is_definition(const struct sonde__elf_symbol *symbol)
{
    return symbol->section != SHN_UNDEF && symbol->bind != STB_LOCAL && symbol->type == STT_FUNC;
}

static bool is_listed(const struct sonde__audit_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void note_value(struct search *search, const struct sonde__elf_symbol *symbol)
{
    for (uint32_t i = 0; i < search->listed; i++) {
        if (!search->is_known[i] && strcmp(search->list->names[i], symbol->name) == 0) {
            /* of several versions none: which one the alias is of is not known */
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
            length <= SONDE__AUDIT_NAME_MAX && !is_listed(list, symbol->name) &&
            !sonde__audit_is_reserved(symbol->name)) {
            memcpy(search->text, symbol->name, length + 1);
            list->names[list->count++] = search->text;
            search->text += length + 1;
            search->size -= length + 1;
        }
        return;
    }
}

static void look_at_library(void *ctx, const char *path)
{
    struct search *search = ctx;
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__elf_symbols symbols;
    struct sonde__elf_symbol symbol;
    struct sonde_error error;
    if (sonde__host_file_map(NULL, path, SONDE__AUDIT_FILE_MAX, &file, &error) != SONDE_OK) {
        return;
    }
    memset(search->is_here, 0, sizeof search->is_here);
    if (sonde__elf_open(file.data, file.size, &elf, &error) == SONDE_OK &&
        sonde__elf_dynamic_symbols(&elf, &symbols)) {
        for (uint32_t i = 0; sonde__elf_symbols_at(&symbols, i, &symbol); i++) {
            if (is_definition(&symbol)) {
                note_value(search, &symbol);
            }
        }
        for (uint32_t i = 0; sonde__elf_symbols_at(&symbols, i, &symbol); i++) {
            if (is_definition(&symbol)) {
                add_if_alias(search, &symbol);
            }
        }
    }
    for (uint32_t i = 0; i < search->listed; i++) {
        search->is_known[i] |= search->is_here[i];
    }
    sonde__host_file_unmap(&file);
}

void sonde__audit_add_aliases(const char *program, char *const *envp,
                              struct sonde__audit_list *list, char *text, size_t size)
{
    struct search search = {.list = list, .listed = list->count, .text = text, .size = size};
    for (uint32_t i = 0; i < list->count; i++) {
        search.is_known[i] = sonde__audit_is_reserved(list->names[i]);
    }
    (void)sonde__host_startup_libraries(program, envp, look_at_library, &search);
}
