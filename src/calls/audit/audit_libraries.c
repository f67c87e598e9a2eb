// SPDX-License-Identifier: Apache-2.0
#include "audit_libraries.h"

#include <string.h>

#include "host_run.h"
#include "image_elf_format.h"
#include "mem_heap.h"

#define FILE_SIZE_MAX ((uint64_t)4 << 30)

struct opening {
    struct sonde__audit_libraries *libraries;
    bool is_out_of_memory;
};

static void open_library(void *ctx, const char *path)
{
    struct opening *opening = ctx;
    struct sonde__audit_libraries *all = opening->libraries;
    struct sonde__audit_library_file library;
    struct sonde__elf elf;
    struct sonde_error error;
    if (sonde__host_file_map(NULL, path, FILE_SIZE_MAX, &library.file, &error) != SONDE_OK) {
        return;
    }
    if (sonde__elf_open(library.file.data, library.file.size, &elf, &error) != SONDE_OK ||
        !sonde__elf_dynamic_symbols(&elf, &library.symbols)) {
        sonde__host_file_unmap(&library.file);
    } else if (!sonde__mem_grow(&all->items, all->count, &all->capacity, sizeof *all->items)) {
        opening->is_out_of_memory = true;
        sonde__host_file_unmap(&library.file);
    } else {
        all->items[all->count++] = library;
    }
}

bool sonde__audit_libraries_open(const char *program, char *const *envp,
                                 struct sonde__audit_libraries *ret_libraries)
{
    struct opening opening = {.libraries = ret_libraries};
    memset(ret_libraries, 0, sizeof *ret_libraries);
    if (program == NULL || !sonde__host_startup_libraries(program, envp, open_library, &opening) ||
        opening.is_out_of_memory) {
        sonde__audit_libraries_close(ret_libraries);
        return false;
    }
    return true;
}

bool sonde__audit_libraries_loaded(const struct sonde__image_set *images,
                                   struct sonde__audit_libraries *ret_libraries)
{
    struct opening opening = {.libraries = ret_libraries};
    memset(ret_libraries, 0, sizeof *ret_libraries);
    for (uint32_t i = 0; i < images->image_count; i++) {
        if ((images->images[i].flags & SONDE__IMAGE_DELETED) == 0) {
            open_library(&opening, images->images[i].path);
        }
    }
    if (opening.is_out_of_memory) {
        sonde__audit_libraries_close(ret_libraries);
        return false;
    }
    return true;
}

void sonde__audit_libraries_close(struct sonde__audit_libraries *libraries)
{
    for (size_t i = 0; i < libraries->count; i++) {
        sonde__host_file_unmap(&libraries->items[i].file);
    }
    sonde__mem_free(libraries->items);
    memset(libraries, 0, sizeof *libraries);
}

bool sonde__audit_next_definition(const struct sonde__audit_library_file *library, uint32_t *at,
                                  struct sonde__elf_symbol *ret_symbol)
{
    while (sonde__elf_symbols_at(&library->symbols, (*at)++, ret_symbol)) {
        if (ret_symbol->section != SONDE__SHN_UNDEF && ret_symbol->bind != SONDE__STB_LOCAL) {
            return true;
        }
    }
    return false;
}
