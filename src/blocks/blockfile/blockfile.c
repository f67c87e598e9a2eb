// SPDX-License-Identifier: Apache-2.0
/* Descriptors by their shape, their symbol or a block in data. Block_private.h and clang's
 * CGBlocks.cpp say how they lie: reserved, size, [copy, dispose,] signature, layout. */
#include "blockfile.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/block.h>

#include "base_search.h"
#include "base_status.h"
#include "blockfile_inside.h"
#include "mem_heap.h"

#define WORD ((uint64_t)8)

enum {
    SIZE_MIN = 32,
    SIZE_MAX_BYTES = 65535,
    /* the longest signature met has 788 bytes */
    SIGNATURE_MAX = 8192,
    LITERAL_WORDS = 4,
};

/* Layouts up to here are the number itself. */
#define LAYOUT_INLINE_MAX 0x1000u

/* Each is a search of the words that a stretch of code stored; a file of 36 MB with 71,400 blocks
 * took 35,700, one for each box. */
#define LOOKUPS_MAX ((uint32_t)1 << 22)

/* A file has fewer: each has an encoding and code. */
#define DESCS_MAX ((uint32_t)1 << 20)

bool blockfile_is_code(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    const struct sonde__loaded_area *area = sonde__loaded_area_at(loaded, vaddr);
    return area != NULL && (area->kinds & SONDE__LOADED_CODE) != 0;
}

/* Is there a pointer at this vaddr? Where none is marked, any word may be one. */
static bool may_point(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    return loaded->absolute || sonde__loaded_is_pointer(loaded, vaddr);
}

/* The encoding of a block's type: printable, and the block itself is the first parameter, at offset
 * 0 of the frame. */
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

/* What stands at a vaddr, as far as it is a descriptor's. False: it cannot be one. */
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
    if (may_point(loaded, vaddr + 2 * WORD) && may_point(loaded, vaddr + 3 * WORD) && count > 4 &&
        blockfile_is_code(loaded, words[2]) && blockfile_is_code(loaded, words[3])) {
        desc->copy = words[2];
        desc->dispose = words[3];
        desc->flags |= SONDE_BLOCK_HAS_HELPERS;
    }
    return true;
}

/* The signature and whether a layout's slot follows; the flags that this means. */
static void read_rest(const struct sonde__loaded *loaded, struct sonde__blockfile_desc *desc)
{
    uint64_t at = desc->vaddr + ((desc->flags & SONDE_BLOCK_HAS_HELPERS) != 0 ? 4u : 2u) * WORD;
    uint64_t signature = 0, layout = 0;
    const struct sonde__loaded_area *area;
    if (!sonde__loaded_word(loaded, at, &signature)) {
        return;
    }
    if (may_point(loaded, at) && is_signature(loaded, signature)) {
        desc->signature = signature;
        desc->flags |= SONDE_BLOCK_HAS_SIGNATURE;
    }
    if (!sonde__loaded_word(loaded, at + WORD, &layout) || layout == 0) {
        return;
    }
    area = sonde__loaded_area_at(loaded, layout);
    if (!sonde__loaded_is_pointer(loaded, at + WORD) && layout < LAYOUT_INLINE_MAX) {
        desc->flags |= SONDE_BLOCK_HAS_LAYOUT;
    } else if (may_point(loaded, at + WORD) && area != NULL &&
               (area->kinds & SONDE__LOADED_STRINGS) != 0) {
        /* Swift has no such slot, and what comes next in its data leads to no string */
        desc->flags |= SONDE_BLOCK_HAS_LAYOUT;
    }
}

static bool add_desc(struct sonde__blockfile *file, const struct sonde__blockfile_desc *desc)
{
    if (file->desc_count == DESCS_MAX) {
        file->damage = "more descriptors than are read";
        return true;
    }
    if (!sonde__mem_grow(&file->descs, file->desc_count, &file->desc_capacity,
                         sizeof *file->descs)) {
        return false;
    }
    file->descs[file->desc_count++] = *desc;
    return true;
}

static int by_vaddr(const void *a, const void *b)
{
    const struct sonde__blockfile_desc *x = a, *y = b;
    return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* Sorts, and makes one of those that were found twice. */
static void merge_descs(struct sonde__blockfile *file)
{
    uint32_t kept = 0;
    if (file->desc_count > 1) {
        qsort(file->descs, file->desc_count, sizeof *file->descs, by_vaddr);
    }
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

static bool is_inside(const struct sonde__loaded_area *area, uint64_t vaddr, uint64_t size)
{
    return size <= area->size && vaddr - area->vaddr <= area->size - size;
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
        for (; is_inside(area, vaddr, 3 * WORD); vaddr += WORD) {
            struct sonde__blockfile_desc desc;
            const uint8_t *at = area->bytes + (vaddr - area->vaddr);
            /* most words are none: a size has two bytes, and the third word is a pointer */
            if (at[4] != 0 || at[5] != 0 || at[10] != 0 || at[11] != 0 ||
                (at[8] < SIZE_MIN && at[9] == 0) || !may_point(loaded, vaddr + 2 * WORD) ||
                !read_shape(loaded, vaddr, &desc)) {
                continue;
            }
            read_rest(loaded, &desc);
            if (desc.signature != 0) {
                desc.found = SONDE__BLOCKFILE_BY_SHAPE;
                if (!add_desc(file, &desc)) {
                    return false;
                }
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
        struct sonde__blockfile_desc desc;
        const struct sonde__loaded_area *area;
        if (!names_descriptor(loaded->symbols[i].name)) {
            continue;
        }
        area = sonde__loaded_area_at(loaded, loaded->symbols[i].vaddr);
        if (area == NULL || (area->kinds & SONDE__LOADED_CODE) != 0 ||
            !read_shape(loaded, loaded->symbols[i].vaddr, &desc)) {
            continue;
        }
        read_rest(loaded, &desc);
        desc.found = SONDE__BLOCKFILE_BY_SYMBOL;
        desc.symbol = loaded->symbols[i].name;
        if (!add_desc(file, &desc)) {
            return false;
        }
    }
    return true;
}

/* --- blocks in data --- */

struct literal {
    uint64_t vaddr, invoke, desc;
    uint32_t flags;
};

/* Is a global block's literal at this vaddr? isa: what it must have, or 0: anything. */
static bool read_literal(const struct sonde__loaded *loaded, uint64_t isa, uint64_t vaddr,
                         struct literal *ret_literal)
{
    uint64_t words[LITERAL_WORDS];
    for (unsigned i = 0; i < LITERAL_WORDS; i++) {
        if (!sonde__loaded_word(loaded, vaddr + i * WORD, &words[i])) {
            return false;
        }
    }
    if ((words[1] & SONDE_BLOCK_GLOBAL) == 0 || words[1] > UINT32_MAX ||
        sonde__loaded_is_pointer(loaded, vaddr + WORD) || !may_point(loaded, vaddr + 2 * WORD) ||
        !may_point(loaded, vaddr + 3 * WORD) || !blockfile_is_code(loaded, words[2])) {
        return false;
    }
    if (isa != 0 && words[0] != isa) {
        return false;
    }
    *ret_literal = (struct literal){vaddr, words[2], words[3], (uint32_t)words[1]};
    return true;
}

/* The address that stands for a class of blocks. 0: the file does not speak of it. */
static uint64_t class_at(const struct sonde__loaded *loaded, const char *name)
{
    uint64_t vaddr;
    for (uint32_t i = 0; i < loaded->import_count; i++) {
        vaddr = loaded->imports_at + (uint64_t)i * SONDE__LOADED_IMPORT_BYTES;
        if (strcmp(sonde__loaded_import(loaded, vaddr), name) == 0) {
            return vaddr;
        }
    }
    return sonde__loaded_find(loaded, name, &vaddr) ? vaddr : 0;
}

static bool each_literal(const struct sonde__loaded *loaded, struct sonde__blockfile *file,
                         uint64_t isa,
                         bool (*each)(const struct sonde__loaded *loaded,
                                      struct sonde__blockfile *file, const struct literal *literal))
{
    for (uint32_t i = 0; i < loaded->area_count; i++) {
        const struct sonde__loaded_area *area = &loaded->areas[i];
        uint64_t vaddr = (area->vaddr + WORD - 1) & ~(WORD - 1);
        if ((area->kinds & (SONDE__LOADED_CONSTANTS | SONDE__LOADED_DATA)) == 0 ||
            (area->pointers == NULL && !loaded->absolute)) {
            continue;
        }
        for (; is_inside(area, vaddr, LITERAL_WORDS * WORD); vaddr += WORD) {
            struct literal literal;
            if (may_point(loaded, vaddr + 3 * WORD) && read_literal(loaded, isa, vaddr, &literal) &&
                !each(loaded, file, &literal)) {
                return false;
            }
        }
    }
    return true;
}

/* The descriptor of a literal, which may have no encoding: the class of the block stands for it. */
static bool take_desc(const struct sonde__loaded *loaded, struct sonde__blockfile *file,
                      const struct literal *literal)
{
    struct sonde__blockfile_desc desc;
    if (!read_shape(loaded, literal->desc, &desc)) {
        return true;
    }
    read_rest(loaded, &desc);
    desc.found = SONDE__BLOCKFILE_BY_BLOCK;
    return add_desc(file, &desc);
}

/* A block of a descriptor that is known; its class may be a symbol that was stripped. */
static bool take_block(const struct sonde__loaded *loaded, struct sonde__blockfile *file,
                       const struct literal *literal)
{
    uint32_t desc = blockfile_desc_at(file, literal->desc);
    (void)loaded;
    if (desc == BLOCKFILE_NO_DESC) {
        return true;
    }
    if (!sonde__mem_grow(&file->blocks, file->block_count, &file->block_capacity,
                         sizeof *file->blocks)) {
        return false;
    }
    file->blocks[file->block_count++] = (struct sonde__blockfile_block){.desc = desc,
                                                                        .invoke = literal->invoke,
                                                                        .at = literal->vaddr,
                                                                        .flags = literal->flags,
                                                                        .flags_known = true,
                                                                        .is_global = true};
    return true;
}

/* --- by code --- */

/* In data, and in code. */
static enum sonde_status find_blocks(const struct sonde__loaded *loaded,
                                     struct sonde__blockfile *file)
{
    file->block_count = file->box_count = 0;
    return each_literal(loaded, file, 0, take_block) ? blockfile_read_code(loaded, file)
                                                     : SONDE_MEMORY;
}

/* Without an encoding there is no more than a size, and functions or none: code decides. */
static enum sonde_status find_by_code(const struct sonde__loaded *loaded,
                                      struct sonde__blockfile *file)
{
    struct blockfile_wanted wanted = {.class_at = class_at(loaded, "_NSConcreteStackBlock")};
    enum sonde_status status = blockfile_search_code(loaded, file, &wanted);
    uint32_t before = file->desc_count;
    for (uint32_t i = 0; i < wanted.count && status == SONDE_OK; i++) {
        struct sonde__blockfile_desc desc;
        if (!read_shape(loaded, wanted.vaddrs[i], &desc)) {
            continue;
        }
        read_rest(loaded, &desc);
        desc.found = SONDE__BLOCKFILE_BY_CODE;
        status = add_desc(file, &desc) ? SONDE_OK : SONDE_MEMORY;
    }
    sonde__mem_free(wanted.vaddrs);
    if (status == SONDE_OK && file->desc_count != before) {
        merge_descs(file);
        status = find_blocks(loaded, file);
    }
    return status;
}

/* --- all --- */

static int by_desc(const void *a, const void *b)
{
    const struct sonde__blockfile_block *x = a, *y = b;
    if (x->desc != y->desc) {
        return x->desc < y->desc ? -1 : 1;
    }
    if (x->invoke != y->invoke) {
        return x->invoke < y->invoke ? -1 : 1;
    }
    if (x->is_global != y->is_global) {
        return x->is_global ? -1 : 1;
    }
    return (x->at > y->at) - (x->at < y->at);
}

/* What a block says of its descriptor's fields is right; what stands there only hints at it. */
static void take_flags(struct sonde__blockfile_desc *desc,
                       const struct sonde__blockfile_block *block)
{
    const uint32_t shape =
        SONDE_BLOCK_HAS_HELPERS | SONDE_BLOCK_HAS_SIGNATURE | SONDE_BLOCK_HAS_LAYOUT;
    if (!block->flags_known) {
        return;
    }
    if (desc->flags_known && ((desc->flags ^ block->flags) & shape) != 0) {
        desc->flags_differ = true;
        return;
    }
    desc->flags = block->flags;
    desc->flags_known = true;
}

/* Code that fills the same block in several places (inlined, unrolled) is one. */
static bool is_same(const struct sonde__blockfile_block *a, const struct sonde__blockfile_block *b)
{
    return a->desc == b->desc && a->invoke == b->invoke && a->is_global == b->is_global &&
           (!a->is_global || a->at == b->at);
}

static void share_out_blocks(struct sonde__blockfile *file)
{
    uint32_t kept = 0;
    if (file->block_count > 1) {
        qsort(file->blocks, file->block_count, sizeof *file->blocks, by_desc);
    }
    for (uint32_t i = 0; i < file->block_count; i++) {
        if (kept == 0 || !is_same(&file->blocks[kept - 1], &file->blocks[i])) {
            file->blocks[kept++] = file->blocks[i];
        } else if (!file->blocks[kept - 1].flags_known) {
            file->blocks[kept - 1].flags = file->blocks[i].flags;
            file->blocks[kept - 1].flags_known = file->blocks[i].flags_known;
        }
    }
    file->block_count = kept;
    for (uint32_t i = 0; i < file->block_count; i++) {
        struct sonde__blockfile_desc *desc = &file->descs[file->blocks[i].desc];
        if (desc->block_count++ == 0) {
            desc->first_block = i;
        }
        take_flags(desc, &file->blocks[i]);
    }
}

/* Names of descriptors that were found otherwise, too. */
static void name_descs(const struct sonde__loaded *loaded, struct sonde__blockfile *file)
{
    for (uint32_t i = 0; i < file->desc_count; i++) {
        file->descs[i].symbol = sonde__loaded_symbol_at(loaded, file->descs[i].vaddr);
    }
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* "__main_block_invoke.3", but not the part of it that was split off as seldom run. */
static bool names_function(const char *name)
{
    const char *invoke = strstr(name, "_block_invoke");
    return invoke != NULL && strstr(invoke, ".cold") == NULL;
}

/* What was missed is said. */
static bool find_unmatched(const struct sonde__loaded *loaded, struct sonde__blockfile *file)
{
    uint64_t *known = sonde__mem_alloc_array((size_t)file->block_count + 1, sizeof *known);
    size_t capacity = 0;
    bool has_memory = known != NULL;
    for (uint32_t i = 0; has_memory && i < file->block_count; i++) {
        known[i] = file->blocks[i].invoke;
    }
    if (has_memory && file->block_count > 1) {
        qsort(known, file->block_count, sizeof *known, by_number);
    }
    for (uint32_t i = 0; i < loaded->symbol_count && has_memory; i++) {
        uint64_t vaddr = loaded->symbols[i].vaddr; /* in order */
        if (!names_function(loaded->symbols[i].name) || !blockfile_is_code(loaded, vaddr) ||
            (file->block_count != 0 &&
             bsearch(&vaddr, known, file->block_count, sizeof *known, by_number) != NULL) ||
            (file->unmatched_count != 0 && file->unmatched[file->unmatched_count - 1] == vaddr)) {
            continue;
        }
        has_memory = sonde__mem_grow(&file->unmatched, file->unmatched_count, &capacity,
                                     sizeof *file->unmatched);
        if (has_memory) {
            file->unmatched[file->unmatched_count++] = vaddr;
        }
    }
    sonde__mem_free(known);
    return has_memory;
}

enum sonde_status sonde__blockfile_find(const struct sonde__loaded *loaded, bool by_symbols,
                                        struct sonde__blockfile *ret_file,
                                        struct sonde_error *ret_error)
{
    struct sonde__blockfile file = {.damage = loaded->damage, .lookups_left = LOOKUPS_MAX};
    enum sonde_status status = SONDE_MEMORY;
    uint64_t isa = class_at(loaded, "_NSConcreteGlobalBlock");
    if (find_by_shape(loaded, &file) && (!by_symbols || find_by_symbol(loaded, &file)) &&
        (isa == 0 || each_literal(loaded, &file, isa, take_desc))) {
        merge_descs(&file);
        status = find_blocks(loaded, &file);
    }
    if (status == SONDE_OK) {
        status = find_by_code(loaded, &file);
    }
    if (status == SONDE_OK && by_symbols && !find_unmatched(loaded, &file)) {
        status = SONDE_MEMORY;
    }
    if (status != SONDE_OK) {
        sonde__blockfile_done(&file);
        return sonde__base_fail(ret_error, status, "no memory for the blocks of a file", NULL, 0,
                                0);
    }
    blockfile_end_boxes(&file);
    share_out_blocks(&file);
    if (by_symbols) {
        name_descs(loaded, &file);
    }
    *ret_file = file;
    return SONDE_OK;
}

void sonde__blockfile_done(struct sonde__blockfile *file)
{
    sonde__mem_free(file->descs);
    sonde__mem_free(file->blocks);
    sonde__mem_free(file->boxes);
    sonde__mem_free(file->unmatched);
    *file = (struct sonde__blockfile){0};
}
