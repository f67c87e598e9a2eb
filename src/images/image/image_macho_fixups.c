// SPDX-License-Identifier: Apache-2.0
/* Pointers in the data of a Mach-O: chained fixups (fixup-chains.h). Classic opcodes and
 * relocations are in image_macho_binds.c.
 *
 * Each page of a segment has the place of its first pointer, and each pointer has the distance
 * to the next one. A chain only goes forward inside its page, so the bytes present limit the
 * work. Context: handler. */
#include "image_macho_fixups.h"

enum pointer_format {
    POINTER_ARM64E = 1,
    POINTER_64 = 2,
    POINTER_32 = 3,
    POINTER_64_OFFSET = 6,
    POINTER_ARM64E_KERNEL = 7,
    POINTER_ARM64E_USERLAND = 9,
    POINTER_ARM64E_USERLAND24 = 12,
};

enum { IMPORT_PLAIN = 1, IMPORT_ADDEND = 2, IMPORT_ADDEND64 = 3 };

#define PAGE_NONE  0xffffu
#define PAGE_MULTI 0x8000u /* 32 bit: several chains; the rest is an index */
#define PAGE_LAST  0x8000u

struct chains {
    struct fixups *out;
    struct sonde__bytes all; /* the load command's part */
    const char *names;       /* ends in a NUL */
    uint64_t names_size;
    uint64_t imports_at;
    uint32_t import_count, import_format;
};

struct page {
    uint64_t vaddr;
    const uint8_t *data;
    uint64_t size;
    uint32_t format;
    uint32_t max_pointer; /* 32 bit: greater values are no pointers */
};

static uint64_t bits(uint64_t value, unsigned from, unsigned count)
{
    return value >> from & (((uint64_t)1 << count) - 1);
}

static int64_t sign_extend(uint64_t value, unsigned count)
{
    uint64_t sign = (uint64_t)1 << (count - 1);
    return (int64_t)((value ^ sign) - sign);
}

static bool read_import(const struct chains *c, uint64_t ordinal, struct sonde__macho_fixup *fixup)
{
    struct sonde__bytes b = c->all;
    uint64_t entry = c->import_format == IMPORT_PLAIN    ? 4
                     : c->import_format == IMPORT_ADDEND ? 8
                                                         : 16;
    uint64_t raw, name_at;
    if (ordinal >= c->import_count ||
        !sonde__base_bytes_seek(&b, c->imports_at + ordinal * entry)) {
        return false;
    }
    if (c->import_format == IMPORT_ADDEND64) {
        raw = sonde__base_bytes_u64(&b);
        fixup->ordinal = (int32_t)sign_extend(bits(raw, 0, 16), 16);
        fixup->weak = bits(raw, 16, 1) != 0;
        name_at = raw >> 32;
        fixup->addend += (int64_t)sonde__base_bytes_u64(&b);
    } else {
        raw = sonde__base_bytes_u32(&b);
        fixup->ordinal = (int32_t)bits(raw, 0, 8);
        /* the highest values are special: -1, -2, -3 */
        fixup->ordinal -= fixup->ordinal > 0xf0 ? 0x100 : 0;
        fixup->weak = bits(raw, 8, 1) != 0;
        name_at = raw >> 9;
        if (c->import_format == IMPORT_ADDEND) {
            fixup->addend += (int32_t)sonde__base_bytes_u32(&b);
        }
    }
    if (b.failed || name_at >= c->names_size) {
        return false;
    }
    fixup->import = c->names + name_at;
    return true;
}

/* Decode a plain 64-bit pointer. Returns the bytes to the next one; 0: the last. */
static uint64_t decode64(const struct chains *c, const struct page *page, uint64_t raw,
                         struct sonde__macho_fixup *fixup, bool *ret_good)
{
    if (bits(raw, 63, 1) != 0) {
        fixup->addend = (int64_t)bits(raw, 24, 8);
        *ret_good = read_import(c, bits(raw, 0, 24), fixup);
    } else {
        fixup->target = bits(raw, 0, 36) | bits(raw, 36, 8) << 56;
        fixup->target += page->format == POINTER_64_OFFSET ? c->out->macho->base : 0;
    }
    return bits(raw, 51, 12) * 4;
}

static uint64_t decode_arm64e(const struct chains *c, const struct page *page, uint64_t raw,
                              struct sonde__macho_fixup *fixup, bool *ret_good)
{
    uint64_t base = c->out->macho->base;
    fixup->authenticated = bits(raw, 63, 1) != 0;
    if (fixup->authenticated) {
        fixup->diversity = (uint16_t)bits(raw, 32, 16);
        fixup->is_blended = bits(raw, 48, 1) != 0;
        fixup->key = (uint8_t)bits(raw, 49, 2);
    }
    if (bits(raw, 62, 1) != 0) {
        unsigned width = page->format == POINTER_ARM64E_USERLAND24 ? 24 : 16;
        fixup->addend = fixup->authenticated ? 0 : sign_extend(bits(raw, 32, 19), 19);
        *ret_good = read_import(c, bits(raw, 0, width), fixup);
    } else if (fixup->authenticated) {
        fixup->target = base + bits(raw, 0, 32);
    } else {
        fixup->target = bits(raw, 0, 43) | bits(raw, 43, 8) << 56;
        fixup->target += page->format == POINTER_ARM64E ? 0 : base;
    }
    return bits(raw, 51, 11) * (page->format == POINTER_ARM64E_KERNEL ? 4 : 8);
}

static uint64_t decode32(const struct chains *c, const struct page *page, uint64_t raw,
                         struct sonde__macho_fixup *fixup, bool *ret_good, bool *ret_pointer)
{
    if (bits(raw, 31, 1) != 0) {
        fixup->addend = (int64_t)bits(raw, 20, 6);
        *ret_good = read_import(c, bits(raw, 0, 20), fixup);
    } else {
        fixup->target = bits(raw, 0, 26);
        *ret_pointer = fixup->target <= page->max_pointer; /* else a plain number in the chain */
    }
    return bits(raw, 26, 5) * 4;
}

/* Walk the chain that begins at an offset of the page. False: `each` wants no more. */
static bool walk_chain(struct chains *c, const struct page *page, uint64_t at)
{
    unsigned width = page->format == POINTER_32 ? 4 : 8;
    for (;;) {
        struct sonde__macho_fixup fixup = {.vaddr = page->vaddr + at};
        struct sonde__bytes b;
        bool good = true, pointer = true;
        uint64_t raw, next;
        if (!fixups_charge(c->out)) {
            return false;
        }
        if (at > page->size || page->size - at < width) {
            fixups_damage(c->out, "a chain of pointers leaves its page");
            return true;
        }
        sonde__base_bytes_init(&b, page->data + at, width);
        raw = sonde__base_bytes_uint(&b, width);
        if (page->format == POINTER_32) {
            next = decode32(c, page, raw, &fixup, &good, &pointer);
        } else if (page->format == POINTER_64 || page->format == POINTER_64_OFFSET) {
            next = decode64(c, page, raw, &fixup, &good);
        } else {
            next = decode_arm64e(c, page, raw, &fixup, &good);
        }
        if (!good) {
            fixups_damage(c->out, "a pointer to an import that is not listed");
        } else if (pointer && !c->out->each(c->out->ctx, &fixup)) {
            return false;
        }
        if (next == 0) {
            return true;
        }
        at += next;
    }
}

/* 32 bit: walk the chains of a page, which are listed behind the pages. */
static bool walk_chains(struct chains *c, const struct page *page, struct sonde__bytes list,
                        uint64_t index)
{
    uint32_t start;
    do {
        if (!sonde__base_bytes_seek(&list, index * 2)) {
            fixups_damage(c->out, "the list of a page's chains is cut");
            return true;
        }
        start = sonde__base_bytes_u16(&list);
        if (!walk_chain(c, page, start & (PAGE_LAST - 1))) {
            return false;
        }
        index++;
    } while ((start & PAGE_LAST) == 0 && !list.failed);
    return true;
}

static bool is_known_format(uint32_t format)
{
    return format == POINTER_ARM64E || format == POINTER_64 || format == POINTER_32 ||
           format == POINTER_64_OFFSET || format == POINTER_ARM64E_KERNEL ||
           format == POINTER_ARM64E_USERLAND || format == POINTER_ARM64E_USERLAND24;
}

/* Walk a dyld_chained_starts_in_segment. False: `each` wants no more. */
static bool walk_segment(struct chains *c, struct sonde__bytes b)
{
    struct page page = {0};
    struct sonde__bytes starts;
    uint64_t segment;
    uint32_t page_size, count;
    (void)sonde__base_bytes_u32(&b); /* size */
    page_size = sonde__base_bytes_u16(&b);
    page.format = sonde__base_bytes_u16(&b);
    segment = sonde__base_bytes_u64(&b);
    page.max_pointer = sonde__base_bytes_u32(&b);
    count = sonde__base_bytes_u16(&b);
    starts = sonde__base_bytes_part(&b, sonde__base_bytes_offset(&b), sonde__base_bytes_left(&b));
    if (b.failed || !is_known_format(page.format)) {
        fixups_damage(c->out, b.failed ? "the list of pages with pointers is cut"
                                       : "pointers in a format that is not known");
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t left = 0;
        uint32_t start;
        (void)sonde__base_bytes_seek(&starts, (uint64_t)i * 2);
        start = sonde__base_bytes_u16(&starts);
        if (starts.failed) {
            fixups_damage(c->out, "the list of pages with pointers is cut");
            return true;
        }
        if (start == PAGE_NONE) {
            continue;
        }
        page.vaddr = c->out->macho->base + segment + (uint64_t)i * page_size;
        page.data = sonde__macho_from_vaddr(c->out->macho, page.vaddr, &left);
        page.size = left < page_size ? left : page_size;
        if (page.data == NULL) {
            fixups_damage(c->out, "a page with pointers is not in the file");
        } else if ((start & PAGE_MULTI) != 0 && page.format == POINTER_32) {
            if (!walk_chains(c, &page, starts, start & (PAGE_MULTI - 1))) {
                return false;
            }
        } else if (!walk_chain(c, &page, start)) {
            return false;
        }
    }
    return true;
}

void fixups_walk_chains(struct fixups *out)
{
    const struct sonde__macho *macho = out->macho;
    struct chains c = {.out = out};
    struct sonde__bytes b;
    uint64_t starts_at, names_at;
    uint32_t names_format, segments;
    c.all = sonde__base_bytes_part(&macho->file, macho->chains.offset, macho->chains.size);
    b = c.all;
    (void)sonde__base_bytes_u32(&b); /* version: 0 */
    starts_at = sonde__base_bytes_u32(&b);
    c.imports_at = sonde__base_bytes_u32(&b);
    names_at = sonde__base_bytes_u32(&b);
    c.import_count = sonde__base_bytes_u32(&b);
    c.import_format = sonde__base_bytes_u32(&b);
    names_format = sonde__base_bytes_u32(&b);
    (void)sonde__base_bytes_seek(&b, starts_at);
    segments = sonde__base_bytes_u32(&b);
    if (b.failed || c.import_format < IMPORT_PLAIN || c.import_format > IMPORT_ADDEND64) {
        fixups_damage(out, "the header of the chained pointers is malformed");
        return;
    }
    if (names_format != 0) {
        fixups_damage(out, "the names of chained pointers are compressed");
        c.import_count = 0;
    }
    c.names_size = (uint64_t)(c.all.end - c.all.begin);
    c.names_size -= names_at < c.names_size ? names_at : c.names_size;
    c.names = (const char *)c.all.end - c.names_size;
    while (c.names_size > 0 && c.names[c.names_size - 1] != '\0') {
        c.names_size--;
    }
    for (uint32_t i = 0; i < segments && i < SONDE__MACHO_SEGMENTS_MAX; i++) {
        uint64_t offset = sonde__base_bytes_u32(&b);
        struct sonde__bytes info = c.all;
        if (b.failed) {
            fixups_damage(out, "the list of segments with pointers is cut");
            return;
        }
        if (offset != 0) { /* 0: no pointers in this segment */
            (void)sonde__base_bytes_seek(&info, starts_at + offset);
            info = sonde__base_bytes_part(&info, sonde__base_bytes_offset(&info),
                                          sonde__base_bytes_left(&info));
            if (!walk_segment(&c, info)) {
                return;
            }
        }
    }
}
