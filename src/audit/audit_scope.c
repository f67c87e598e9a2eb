// SPDX-License-Identifier: Apache-2.0
#include "audit_scope.h"

#include <elf.h>
#include <string.h>

#include "host_file.h"
#include "host_run.h"
#include "image_elf.h"

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
    if (sonde__elf_open(file.data, file.size, &elf, &error) == SONDE_OK &&
        sonde__elf_dynamic_symbols(&elf, &symbols)) {
        for (uint32_t i = 0; sonde__elf_symbols_at(&symbols, i, &symbol); i++) {
            if (symbol.section != SHN_UNDEF && symbol.bind != STB_LOCAL) {
                look_at_symbol(search, &symbol);
            }
        }
    }
    for (uint32_t i = 0; i < search->list->count; i++) {
        search->is_decided[i] |= search->is_here[i];
    }
    sonde__host_file_unmap(&file);
}

bool sonde__audit_find_scope(const char *program, char *const *envp,
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
    if (!sonde__host_startup_libraries(program, envp, look_at_library, &search)) {
        memset(ret_scope, 0, sizeof *ret_scope);
        return false;
    }
    return true;
}
