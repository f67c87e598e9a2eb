// SPDX-License-Identifier: Apache-2.0
/* Exported functions with versioned names. They resolve tail calls between images when no running
 * loader can be asked. */
#include <stdio.h>
#include <string.h>

#include "convert.h"
#include "image_elf_versions.h"

/* Longer names are left out, because versioned names are copied. */
enum { NAME_BYTES = 4096 };

/* gABI, figure 4-18: STV_DEFAULT and STV_PROTECTED are visible to other images. */
static bool is_seen(const struct sonde__elf_symbol *symbol)
{
    return symbol->section != SONDE__SHN_UNDEF && symbol->bind != SONDE__STB_LOCAL &&
           (symbol->visibility == SONDE__STV_DEFAULT || symbol->visibility == SONDE__STV_PROTECTED);
}

static bool is_code(const struct sonde__elf *elf, const struct sonde__elf_symbol *symbol)
{
    struct sonde__elf_section section;
    return (symbol->type == SONDE__STT_FUNC || symbol->type == SONDE__STT_GNU_IFUNC ||
            symbol->type == SONDE__STT_NOTYPE) &&
           sonde__elf_section(elf, symbol->section, &section) &&
           (section.flags & SONDE__SHF_EXECINSTR) != 0;
}

/* 0: no usable name. */
static uint32_t full_name(struct convert *c, const struct sonde__elf *elf,
                          const struct sonde__elf_symbol *symbol, const char *version)
{
    char text[NAME_BYTES];
    int size;
    if (version == NULL || symbol->name[0] == '\0') {
        return 0;
    }
    if (version[0] == '\0') {
        return convert_name(c, symbol->name, elf->file.end);
    }
    size = snprintf(text, sizeof text, "%s@%s", symbol->name, version);
    return size > 0 && (size_t)size < sizeof text && convert_work(c, (uint64_t)size)
               ? convert_string_copy(c, text, (size_t)size)
               : 0;
}

void convert_exports(struct convert *c)
{
    const struct sonde__elf *elf = c->source->image != NULL ? c->source->image : c->source->debug;
    struct sonde__elf_symbols symbols;
    struct sonde__elf_versions versions;
    struct sonde__elf_symbol symbol;
    if (elf == NULL || !elf->is64 || !sonde__elf_dynamic_symbols(elf, &symbols)) {
        return;
    }
    sonde__elf_versions(elf, &versions);
    for (uint32_t i = 0; c->status == SONDE_OK && sonde__elf_symbols_at(&symbols, i, &symbol);
         i++) {
        uint64_t start = symbol.value - c->base;
        uint32_t name;
        if (!is_seen(&symbol) || !is_code(elf, &symbol) || start >= c->size ||
            start == CONVERT_NONE) {
            continue;
        }
        name = full_name(c, elf, &symbol, sonde__elf_version(&versions, i));
        if (name != 0 && CONVERT_ROOM(c, exports, export_count, export_capacity)) {
            c->exports[c->export_count++] = (struct export){
                name, symbol.type == SONDE__STT_GNU_IFUNC ? CONVERT_NONE : (uint32_t)start};
        }
    }
}
