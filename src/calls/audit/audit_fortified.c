// SPDX-License-Identifier: Apache-2.0
#include "audit_fortified.h"

#include <string.h>

#include "base_old_stat.h"
#include "image_elf_format.h"

struct addition {
    struct sonde__audit_list *list;
    uint32_t listed; /* names that were in it before */
    char *text;
    size_t size;
};

/* Is it a form of function `of`? */
static bool is_form(const char *name, const char *of)
{
    const char *current = sonde__base_old_stat(name, strlen(name));
    size_t size = strlen(of);
    if (current != NULL) {
        return strcmp(of, current) == 0;
    }
    return strncmp(name, "__", 2) == 0 && strncmp(name + 2, of, size) == 0 &&
           (strcmp(name + 2 + size, "_chk") == 0 || strcmp(name + 2 + size, "_2") == 0 ||
            strcmp(name + 2 + size, "64_2") == 0);
}

static void add_if_form(struct addition *a, const char *name)
{
    struct sonde__audit_list *list = a->list;
    size_t length = strlen(name);
    for (uint32_t i = 0; i < a->listed; i++) {
        if (!is_form(name, list->names[i])) {
            continue;
        }
        if (list->count < SONDE__RECORD_FUNCTIONS && length < a->size &&
            length <= SONDE__AUDIT_NAME_MAX && !sonde__audit_list_has(list, name)) {
            memcpy(a->text, name, length + 1);
            list->versions[list->count] = NULL;
            list->same[list->count] = list->same[i];
            list->names[list->count++] = a->text;
            a->text += length + 1;
            a->size -= length + 1;
        }
        return;
    }
}

void sonde__audit_add_fortified(const struct sonde__audit_libraries *libraries,
                                struct sonde__audit_list *list, char *text, size_t size)
{
    struct addition a = {list, list->count, text, size};
    for (size_t i = 0; i < libraries->count; i++) {
        struct sonde__elf_symbol symbol;
        for (uint32_t at = 0; sonde__audit_next_definition(&libraries->items[i], &at, &symbol);) {
            if (symbol.type == SONDE__STT_FUNC && strncmp(symbol.name, "__", 2) == 0) {
                add_if_form(&a, symbol.name);
            }
        }
    }
}
