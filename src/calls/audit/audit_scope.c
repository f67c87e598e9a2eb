// SPDX-License-Identifier: Apache-2.0
#include "audit_scope.h"

#include <elf.h>
#include <string.h>

/* The loader calls these itself, before the recorder has started; or they are the recorder's own
 * way to see images come and go; or no call of them is as the ABI says. */
static const char *const reserved[] = {
    "malloc",         "calloc",          "realloc",         "free",    "memalign", "posix_memalign",
    "aligned_alloc",  "dlopen",          "dlmopen",         "dlclose", "dlsym",    "dlvsym",
    "__tls_get_addr", "_dl_find_object", "dl_iterate_phdr",
};

struct search {
    const struct sonde__audit_list *list;
    struct sonde__audit_scope *scope;
    bool is_decided[SONDE__RECORD_FUNCTIONS]; /* by an earlier library */
    uint64_t values[SONDE__RECORD_FUNCTIONS];
    bool is_here[SONDE__RECORD_FUNCTIONS];
};

bool sonde__audit_is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (strcmp(reserved[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void look_at_symbol(struct search *search, const struct sonde__elf_symbol *symbol)
{
    search->scope->has_objc |= strcmp(symbol->name, "objc_msg_lookup") == 0;
    for (uint32_t i = 0; i < search->list->count; i++) {
        if (search->is_decided[i] || strcmp(search->list->names[i], symbol->name) != 0) {
            continue;
        }
        bool is_function = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
        bool is_other = search->is_here[i] && search->values[i] != symbol->value;
        search->scope->is_bound[i] =
            is_function && !is_other && (!search->is_here[i] || search->scope->is_bound[i]);
        search->is_here[i] = true;
        search->values[i] = symbol->value;
    }
}

void sonde__audit_find_scope(const struct sonde__audit_libraries *libraries,
                             const struct sonde__audit_list *list,
                             struct sonde__audit_scope *ret_scope)
{
    static struct search search;
    memset(ret_scope, 0, sizeof *ret_scope);
    memset(&search, 0, sizeof search);
    search.list = list;
    search.scope = ret_scope;
    for (uint32_t i = 0; i < list->count; i++) {
        search.is_decided[i] = sonde__audit_is_reserved(list->names[i]);
    }
    for (size_t n = 0; n < libraries->count; n++) {
        struct sonde__elf_symbol symbol;
        for (uint32_t at = 0; sonde__audit_next_definition(&libraries->items[n], &at, &symbol);) {
            look_at_symbol(&search, &symbol);
        }
        for (uint32_t i = 0; i < list->count; i++) {
            search.is_decided[i] |= search.is_here[i];
        }
    }
}
