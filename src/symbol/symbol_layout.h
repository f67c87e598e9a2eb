// SPDX-License-Identifier: Apache-2.0
/* Layout of the symbol index, shared by its builder (symbol_build.c) and its look-up
 * (symbol_index.c), and what the builder's parts tell each other.
 *
 * One block: this struct, then starts (and padding), refs, buckets, crowds. `starts` are offsets
 * from `base`, strictly ascending; entry i says what holds from starts[i] on: a symbol (until the
 * symbol's own end, or for symbols without a size until the next entry), or an end marker. 8 bytes
 * an entry; one entry per distinct start, and a few for what ends or goes on inside another. */
#ifndef SONDE_SYMBOL_LAYOUT_H
#define SONDE_SYMBOL_LAYOUT_H

#include <string.h>

#include <sonde/status.h>

#include "image_elf.h"

/* A ref: table (2 bits), PLT (1), number of aliases (3), index in the table (26). */
#define SYMBOL_REF_INDEX_BITS  26u
#define SYMBOL_REF_INDEX_MAX   ((1u << SYMBOL_REF_INDEX_BITS) - 1)
#define SYMBOL_REF_ALIAS_SHIFT SYMBOL_REF_INDEX_BITS
#define SYMBOL_REF_ALIAS_MANY  7u /* the number stands in `crowds` */
#define SYMBOL_REF_PLT         (1u << 29)
#define SYMBOL_REF_TABLE_SHIFT 30u

enum symbol_table {
    SYMBOL_TABLE_SYMTAB, /* .symtab of the image's file */
    SYMBOL_TABLE_DEBUG,  /* .symtab of the separate debug file */
    SYMBOL_TABLE_DYNSYM, /* .dynsym of the image */
    SYMBOL_TABLE_NONE,   /* an end marker */
};
#define SYMBOL_TABLE_COUNT 3u
#define SYMBOL_REF_END     ((uint32_t)SYMBOL_TABLE_NONE << SYMBOL_REF_TABLE_SHIFT)

/* Page size of the buckets: 4 KiB holds some twenty functions, whose starts are two cache lines. */
#define SYMBOL_PAGE_SHIFT 12u

/* Entries that a look-up compares at once: the twenty of most pages, and some. As many words of
 * UINT32_MAX stand behind the last start. */
#define SYMBOL_WINDOW 32u

struct symbol_crowd {
    uint32_t entry; /* index in starts, ascending */
    uint32_t aliases;
};

struct sonde__symbol_index {
    uint64_t base; /* vaddr of offset 0 */
    uint64_t size; /* bytes of code from base on; <= 2^32 */
    uint32_t count, page_count, crowd_count;
    uint32_t symbol_count, name_count;
    bool has_fde_search;
    uint8_t arch; /* enum sonde__arch; for the CFI */
    size_t block_bytes;
    struct sonde__elf_symbols tables[SYMBOL_TABLE_COUNT];
    struct sonde__cfi cfi;
    const uint32_t *starts;
    const uint32_t *refs;
    const uint32_t *buckets; /* [p]: entries that start before page p; page_count + 1 of them */
    const struct symbol_crowd *crowds;
};

static inline unsigned symbol_ref_table(uint32_t ref)
{
    return ref >> SYMBOL_REF_TABLE_SHIFT;
}

static inline uint32_t symbol_ref_index(uint32_t ref)
{
    return ref & SYMBOL_REF_INDEX_MAX;
}

/* A candidate while the index is built. */
struct symbol_item {
    uint32_t start; /* offset from base */
    uint32_t ref;
    uint32_t size; /* bytes; cut at UINT32_MAX */
    uint32_t rank; /* smaller is better: SYMBOL_RANK_* */
};

/* What decides between names of one address before their text does. */
#define SYMBOL_RANK_PLT     32u
#define SYMBOL_RANK_NO_SIZE 16u
#define SYMBOL_RANK_NOTYPE  8u
#define SYMBOL_RANK_LOCAL   4u
#define SYMBOL_RANK_WEAK    1u /* asked only after the text's underscores */

struct symbol_build {
    struct sonde__symbol_index *index; /* base, size, tables, cfi are set; the rest is being made */
    const struct sonde__elf *views[SYMBOL_TABLE_COUNT]; /* that the tables stand in */
    struct symbol_item *items;
    struct symbol_item *scratch; /* as large as items */
    uint32_t count, capacity;
};

/* The fields of a symbol that the index needs, read without a cursor: a look-up has some
 * nanoseconds. */
struct symbol_raw {
    uint64_t value, size;
    const char *name;
    uint16_t section;
    uint8_t info;
};

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "symbols are loaded as they lie: the host must be little-endian, as the files are"
#endif

/* `index` < symbols->count: then the entry lies in the view. */
static inline struct symbol_raw symbol_read(const struct sonde__elf_symbols *symbols,
                                            uint32_t index)
{
    const uint8_t *at = symbols->data + (uint64_t)index * symbols->entsize;
    struct symbol_raw raw;
    uint32_t name, value32, size32;
    memcpy(&name, at, 4);
    if (symbols->is64) {
        raw.info = at[4];
        memcpy(&raw.section, at + 6, 2);
        memcpy(&raw.value, at + 8, 8);
        memcpy(&raw.size, at + 16, 8);
    } else {
        memcpy(&value32, at + 4, 4);
        memcpy(&size32, at + 8, 4);
        raw.info = at[12];
        memcpy(&raw.section, at + 14, 2);
        raw.value = value32;
        raw.size = size32;
    }
    raw.name = name < symbols->strings_size ? symbols->strings + name : "";
    return raw;
}

/* Sort items by start (at most start_max); equal starts keep their order. `scratch` holds count
 * items. Returns the one of the two that holds the result. */
struct symbol_item *symbol_sort(struct symbol_item *items, struct symbol_item *scratch,
                                uint32_t count, uint32_t start_max);

/* Choose the best of items[0..count), which share a start; returns its index, and in ret_names the
 * number of different names. */
uint32_t symbol_choose(const struct sonde__symbol_index *index, const struct symbol_item *items,
                       uint32_t count, uint32_t *ret_names);

/* Append the PLT stubs of `elf` to the items, which are sorted by start, and sort them in. */
SONDE_NODISCARD enum sonde_status symbol_add_plt(struct symbol_build *build,
                                                 const struct sonde__elf *elf);
/* Upper bound of the stubs that symbol_add_plt() adds. */
uint32_t symbol_count_plt(const struct sonde__elf *elf);

/* Turn the sorted items into the entries of the index: starts and refs (room for twice as many as
 * items each), their number, and the crowds (heap). */
struct symbol_entries {
    uint32_t *starts, *refs;
    uint32_t count;
    struct symbol_crowd *crowds;
    size_t crowd_count, crowd_capacity;
};
SONDE_NODISCARD enum sonde_status symbol_flatten(struct symbol_build *build,
                                                 struct symbol_entries *entries);

#endif
