// SPDX-License-Identifier: Apache-2.0
/* Pointers in the data of a Mach-O: the opcodes of LC_DYLD_INFO (loader.h, REBASE_OPCODE_*,
 * BIND_OPCODE_*), and the relocations of objects (reloc.h). Context: handler.
 *
 * Opcodes name a segment by its number, and a place in it. Places outside of a segment's data
 * are left out, and a repetition ends where it leaves the segment. */
#include "image_macho_fixups.h"

enum {
    OPCODE_MASK = 0xf0,
    IMMEDIATE_MASK = 0x0f,
    REBASE_DONE = 0x00,
    REBASE_SET_TYPE = 0x10,
    REBASE_SET_SEGMENT = 0x20,
    REBASE_ADD_ADDRESS = 0x30,
    REBASE_ADD_ADDRESS_SCALED = 0x40,
    REBASE_DO_TIMES = 0x50,
    REBASE_DO_ULEB_TIMES = 0x60,
    REBASE_DO_ADD_ADDRESS = 0x70,
    REBASE_DO_TIMES_SKIPPING = 0x80,
    BIND_DONE = 0x00,
    BIND_SET_ORDINAL = 0x10,
    BIND_SET_ORDINAL_ULEB = 0x20,
    BIND_SET_ORDINAL_SPECIAL = 0x30,
    BIND_SET_SYMBOL = 0x40,
    BIND_SET_TYPE = 0x50,
    BIND_SET_ADDEND = 0x60,
    BIND_SET_SEGMENT = 0x70,
    BIND_ADD_ADDRESS = 0x80,
    BIND_DO = 0x90,
    BIND_DO_ADD_ADDRESS = 0xa0,
    BIND_DO_ADD_ADDRESS_SCALED = 0xb0,
    BIND_DO_TIMES_SKIPPING = 0xc0,
    BIND_THREADED = 0xd0,
    TYPE_POINTER = 1,
    SYMBOL_WEAK_IMPORT = 1,
};

struct place {
    const struct sonde__macho_segment *segment;
    uint64_t offset; /* in the segment */
    uint64_t width;  /* of a pointer */
};

static bool set_segment(struct fixups *out, struct place *place, unsigned index,
                        struct sonde__bytes *b)
{
    place->offset = sonde__base_bytes_uleb(b);
    if (index >= out->macho->segment_count) {
        fixups_damage(out, "a pointer in a segment that is not there");
        return false;
    }
    place->segment = &out->macho->segments[index];
    return true;
}

/* Has the place room for a pointer? It lacks it in malformed input only. Charges a step. */
static bool is_inside(struct fixups *out, const struct place *place)
{
    if (place->segment == NULL || place->offset > place->segment->vmsize ||
        place->segment->vmsize - place->offset < place->width) {
        fixups_damage(out, "a pointer outside of its segment");
        return false;
    }
    return fixups_charge(out);
}

/* --- rebases --- */

/* Give a pointer into the image itself; the file has its vaddr. False: stop. */
static bool give_rebase(struct fixups *out, struct place *place, uint64_t skip)
{
    struct sonde__macho_fixup fixup = {0};
    const uint8_t *data;
    struct sonde__bytes b;
    if (!is_inside(out, place)) {
        return false;
    }
    fixup.vaddr = place->segment->vaddr + place->offset;
    place->offset += place->width + skip;
    data = sonde__macho_at_vaddr(out->macho, fixup.vaddr, place->width);
    if (data == NULL) {
        fixups_damage(out, "a pointer that is not in the file");
        return true;
    }
    sonde__base_bytes_init(&b, data, (size_t)place->width);
    fixup.target = sonde__base_bytes_uint(&b, (unsigned)place->width);
    return out->each(out->ctx, &fixup);
}

static void walk_rebases(struct fixups *out)
{
    const struct sonde__macho_part *part = &out->macho->rebases;
    struct sonde__bytes b = sonde__base_bytes_part(&out->macho->file, part->offset, part->size);
    struct place place = {.width = out->macho->is64 ? 8 : 4};
    uint8_t type = TYPE_POINTER;
    while (sonde__base_bytes_left(&b) != 0) {
        uint8_t byte = sonde__base_bytes_u8(&b);
        uint64_t immediate = byte & IMMEDIATE_MASK;
        uint64_t count = 0, skip = 0;
        switch (byte & OPCODE_MASK) {
        case REBASE_DONE:
            return;
        case REBASE_SET_TYPE:
            type = (uint8_t)immediate;
            break;
        case REBASE_SET_SEGMENT:
            if (!set_segment(out, &place, (unsigned)immediate, &b)) {
                return;
            }
            break;
        case REBASE_ADD_ADDRESS:
            place.offset += sonde__base_bytes_uleb(&b);
            break;
        case REBASE_ADD_ADDRESS_SCALED:
            place.offset += immediate * place.width;
            break;
        case REBASE_DO_TIMES:
            count = immediate;
            break;
        case REBASE_DO_ULEB_TIMES:
            count = sonde__base_bytes_uleb(&b);
            break;
        case REBASE_DO_ADD_ADDRESS:
            count = 1;
            skip = sonde__base_bytes_uleb(&b);
            break;
        case REBASE_DO_TIMES_SKIPPING:
            count = sonde__base_bytes_uleb(&b);
            skip = sonde__base_bytes_uleb(&b);
            break;
        default:
            fixups_damage(out, "an opcode of rebases that is not known");
            return;
        }
        if (type != TYPE_POINTER) {
            count = 0; /* absolute addresses in code of i386 */
        }
        for (; count > 0 && !b.failed; count--) {
            if (!give_rebase(out, &place, skip)) {
                return;
            }
        }
    }
    if (b.failed) {
        fixups_damage(out, "the list of rebases is cut");
    }
}

/* --- binds --- */

struct bind {
    struct place place;
    struct sonde__macho_fixup fixup;
    bool pointer;
};

static bool give_bind(struct fixups *out, struct bind *bind, uint64_t skip)
{
    if (!is_inside(out, &bind->place)) {
        return false;
    }
    bind->fixup.vaddr = bind->place.segment->vaddr + bind->place.offset;
    bind->place.offset += bind->place.width + skip;
    return bind->fixup.import == NULL || !bind->pointer || out->each(out->ctx, &bind->fixup);
}

/* Run an opcode that only sets something. False: malformed. */
static bool set_bind(struct fixups *out, struct bind *bind, unsigned opcode, unsigned immediate,
                     struct sonde__bytes *b)
{
    switch (opcode) {
    case BIND_SET_ORDINAL:
        bind->fixup.ordinal = (int32_t)immediate;
        return true;
    case BIND_SET_ORDINAL_ULEB:
        bind->fixup.ordinal = (int32_t)(sonde__base_bytes_uleb(b) & 0xffff);
        return true;
    case BIND_SET_ORDINAL_SPECIAL:
        bind->fixup.ordinal = immediate == 0 ? 0 : (int32_t)immediate - 16;
        return true;
    case BIND_SET_SYMBOL:
        bind->fixup.weak = (immediate & SYMBOL_WEAK_IMPORT) != 0;
        bind->fixup.import = sonde__base_bytes_string(b);
        return !b->failed;
    case BIND_SET_TYPE:
        bind->pointer = immediate == TYPE_POINTER;
        return true;
    case BIND_SET_ADDEND:
        bind->fixup.addend = sonde__base_bytes_sleb(b);
        return true;
    case BIND_SET_SEGMENT:
        return set_segment(out, &bind->place, immediate, b);
    case BIND_ADD_ADDRESS:
        bind->place.offset += sonde__base_bytes_uleb(b);
        return true;
    case BIND_THREADED:
        fixups_damage(out, "threaded binds (arm64e of 2018) are not read");
        return false;
    default:
        fixups_damage(out, "an opcode of binds that is not known");
        return false;
    }
}

/* lazy: BIND_DONE ends an entry, and more may follow. */
static void walk_binds(struct fixups *out, const struct sonde__macho_part *part, bool lazy)
{
    struct sonde__bytes b = sonde__base_bytes_part(&out->macho->file, part->offset, part->size);
    struct bind bind = {
        .place = {.width = out->macho->is64 ? 8 : 4}, .pointer = true, .fixup = {.lazy = lazy}};
    while (sonde__base_bytes_left(&b) != 0) {
        uint8_t byte = sonde__base_bytes_u8(&b);
        unsigned opcode = byte & OPCODE_MASK;
        unsigned immediate = byte & IMMEDIATE_MASK;
        uint64_t count = 0, skip = 0;
        if (opcode == BIND_DONE) {
            if (!lazy) {
                return;
            }
            continue;
        }
        if (opcode == BIND_DO) {
            count = 1;
        } else if (opcode == BIND_DO_ADD_ADDRESS) {
            count = 1;
            skip = sonde__base_bytes_uleb(&b);
        } else if (opcode == BIND_DO_ADD_ADDRESS_SCALED) {
            count = 1;
            skip = (uint64_t)immediate * bind.place.width;
        } else if (opcode == BIND_DO_TIMES_SKIPPING) {
            count = sonde__base_bytes_uleb(&b);
            skip = sonde__base_bytes_uleb(&b);
        } else if (!set_bind(out, &bind, opcode, immediate, &b)) {
            fixups_damage(out, "the list of binds is malformed");
            return;
        }
        for (; count > 0 && !b.failed; count--) {
            if (!give_bind(out, &bind, skip)) {
                return;
            }
        }
    }
    if (b.failed) {
        fixups_damage(out, "the list of binds is cut");
    }
}

/* --- relocations of objects --- */

enum {
    RELOC_SCATTERED = 0x80000000u,
    RELOC_PLAIN = 0,
    /* with the next one, a difference of two symbols: no pointer */
    RELOC_ARM64_SUBTRACTOR = 1,
    RELOC_X86_64_SUBTRACTOR = 5,
};

struct reloc {
    uint64_t vaddr;
    uint32_t symbol; /* or a section, from 1 on */
    unsigned type, length;
    bool external, relative;
};

static bool is_difference(const struct sonde__macho *macho, const struct reloc *reloc)
{
    return reloc->type ==
           (macho->arch == SONDE_ARCH_X86_64 ? RELOC_X86_64_SUBTRACTOR : RELOC_ARM64_SUBTRACTOR);
}

/* Give the pointer of a relocation. False: `each` wants no more. */
static bool give_reloc(struct fixups *out, const struct sonde__macho_symbols *symbols,
                       const struct reloc *reloc, unsigned width, const uint8_t *data)
{
    struct sonde__macho_fixup fixup = {.vaddr = reloc->vaddr};
    struct sonde__macho_symbol symbol;
    struct sonde__bytes b;
    uint64_t stored;
    sonde__base_bytes_init(&b, data, width);
    stored = sonde__base_bytes_uint(&b, width);
    if (!reloc->external) {
        fixup.target = stored;
        return out->each(out->ctx, &fixup);
    }
    if (symbols == NULL || !sonde__macho_symbols_at(symbols, reloc->symbol, &symbol)) {
        fixups_damage(out, "a relocation against a missing symbol");
        return true;
    }
    if ((symbol.type & SONDE__N_TYPE) == SONDE__N_SECT) {
        fixup.target = symbol.value + stored;
    } else {
        fixup.import = symbol.name;
        fixup.addend = (int64_t)stored;
    }
    return out->each(out->ctx, &fixup);
}

static bool walk_section_relocs(struct fixups *out, const struct sonde__macho_symbols *symbols,
                                const struct sonde__macho_section *section)
{
    unsigned width = out->macho->is64 ? 8 : 4;
    struct sonde__bytes b = out->macho->file;
    bool subtracted = false;
    if (section->data == NULL || !sonde__base_bytes_seek(&b, section->relocs_at)) {
        return true;
    }
    for (uint32_t i = 0; i < section->reloc_count; i++) {
        uint32_t address = sonde__base_bytes_u32(&b);
        uint32_t info = sonde__base_bytes_u32(&b);
        struct reloc reloc = {.symbol = info & 0xffffff,
                              .relative = (info >> 24 & 1) != 0,
                              .length = info >> 25 & 3,
                              .external = (info >> 27 & 1) != 0,
                              .type = info >> 28};
        bool second = subtracted;
        if (b.failed) {
            fixups_damage(out, "the list of relocations is truncated");
            return true;
        }
        if (!fixups_charge(out)) {
            return false;
        }
        if ((address & RELOC_SCATTERED) != 0 && !out->macho->is64) {
            reloc = (struct reloc){.type = address >> 24 & 15,
                                   .length = address >> 28 & 3,
                                   .relative = (address >> 30 & 1) != 0};
            address &= 0xffffff;
        }
        subtracted = out->macho->is64 && is_difference(out->macho, &reloc);
        if (second || reloc.type != RELOC_PLAIN || reloc.relative || 1u << reloc.length != width ||
            address > section->size || section->size - address < width) {
            continue;
        }
        reloc.vaddr = section->vaddr + address;
        if (!give_reloc(out, symbols, &reloc, width, section->data + address)) {
            return false;
        }
    }
    return true;
}

static void walk_relocs(struct fixups *out)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_section section;
    bool named = sonde__macho_symbols(out->macho, &symbols);
    for (uint32_t i = 0; i < out->macho->section_count; i++) {
        if (sonde__macho_section(out->macho, i, &section) &&
            !walk_section_relocs(out, named ? &symbols : NULL, &section)) {
            return;
        }
    }
}

const char *sonde__macho_each_fixup(const struct sonde__macho *macho,
                                    bool (*each)(void *ctx, const struct sonde__macho_fixup *fixup),
                                    void *ctx)
{
    struct fixups out = {.macho = macho, .each = each, .ctx = ctx};
    out.left = (uint64_t)(macho->file.end - macho->file.begin);
    if (macho->type == SONDE__MH_OBJECT) {
        walk_relocs(&out);
    } else if (macho->chains.size != 0) {
        fixups_walk_chains(&out);
    } else {
        walk_rebases(&out);
        walk_binds(&out, &macho->binds, false);
        walk_binds(&out, &macho->lazy_binds, true);
        walk_binds(&out, &macho->weak_binds, false);
    }
    return out.damage;
}
