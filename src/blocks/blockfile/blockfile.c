// SPDX-License-Identifier: Apache-2.0
/* The whole search: blocks in data, and descriptors that only such blocks or code refer to. */
#include "blockfile.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/block.h>

#include "base_search.h"
#include "base_status.h"
#include "blockfile_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"

#define WORD ((uint64_t)8)

enum { LITERAL_WORDS = 4 };

/* Each look-up searches the words that a stretch of code stored. A file of 36 MB with 71,400 blocks
 * needed 35,700, one for each box. */
#define LOOKUPS_MAX ((uint32_t)1 << 22)

/* --- blocks in data --- */

struct literal {
    uint64_t vaddr, invoke, desc;
    uint32_t flags;
};

/* Is there a literal of a global block at this vaddr? isa: its required class; 0: any. */
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
        sonde__loaded_is_pointer(loaded, vaddr + WORD) ||
        !blockfile_may_point(loaded, vaddr + 2 * WORD) ||
        !blockfile_may_point(loaded, vaddr + 3 * WORD) || !blockfile_is_code(loaded, words[2])) {
        return false;
    }
    if (isa != 0 && words[0] != isa) {
        return false;
    }
    *ret_literal = (struct literal){vaddr, words[2], words[3], (uint32_t)words[1]};
    return true;
}

/* Address of a class of blocks, or of its import. 0: the file does not use it. */
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
        for (; blockfile_is_inside(area, vaddr, LITERAL_WORDS * WORD); vaddr += WORD) {
            struct literal literal;
            if (blockfile_may_point(loaded, vaddr + 3 * WORD) &&
                read_literal(loaded, isa, vaddr, &literal) && !each(loaded, file, &literal)) {
                return false;
            }
        }
    }
    return true;
}

/* Add a literal's descriptor. It may lack a signature, because the class identifies the block. */
static bool take_desc(const struct sonde__loaded *loaded, struct sonde__blockfile *file,
                      const struct literal *literal)
{
    return blockfile_add_desc(loaded, file, literal->desc, SONDE__BLOCKFILE_BY_BLOCK);
}

/* Add a block with a known descriptor; the symbol of its class may have been stripped. */
static bool take_block(const struct sonde__loaded *loaded, struct sonde__blockfile *file,
                       const struct literal *literal)
{
    uint32_t desc = blockfile_desc_at(file, literal->desc);
    (void)loaded;
    if (desc == BLOCKFILE_NO_DESC) {
        return true;
    }
    return SONDE__MEM_ADD(file->blocks, file->block_count, file->block_capacity,
                          (struct sonde__blockfile_block){.desc = desc,
                                                          .invoke = literal->invoke,
                                                          .at = literal->vaddr,
                                                          .flags = literal->flags,
                                                          .flags_known = true,
                                                          .is_global = true});
}

/* --- by code --- */

/* Search data, then code. */
static enum sonde_status find_blocks(const struct sonde__loaded *loaded,
                                     struct sonde__blockfile *file)
{
    file->block_count = file->box_count = 0;
    return each_literal(loaded, file, 0, take_block) ? blockfile_read_code(loaded, file)
                                                     : SONDE_MEMORY;
}

/* Add descriptors without a signature. Their shape (a size and two functions or none) is no proof,
 * but code that uses them is. */
static enum sonde_status find_by_code(const struct sonde__loaded *loaded,
                                      struct sonde__blockfile *file)
{
    struct blockfile_wanted wanted = {.class_at = class_at(loaded, "_NSConcreteStackBlock")};
    enum sonde_status status = blockfile_search_code(loaded, file, &wanted);
    uint32_t before = file->desc_count;
    for (uint32_t i = 0; i < wanted.count && status == SONDE_OK; i++) {
        status = blockfile_add_desc(loaded, file, wanted.vaddrs[i], SONDE__BLOCKFILE_BY_CODE)
                     ? SONDE_OK
                     : SONDE_MEMORY;
    }
    sonde__mem_free(wanted.vaddrs);
    if (status == SONDE_OK && file->desc_count != before) {
        blockfile_merge_descs(file);
        status = find_blocks(loaded, file);
    }
    return status;
}

/* --- everything --- */

static int by_desc(const void *a, const void *b)
{
    const struct sonde__blockfile_block *x = a, *y = b;
    int order = SONDE__ORDER2(x, y, desc, invoke);
    order = order != 0 ? order : SONDE__ORDER(y, x, is_global); /* global ones first */
    return order != 0 ? order : SONDE__ORDER(x, y, at);
}

/* A block's flags give the fields of its descriptor; the descriptor's bytes only hint at them. */
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

/* Does code fill the same block in several places (inlined, unrolled)? It counts once. */
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

/* Name all descriptors. */
static void name_descs(const struct sonde__loaded *loaded, struct sonde__blockfile *file)
{
    for (uint32_t i = 0; i < file->desc_count; i++) {
        file->descs[i].symbol = sonde__loaded_symbol_at(loaded, file->descs[i].vaddr);
    }
}

static bool is_known(const uint64_t *known, uint32_t count, uint64_t vaddr)
{
    uint32_t at = SONDE__SEARCH(0, count, i, known[i] < vaddr);
    return at < count && known[at] == vaddr;
}

/* "__main_block_invoke.3", but not a function's cold part. */
static bool names_function(const char *name)
{
    const char *invoke = strstr(name, "_block_invoke");
    return invoke != NULL && strstr(invoke, ".cold") == NULL;
}

/* List functions of blocks for which no block was found. */
static bool find_unmatched(const struct sonde__loaded *loaded, struct sonde__blockfile *file)
{
    uint64_t *known = sonde__mem_alloc_array((size_t)file->block_count + 1, sizeof *known);
    size_t capacity = 0;
    bool has_memory = known != NULL;
    for (uint32_t i = 0; has_memory && i < file->block_count; i++) {
        known[i] = file->blocks[i].invoke;
    }
    if (has_memory) {
        sonde__mem_sort(known, file->block_count, sizeof *known, sizeof *known);
    }
    for (uint32_t i = 0; i < loaded->symbol_count && has_memory; i++) {
        uint64_t vaddr = loaded->symbols[i].vaddr; /* ascending */
        if (!names_function(loaded->symbols[i].name) || !blockfile_is_code(loaded, vaddr) ||
            is_known(known, file->block_count, vaddr) ||
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
    if (blockfile_find_descs(loaded, by_symbols, &file) &&
        (isa == 0 || each_literal(loaded, &file, isa, take_desc))) {
        blockfile_merge_descs(&file);
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
