// SPDX-License-Identifier: Apache-2.0
/* Relocations of Mach-O objects (reloc.h, x86_64/reloc.h, arm64/reloc.h). An object's sections
 * have addresses, and references within the object are often resolved already; symbols remain.
 * Context: any thread. */
#include "arch_regs.h"
#include "loaded_inside.h"

enum {
    X86_UNSIGNED = 0,
    X86_SIGNED = 1,
    X86_BRANCH = 2,
    X86_GOT_LOAD = 3,
    X86_GOT = 4,
    X86_SUBTRACTOR = 5,
    X86_SIGNED_1 = 6,
    X86_SIGNED_2 = 7,
    X86_SIGNED_4 = 8,
    ARM64_UNSIGNED = 0,
    ARM64_SUBTRACTOR = 1,
    ARM64_BRANCH26 = 2,
    ARM64_PAGE21 = 3,
    ARM64_PAGEOFF12 = 4,
    ARM64_GOT_LOAD_PAGE21 = 5,
    ARM64_GOT_LOAD_PAGEOFF12 = 6,
    ARM64_POINTER_TO_GOT = 7,
    ARM64_ADDEND = 10,
};

#define SCATTERED 0x80000000u

struct object {
    struct sonde__loaded *loaded;
    struct sonde__macho_symbols symbols;
    bool has_symbols;
};

struct reloc {
    uint64_t vaddr;
    uint32_t symbol; /* or the number of a section, from 1 */
    unsigned type, size;
    bool external;
    int64_t addend; /* from the ADDEND before it */
};

/* The address of a symbol or import. UNSUPPORTED: unknown. */
static enum sonde_status symbol_vaddr(struct object *object, uint32_t index, uint64_t *ret_vaddr)
{
    struct sonde__macho_symbol symbol;
    if (!object->has_symbols || !sonde__macho_symbols_at(&object->symbols, index, &symbol)) {
        loaded_damage(object->loaded, "a relocation against a missing symbol");
        return SONDE_UNSUPPORTED;
    }
    if ((symbol.type & SONDE__N_TYPE) == SONDE__N_SECT) {
        *ret_vaddr = symbol.value + object->loaded->bias;
        return SONDE_OK;
    }
    return loaded_import(object->loaded, symbol.name, ret_vaddr);
}

/* Apply a pointer: to a symbol, or to the address stored there. */
static enum sonde_status apply_pointer(struct object *object, const struct reloc *reloc)
{
    const uint8_t *at = loaded_writable(object->loaded, reloc->vaddr, 8);
    uint64_t target = object->loaded->bias; /* for a section, the stored value is added */
    if (at == NULL || reloc->size != 8) {
        return SONDE_OK;
    }
    if (reloc->external) {
        enum sonde_status status = symbol_vaddr(object, reloc->symbol, &target);
        if (status != SONDE_OK) {
            return status;
        }
    }
    loaded_set_pointer(object->loaded, reloc->vaddr, target + sonde__base_le64(at));
    return SONDE_OK;
}

/* x86-64: the 32-bit word is relative to the end of its instruction. For a symbol it contains
 * the addend, which includes the rest of the instruction (SIGNED_1, ...). */
static enum sonde_status apply_x86(struct object *object, const struct reloc *reloc)
{
    uint8_t *at = loaded_writable(object->loaded, reloc->vaddr, 4);
    enum sonde_status status;
    uint64_t target;
    int64_t far;
    if (!reloc->external || at == NULL || reloc->size != 4) {
        return SONDE_OK; /* for a section, it is stored there already */
    }
    status = symbol_vaddr(object, reloc->symbol, &target);
    if (status == SONDE_OK && (reloc->type == X86_GOT_LOAD || reloc->type == X86_GOT)) {
        status = loaded_table_word(object->loaded, target, &target);
    }
    if (status != SONDE_OK) {
        return status;
    }
    far = (int64_t)(target + (uint64_t)(int64_t)(int32_t)sonde__base_le32(at) - (reloc->vaddr + 4));
    if (far == (int32_t)far) {
        sonde__base_put_le(at, (uint64_t)far, 4);
    }
    return SONDE_OK;
}

static enum loaded_patch arm64_patch(unsigned type)
{
    switch (type) {
    case ARM64_BRANCH26:
        return LOADED_PATCH_BRANCH26;
    case ARM64_PAGE21:
    case ARM64_GOT_LOAD_PAGE21:
        return LOADED_PATCH_PAGE;
    case ARM64_PAGEOFF12:
    case ARM64_GOT_LOAD_PAGEOFF12:
        return LOADED_PATCH_PAGE_OFFSET;
    default:
        return LOADED_PATCH_NONE;
    }
}

static enum sonde_status apply_arm64(struct object *object, const struct reloc *reloc)
{
    enum loaded_patch patch = arm64_patch(reloc->type);
    uint8_t *at;
    enum sonde_status status;
    uint64_t target;
    if (!reloc->external || patch == LOADED_PATCH_NONE) {
        return SONDE_OK;
    }
    at = loaded_writable(object->loaded, reloc->vaddr, 4);
    if (at == NULL) {
        return SONDE_OK;
    }
    status = symbol_vaddr(object, reloc->symbol, &target);
    if (status == SONDE_OK &&
        (reloc->type == ARM64_GOT_LOAD_PAGE21 || reloc->type == ARM64_GOT_LOAD_PAGEOFF12)) {
        status = loaded_table_word(object->loaded, target, &target);
    }
    if (status == SONDE_OK) {
        loaded_patch_aarch64(patch, at, reloc->vaddr, target + (uint64_t)reloc->addend);
    }
    return status;
}

static enum sonde_status apply(struct object *object, const struct reloc *reloc)
{
    bool x86 = object->loaded->arch == SONDE_ARCH_X86_64;
    if (reloc->type == (x86 ? X86_UNSIGNED : ARM64_UNSIGNED)) {
        return apply_pointer(object, reloc);
    }
    if (!x86) {
        return apply_arm64(object, reloc);
    }
    return reloc->type <= X86_GOT || (reloc->type >= X86_SIGNED_1 && reloc->type <= X86_SIGNED_4)
               ? apply_x86(object, reloc)
               : SONDE_OK;
}

static enum sonde_status walk_section(struct object *object, const struct sonde__macho *macho,
                                      const struct sonde__macho_section *section)
{
    unsigned subtractor =
        object->loaded->arch == SONDE_ARCH_X86_64 ? X86_SUBTRACTOR : ARM64_SUBTRACTOR;
    struct sonde__bytes b = macho->file;
    bool subtracted = false;
    int64_t addend = 0;
    if (section->data == NULL || section->reloc_count == 0 ||
        !sonde__base_bytes_seek(&b, section->relocs_at)) {
        return SONDE_OK;
    }
    for (uint32_t i = 0; i < section->reloc_count; i++) {
        uint32_t address = sonde__base_bytes_u32(&b);
        uint32_t info = sonde__base_bytes_u32(&b);
        struct reloc reloc = {.vaddr = section->vaddr + address + object->loaded->bias,
                              .symbol = info & 0xffffff,
                              .size = 1u << (info >> 25 & 3),
                              .external = (info >> 27 & 1) != 0,
                              .type = info >> 28,
                              .addend = addend};
        bool skipped = subtracted || (address & SCATTERED) != 0 || address >= section->size;
        enum sonde_status status;
        if (b.failed) {
            loaded_damage(object->loaded, "the list of relocations is truncated");
            return SONDE_OK;
        }
        if (!loaded_charge(object->loaded)) {
            return SONDE_OK;
        }
        addend = 0;
        subtracted = reloc.type == subtractor; /* with the next one, a difference: no pointer */
        if (object->loaded->arch != SONDE_ARCH_X86_64 && reloc.type == ARM64_ADDEND) {
            addend = (int64_t)(reloc.symbol ^ 0x800000) - 0x800000;
            continue;
        }
        status = skipped || subtracted ? SONDE_OK : apply(object, &reloc);
        if (status == SONDE_MEMORY) {
            return status;
        }
    }
    return SONDE_OK;
}

enum sonde_status loaded_macho_object(struct sonde__loaded *loaded,
                                      const struct sonde__macho *macho)
{
    struct object object = {.loaded = loaded};
    struct sonde__macho_section section;
    object.has_symbols = sonde__macho_symbols(macho, &object.symbols);
    for (uint32_t i = 0; i < macho->section_count; i++) {
        if (sonde__macho_section(macho, i, &section)) {
            enum sonde_status status = walk_section(&object, macho, &section);
            if (status != SONDE_OK) {
                return status;
            }
        }
    }
    return SONDE_OK;
}
