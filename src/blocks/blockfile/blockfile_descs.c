// SPDX-License-Identifier: Apache-2.0
/* Finds descriptors by shape or symbol. Their layout is in Block_private.h and clang's
 * CGBlocks.cpp: reserved, size, [copy, dispose,] signature, layout. Context: any thread. */
#include <string.h>

#include <sonde/block.h>

#include "base_search.h"
#include "blockfile_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"

#define WORD ((uint64_t)8)

enum {
    SIZE_MIN = 32,
    SIZE_MAX_BYTES = 65535,
    /* the longest one met has 788 bytes */
    SIGNATURE_MAX = 8192,
};

/* Layouts below this are inline. */
#define LAYOUT_INLINE_MAX 0x1000u

/* More than any file has: each has a signature and code. */
#define DESCS_MAX ((uint32_t)1 << 20)

bool blockfile_is_code(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    const struct sonde__loaded_area *area = sonde__loaded_area_at(loaded, vaddr);
    return area != NULL && (area->kinds & SONDE__LOADED_CODE) != 0;
}

bool blockfile_may_point(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    return loaded->absolute || sonde__loaded_is_pointer(loaded, vaddr);
}

/* Is it a block's signature: printable, with the block itself as first parameter, at offset 0 of
 * the frame? */
static bool is_signature(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    const struct sonde__loaded_area *area = sonde__loaded_area_at(loaded, vaddr);
    const uint8_t *text;
    uint64_t left;
    bool found = false;
    if (area == NULL || (area->kinds & (SONDE__LOADED_STRINGS | SONDE__LOADED_DATA |
                                        SONDE__LOADED_CONSTANTS)) == 0) {
        return false;
    }
    text = area->bytes + (vaddr - area->vaddr);
    left = area->size - (vaddr - area->vaddr);
    for (uint64_t i = 0; i < left && i < SIGNATURE_MAX; i++) {
        if (text[i] == '\0') {
            return found;
        }
        if (text[i] < 0x20 || text[i] > 0x7e) {
            return false;
        }
        found =
            found || (text[i] == '@' && i + 2 < left && text[i + 1] == '?' && text[i + 2] == '0');
    }
    return false;
}

/* Read the fields up to the helpers. False: not a descriptor. */
static bool read_shape(const struct sonde__loaded *loaded, uint64_t vaddr,
                       struct sonde__blockfile_desc *desc)
{
    uint64_t words[6] = {0};
    unsigned count = 0;
    while (count < 6 && sonde__loaded_word(loaded, vaddr + count * WORD, &words[count])) {
        count++;
    }
    if (vaddr % WORD != 0 || count < 3 || words[0] > UINT32_MAX ||
        sonde__loaded_is_pointer(loaded, vaddr) || words[1] < SIZE_MIN ||
        words[1] > SIZE_MAX_BYTES || sonde__loaded_is_pointer(loaded, vaddr + WORD)) {
        return false;
    }
    *desc = (struct sonde__blockfile_desc){
        .vaddr = vaddr, .reserved = words[0], .size = (uint32_t)words[1]};
    if (blockfile_may_point(loaded, vaddr + 2 * WORD) &&
        blockfile_may_point(loaded, vaddr + 3 * WORD) && count > 4 &&
        blockfile_is_code(loaded, words[2]) && blockfile_is_code(loaded, words[3])) {
        desc->copy = words[2];
        desc->dispose = words[3];
        desc->flags |= SONDE_BLOCK_HAS_HELPERS;
    }
    return true;
}

/* Read the signature, find out whether a layout follows, and set the flags accordingly. */
static void read_rest(const struct sonde__loaded *loaded, struct sonde__blockfile_desc *desc)
{
    uint64_t at = desc->vaddr + ((desc->flags & SONDE_BLOCK_HAS_HELPERS) != 0 ? 4u : 2u) * WORD;
    uint64_t signature = 0, layout = 0;
    const struct sonde__loaded_area *area;
    if (!sonde__loaded_word(loaded, at, &signature)) {
        return;
    }
    if (blockfile_may_point(loaded, at) && is_signature(loaded, signature)) {
        desc->signature = signature;
        desc->flags |= SONDE_BLOCK_HAS_SIGNATURE;
    }
    if (!sonde__loaded_word(loaded, at + WORD, &layout) || layout == 0) {
        return;
    }
    area = sonde__loaded_area_at(loaded, layout);
    if (!sonde__loaded_is_pointer(loaded, at + WORD) && layout < LAYOUT_INLINE_MAX) {
        desc->flags |= SONDE_BLOCK_HAS_LAYOUT;
    } else if (blockfile_may_point(loaded, at + WORD) && area != NULL &&
               (area->kinds & SONDE__LOADED_STRINGS) != 0) {
        /* Swift has no such slot; the next word of its data is no pointer to a string */
        desc->flags |= SONDE_BLOCK_HAS_LAYOUT;
    }
}

bool blockfile_add_desc(const struct sonde__loaded *loaded, struct sonde__blockfile *file,
                        uint64_t vaddr, enum sonde__blockfile_found found)
{
    struct sonde__blockfile_desc desc;
    if (!read_shape(loaded, vaddr, &desc)) {
        return true;
    }
    read_rest(loaded, &desc);
    desc.found = found;
    if (found == SONDE__BLOCKFILE_BY_SHAPE && desc.signature == 0) {
        return true;
    }
    if (file->desc_count == DESCS_MAX) {
        file->damage = "too many descriptors; the rest is not read";
        return true;
    }
    return SONDE__MEM_ADD(file->descs, file->desc_count, file->desc_capacity, desc);
}

void blockfile_merge_descs(struct sonde__blockfile *file)
{
    uint32_t kept = 0;
    SONDE__SORT_BY(file->descs, file->desc_count, vaddr);
    for (uint32_t i = 0; i < file->desc_count; i++) {
        if (kept > 0 && file->descs[kept - 1].vaddr == file->descs[i].vaddr) {
            file->descs[kept - 1].found |= file->descs[i].found;
        } else {
            file->descs[kept++] = file->descs[i];
        }
    }
    file->desc_count = kept;
}

uint32_t blockfile_desc_at(const struct sonde__blockfile *file, uint64_t vaddr)
{
    uint32_t after = SONDE__SEARCH(0, file->desc_count, i, file->descs[i].vaddr <= vaddr);
    return after > 0 && file->descs[after - 1].vaddr == vaddr ? after - 1 : BLOCKFILE_NO_DESC;
}

/* --- by shape --- */

static bool find_by_shape(const struct sonde__loaded *loaded, struct sonde__blockfile *file)
{
    for (uint32_t i = 0; i < loaded->area_count; i++) {
        const struct sonde__loaded_area *area = &loaded->areas[i];
        uint64_t vaddr = (area->vaddr + WORD - 1) & ~(WORD - 1);
        if ((area->kinds & SONDE__LOADED_CONSTANTS) == 0 ||
            (area->pointers == NULL && !loaded->absolute)) {
            continue;
        }
        for (; blockfile_is_inside(area, vaddr, 3 * WORD); vaddr += WORD) {
            const uint8_t *at = area->bytes + (vaddr - area->vaddr);
            /* rejects most words: sizes have two bytes, and the third word is a pointer */
            if (at[4] != 0 || at[5] != 0 || at[10] != 0 || at[11] != 0 ||
                (at[8] < SIZE_MIN && at[9] == 0) ||
                !blockfile_may_point(loaded, vaddr + 2 * WORD)) {
                continue;
            }
            if (!blockfile_add_desc(loaded, file, vaddr, SONDE__BLOCKFILE_BY_SHAPE)) {
                return false;
            }
        }
    }
    return true;
}

/* --- by symbol --- */

/* "__block_descriptor_40_e8_32s...", "__block_descriptor_tmp.3"; Swift: "block_descriptor". */
static bool names_descriptor(const char *name)
{
    static const char stem[] = "block_descriptor";
    if (strncmp(name, "__", 2) == 0) {
        name += 2;
    }
    return strncmp(name, stem, sizeof stem - 1) == 0;
}

static bool find_by_symbol(const struct sonde__loaded *loaded, struct sonde__blockfile *file)
{
    for (uint32_t i = 0; i < loaded->symbol_count; i++) {
        const struct sonde__loaded_symbol *symbol = &loaded->symbols[i];
        if (names_descriptor(symbol->name) &&
            sonde__loaded_area_at(loaded, symbol->vaddr) != NULL &&
            !blockfile_is_code(loaded, symbol->vaddr) &&
            !blockfile_add_desc(loaded, file, symbol->vaddr, SONDE__BLOCKFILE_BY_SYMBOL)) {
            return false;
        }
    }
    return true;
}

bool blockfile_find_descs(const struct sonde__loaded *loaded, bool by_symbols,
                          struct sonde__blockfile *file)
{
    return find_by_shape(loaded, file) && (!by_symbols || find_by_symbol(loaded, file));
}
