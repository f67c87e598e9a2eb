// SPDX-License-Identifier: Apache-2.0
/* Symbol table, function starts and stubs of a Mach-O (nlist.h, stab.h, loader.h). Invariant of
 * a resolved table: all entries are inside the view, and the strings end in a NUL, so an entry
 * costs one bounds check. Context: handler. */
#include "image_macho.h"

bool sonde__macho_symbols(const struct sonde__macho *macho,
                          struct sonde__macho_symbols *ret_symbols)
{
    uint32_t entry = macho->is64 ? SONDE__MACHO_NLIST64_BYTES : SONDE__MACHO_NLIST32_BYTES;
    uint64_t file_size = (uint64_t)(macho->file.end - macho->file.begin);
    uint64_t size = macho->strings_size;
    uint64_t fit;
    if (macho->symbols_at >= file_size || macho->strings_at >= file_size) {
        return false;
    }
    size = size < file_size - macho->strings_at ? size : file_size - macho->strings_at;
    ret_symbols->strings = (const char *)macho->file.begin + macho->strings_at;
    while (size > 0 && ret_symbols->strings[size - 1] != '\0') {
        size--;
    }
    fit = (file_size - macho->symbols_at) / entry;
    ret_symbols->strings_size = size;
    ret_symbols->data = macho->file.begin + macho->symbols_at;
    ret_symbols->count = macho->symbol_count < fit ? macho->symbol_count : (uint32_t)fit;
    ret_symbols->is64 = macho->is64;
    return size != 0 && ret_symbols->count != 0;
}

bool sonde__macho_symbols_at(const struct sonde__macho_symbols *symbols, uint32_t index,
                             struct sonde__macho_symbol *ret_symbol)
{
    uint32_t entry = symbols->is64 ? SONDE__MACHO_NLIST64_BYTES : SONDE__MACHO_NLIST32_BYTES;
    struct sonde__bytes b;
    uint32_t name;
    if (index >= symbols->count) {
        return false;
    }
    sonde__base_bytes_init(&b, symbols->data + (uint64_t)index * entry, entry);
    name = sonde__base_bytes_u32(&b);
    ret_symbol->type = sonde__base_bytes_u8(&b);
    ret_symbol->section = sonde__base_bytes_u8(&b);
    ret_symbol->desc = sonde__base_bytes_u16(&b);
    ret_symbol->value =
        symbols->is64 ? sonde__base_bytes_u64(&b) : (uint64_t)sonde__base_bytes_u32(&b);
    ret_symbol->name = name < symbols->strings_size ? symbols->strings + name : "";
    ret_symbol->index = index;
    return true;
}

/* "ltmp3", "l_.str", "L0": labels left by an assembler or a compiler. */
static bool is_local_label(const char *name)
{
    if (name[0] == 'L' || (name[0] == 'l' && name[1] == '_')) {
        return true;
    }
    return name[0] == 'l' && name[1] == 't' && name[2] == 'm' && name[3] == 'p';
}

bool sonde__macho_is_function(const struct sonde__macho *macho,
                              const struct sonde__macho_symbol *symbol,
                              struct sonde__macho_section *ret_section)
{
    struct sonde__macho_section section;
    if ((symbol->type & SONDE__N_STAB) != 0 || (symbol->type & SONDE__N_TYPE) != SONDE__N_SECT ||
        symbol->section == 0 || symbol->name[0] == '\0' || is_local_label(symbol->name) ||
        !sonde__macho_section(macho, symbol->section - 1u, &section) ||
        (section.flags & (SONDE__S_ATTR_PURE_INSTRUCTIONS | SONDE__S_ATTR_SOME_INSTRUCTIONS)) ==
            0 ||
        symbol->value < section.vaddr || symbol->value - section.vaddr >= section.size) {
        return false; /* the header's own symbol is in __text by number, but lies before it */
    }
    *ret_section = section;
    return true;
}

void sonde__macho_starts_begin(const struct sonde__macho *macho,
                               struct sonde__macho_starts *ret_starts)
{
    ret_starts->at = sonde__base_bytes_part(&macho->file, macho->starts.offset, macho->starts.size);
    ret_starts->vaddr = macho->base;
    ret_starts->is_arm = macho->cpu == SONDE__CPU_ARM;
    ret_starts->began = false;
}

bool sonde__macho_starts_next(struct sonde__macho_starts *starts, uint64_t *ret_vaddr)
{
    uint64_t delta;
    if (sonde__base_bytes_left(&starts->at) == 0) {
        return false;
    }
    delta = sonde__base_bytes_uleb(&starts->at);
    if (starts->at.failed || (delta == 0 && starts->began) || delta > UINT64_MAX - starts->vaddr) {
        starts->at.at = starts->at.end; /* padding, or malformed */
        return false;
    }
    starts->began = true;
    starts->vaddr += delta;
    *ret_vaddr = starts->is_arm ? starts->vaddr & ~(uint64_t)1 : starts->vaddr;
    return true;
}

bool sonde__macho_data_in_code(const struct sonde__macho *macho, uint32_t index,
                               uint64_t *ret_vaddr, uint32_t *ret_size)
{
    const struct sonde__macho_part *part = &macho->data_in_code;
    struct sonde__bytes b = macho->file;
    if (index >= part->size / SONDE__MACHO_DATA_IN_CODE_BYTES ||
        !sonde__base_bytes_seek(&b,
                                part->offset + (uint64_t)index * SONDE__MACHO_DATA_IN_CODE_BYTES)) {
        return false;
    }
    *ret_vaddr = macho->base + sonde__base_bytes_u32(&b);
    *ret_size = sonde__base_bytes_u16(&b);
    return !b.failed;
}

uint32_t sonde__macho_indirect_bytes(const struct sonde__macho *macho,
                                     const struct sonde__macho_section *section)
{
    switch (section->flags & SONDE__S_TYPE) {
    case SONDE__S_SYMBOL_STUBS:
        return section->reserved2;
    case SONDE__S_NON_LAZY_SYMBOL_POINTERS:
    case SONDE__S_LAZY_SYMBOL_POINTERS:
    case SONDE__S_LAZY_DYLIB_SYMBOL_POINTERS:
        return macho->is64 ? 8 : 4;
    default:
        return 0;
    }
}

bool sonde__macho_indirect(const struct sonde__macho *macho,
                           const struct sonde__macho_symbols *symbols,
                           const struct sonde__macho_section *section, uint32_t index,
                           struct sonde__macho_symbol *ret_symbol)
{
    uint32_t entry = sonde__macho_indirect_bytes(macho, section);
    uint64_t number = (uint64_t)section->reserved1 + index;
    struct sonde__bytes b = macho->file;
    uint32_t symbol;
    if (entry == 0 || index >= section->size / entry || number >= macho->indirect_count ||
        !sonde__base_bytes_seek(&b, macho->indirect_at + number * 4)) {
        return false;
    }
    symbol = sonde__base_bytes_u32(&b);
    return !b.failed &&
           (symbol & (SONDE__INDIRECT_SYMBOL_LOCAL | SONDE__INDIRECT_SYMBOL_ABS)) == 0 &&
           sonde__macho_symbols_at(symbols, symbol, ret_symbol);
}
