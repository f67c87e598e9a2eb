// SPDX-License-Identifier: Apache-2.0
/* Areas, symbols and pointers of a Mach-O (loader.h). Context: any thread. */
#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "base_status.h"
#include "loaded_inside.h"
#include "mem_heap.h"

#define S_CSTRING_LITERALS 0x2u

static uint32_t kinds_of(const struct sonde__macho_section *section)
{
    if ((section->flags & (SONDE__S_ATTR_PURE_INSTRUCTIONS | SONDE__S_ATTR_SOME_INSTRUCTIONS)) !=
        0) {
        return SONDE__LOADED_CODE;
    }
    if ((section->flags & SONDE__S_TYPE) == S_CSTRING_LITERALS) {
        return SONDE__LOADED_STRINGS;
    }
    if (strcmp(section->segment, "__TEXT") == 0) {
        return SONDE__LOADED_STRINGS;
    }
    /* "__DATA", "__DATA_CONST", "__AUTH_CONST", ... */
    return strcmp(section->name, "__const") == 0 ? SONDE__LOADED_CONSTANTS : SONDE__LOADED_DATA;
}

static bool add_areas(struct sonde__loaded *loaded, const struct sonde__macho *macho)
{
    struct sonde__macho_section section;
    size_t capacity = 0;
    for (uint32_t i = 0; i < macho->section_count; i++) {
        struct sonde__loaded_area area = {0};
        if (!sonde__macho_section(macho, i, &section) || strcmp(section.segment, "__DWARF") == 0) {
            continue;
        }
        snprintf(area.name, sizeof area.name, "%s,%s", section.segment, section.name);
        area.kinds = kinds_of(&section);
        area.vaddr = section.vaddr + loaded->bias;
        area.size = section.size;
        area.bytes = section.data;
        if (!loaded_add_area(loaded, &capacity, &area)) {
            return false;
        }
    }
    loaded_end_areas(loaded);
    return true;
}

static bool add_symbols(struct sonde__loaded *loaded, const struct sonde__macho *macho)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    if (!sonde__macho_symbols(macho, &symbols)) {
        return true;
    }
    for (uint32_t i = 0; sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        if ((symbol.type & SONDE__N_STAB) != 0 || (symbol.type & SONDE__N_TYPE) != SONDE__N_SECT ||
            strncmp(symbol.name, "ltmp", 4) == 0) {
            continue;
        }
        if (!loaded_add_symbol(loaded, symbol.value + loaded->bias, 0, symbol.name)) {
            return false;
        }
    }
    loaded_end_symbols(loaded);
    return true;
}

struct setting {
    struct sonde__loaded *loaded;
    enum sonde_status status;
};

static bool set_fixup(void *ctx, const struct sonde__macho_fixup *fixup)
{
    struct setting *setting = ctx;
    uint64_t value = fixup->target + setting->loaded->bias;
    if (fixup->import != NULL) {
        setting->status = loaded_import(setting->loaded, fixup->import, &value);
        if (setting->status != SONDE_OK) {
            return false;
        }
        value += (uint64_t)fixup->addend;
    }
    loaded_set_pointer(setting->loaded, fixup->vaddr + setting->loaded->bias, value);
    return true;
}

/* Is the program linked for a fixed address? Then its pointers are set, and nothing marks them.
 * Its imports are still listed. */
static bool has_one_place(const struct sonde__macho *macho)
{
    return macho->type == SONDE__MH_EXECUTE && macho->chains.size == 0 && macho->rebases.size == 0;
}

enum sonde_status sonde__loaded_macho(const struct sonde__macho *macho,
                                      struct sonde__loaded *ret_loaded,
                                      struct sonde_error *ret_error)
{
    struct sonde__loaded loaded = {.macho = true, .damage = macho->damage};
    struct setting setting = {.loaded = &loaded, .status = SONDE_OK};
    const char *damage = NULL;
    if (macho->arch == SONDE_ARCH_OTHER) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "neither x86_64 nor arm64: blocks are read only there",
                                sonde__macho_arch_name(macho->cpu, macho->subtype), 0, 0);
    }
    loaded.arch = macho->arch;
    loaded.object = macho->type == SONDE__MH_OBJECT;
    loaded.absolute = has_one_place(macho);
    loaded.bias = macho->base < SONDE__LOADED_BEGINS && !loaded.absolute ? SONDE__LOADED_BEGINS : 0;
    loaded_limit(&loaded, (uint64_t)(macho->file.end - macho->file.begin));
    if (!add_areas(&loaded, macho) || !add_symbols(&loaded, macho)) {
        setting.status = SONDE_MEMORY;
    } else if (loaded.object) {
        setting.status = loaded_macho_object(&loaded, macho);
    } else {
        damage = sonde__macho_each_fixup(macho, set_fixup, &setting);
    }
    if (damage != NULL) {
        loaded_damage(&loaded, damage);
    }
    if (setting.status == SONDE_MEMORY) {
        sonde__loaded_done(&loaded);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for the image", NULL, 0, 0);
    }
    *ret_loaded = loaded;
    return SONDE_OK;
}
