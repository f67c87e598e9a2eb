// SPDX-License-Identifier: Apache-2.0
/* Layout of the symbol index, shared by its builder (symbol_build.c) and its look-up
 * (symbol_index.c), and the interfaces between the builder's parts.
 *
 * One block: this struct, then extras, buckets, pages (and padding). An entry describes a function
 * in 8 bytes. Entries that start in one page of code are adjacent: first all starts, as offsets in
 * the page, then for each the name (an offset in a string table) and the size. A look-up reads a
 * bucket, compares the starts of a page at once, and finds name and size in the next cache line. It
 * never reads the symbol itself, which would cost more than all of that. Values that do not fit are
 * in an extra. Each distinct start has an entry, and so has each place where a function continues
 * after a nested one. */
#ifndef SONDE_SYMBOL_LAYOUT_H
#define SONDE_SYMBOL_LAYOUT_H

#include <string.h>

#include <sonde/status.h>

#include "arch_window.h"
#include "image_elf.h"
#include "image_elf_format.h"
#include "symbol_objc.h"

enum symbol_table {
    SYMBOL_TABLE_SYMTAB, /* .symtab of the image's file */
    SYMBOL_TABLE_DEBUG,  /* .symtab of the separate debug file */
    SYMBOL_TABLE_DYNSYM, /* .dynsym of the image */
    SYMBOL_TABLE_OBJC,   /* made from the tables of the image's runtime; has no PLT stubs */
    SYMBOL_TABLE_STUBS = SYMBOL_TABLE_DYNSYM, /* of a Mach-O: stubs only */
};
#define SYMBOL_TABLE_COUNT 4u

/* A ref identifies a symbol: table (2 bits), PLT (1), index in the table (26). */
#define SYMBOL_REF_INDEX_BITS  26u
#define SYMBOL_REF_INDEX_MAX   ((1u << SYMBOL_REF_INDEX_BITS) - 1)
#define SYMBOL_REF_PLT         (1u << 29)
#define SYMBOL_REF_TABLE_SHIFT 30u

/* Page size of the buckets. 2 KiB have some ten functions, whose entries fill two cache lines. */
#define SYMBOL_PAGE_SHIFT 11u

/* Starts are offsets of 32 bits. */
#define SYMBOL_CODE_BYTES_MAX ((uint64_t)1 << 32)

/* Starts that a look-up compares at once. Most pages have fewer (ten). This many are readable after
 * the last page. */
#define SYMBOL_WINDOW SONDE__ARCH_WINDOW

/* Bytes of an entry: `start` (2), and after all starts of its page `name` (4) and `rest` (2).
 * start: offset in the page (11 bits, above), kind (3); never negative as a signed number. rest:
 * aliases (2 bits, above), size (14). */
#define SYMBOL_ENTRY_BYTES 8u
#define SYMBOL_START_BYTES 2u
#define SYMBOL_NAME_BYTES  6u
#define SYMBOL_KIND_BITS   3u
#define SYMBOL_KIND_MASK   7u
#define SYMBOL_SIZE_BITS   14u
#define SYMBOL_SIZE_MAX    ((1u << SYMBOL_SIZE_BITS) - 1)
#define SYMBOL_ALIAS_MAX   3u
/* An entry spans at most this many pages. */
#define SYMBOL_PAGES_MAX ((SYMBOL_SIZE_MAX >> SYMBOL_PAGE_SHIFT) + 1)
/* A kind is the table of the name, with this bit for a PLT stub; or it says that `name` is the
 * index of an extra. */
#define SYMBOL_KIND_TABLE 3u
#define SYMBOL_KIND_PLT   4u
#define SYMBOL_KIND_EXTRA 7u

struct symbol_extra {
    uint64_t size;  /* bytes, from `start` on */
    uint32_t start; /* of the function, or of its continuation; offset from base */
    uint32_t name, kind, aliases;
};

struct sonde__symbol_index {
    uint64_t base;           /* vaddr of offset 0; a multiple of the page size */
    uint64_t size;           /* bytes of code from base on; <= 2^32 */
    const uint8_t *pages;    /* page p is at SYMBOL_ENTRY_BYTES * buckets[p] */
    const uint32_t *buckets; /* [p]: entries that start before page p; page_count + 1 of them */
    const struct symbol_extra *extras;
    const char *strings[SYMBOL_KIND_MASK + 1]; /* by kind */
    uint32_t count, page_count, extra_count;
    uint32_t symbol_count;
    bool has_fde_search;
    uint8_t arch; /* enum sonde_arch; for the CFI */
    size_t block_bytes;
    struct sonde__elf_symbols tables[SYMBOL_TABLE_COUNT];
    struct sonde__objc_symbols objc;   /* owns the last table */
    struct sonde__objc_symbols own[2]; /* of a Mach-O: own the symbols' and the stubs' entries */
    struct sonde__cfi cfi;
};

static inline unsigned symbol_ref_table(uint32_t ref)
{
    return ref >> SYMBOL_REF_TABLE_SHIFT;
}

static inline uint32_t symbol_ref_index(uint32_t ref)
{
    return ref & SYMBOL_REF_INDEX_MAX;
}

/* A candidate while the index is built: start (offset from base) in the upper bits, ref in the
 * lower. Keys are small for sorting; the rest is read from the symbol later. */
typedef uint64_t symbol_key;

static inline symbol_key symbol_make_key(uint32_t start, uint32_t ref)
{
    return (uint64_t)start << 32 | ref;
}

static inline uint32_t symbol_key_start(symbol_key key)
{
    return (uint32_t)(key >> 32);
}

/* Rank of a name, compared before its text; smaller is better. */
#define SYMBOL_RANK_PLT     32u
#define SYMBOL_RANK_NO_SIZE 16u
#define SYMBOL_RANK_NOTYPE  8u
#define SYMBOL_RANK_LOCAL   4u
#define SYMBOL_RANK_WEAK    1u /* compared after the underscores */

/* LSD radix sort; digits are counted while the keys are made. Digits are as narrow as the number of
 * passes allows: 32 MiB of code take three passes of 9 bits, whose 512 write positions fit the L1
 * cache; 2048 would not. */
#define SYMBOL_DIGIT_BITS_MAX 11u
#define SYMBOL_PASSES_MAX     3u

struct symbol_digits {
    unsigned passes, bits;
    uint32_t counts[SYMBOL_PASSES_MAX][1u << SYMBOL_DIGIT_BITS_MAX];
};

/* digit width in bits, in a variable that the counters cannot alias */
static inline void symbol_count_digits(struct symbol_digits *digits, unsigned bits, uint32_t start)
{
    uint32_t mask = (1u << bits) - 1;
    digits->counts[0][start & mask]++;
    digits->counts[1][start >> bits & mask]++;
    digits->counts[2][start >> 2 * bits & mask]++; /* of no use in two passes */
}

struct symbol_build {
    /* base, size, tables and cfi are set; the rest is not yet */
    struct sonde__symbol_index *index;
    const struct sonde__elf *views[SYMBOL_TABLE_COUNT]; /* that contain the tables; null: none */
    symbol_key *keys;
    symbol_key *scratch; /* as large as keys */
    uint32_t count, capacity;
    bool has_stub_table; /* SYMBOL_TABLE_STUBS is one */
    /* Sizes of the PLT stubs among the keys, in their order (heap). */
    uint32_t *stub_sizes;
    struct symbol_digits digits;
};

/* The fields of a symbol that the index needs, read without a cursor, because all symbols of an
 * image are read in a millisecond. */
struct symbol_raw {
    uint64_t value, size;
    uint32_t name; /* offset in the table's strings, inside them */
    uint16_t section;
    uint8_t info;
};

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "symbols are loaded as they lie: the host must be little-endian, as the files are"
#endif

/* `index` < symbols->count, so the entry is in the view. */
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
    /* the last byte is NUL: a bad offset is an empty name */
    raw.name = name < symbols->strings_size ? name : (uint32_t)(symbols->strings_size - 1);
    return raw;
}

/* Properties of a name besides its table. */
static inline uint32_t symbol_kind(uint32_t ref)
{
    return symbol_ref_table(ref) | ((ref & SYMBOL_REF_PLT) != 0 ? SYMBOL_KIND_PLT : 0);
}

static inline uint32_t symbol_rank(uint32_t ref, const struct symbol_raw *raw)
{
    unsigned type = raw->info & 15, bind = raw->info >> 4;
    if ((ref & SYMBOL_REF_PLT) != 0) {
        return SYMBOL_RANK_PLT;
    }
    return (raw->size == 0 ? SYMBOL_RANK_NO_SIZE : 0) |
           (type == SONDE__STT_NOTYPE || type == SONDE__STT_OBJECT ? SYMBOL_RANK_NOTYPE : 0) |
           (bind == SONDE__STB_LOCAL  ? SYMBOL_RANK_LOCAL
            : bind == SONDE__STB_WEAK ? SYMBOL_RANK_WEAK
                                      : 0);
}

/* Write an entry of a 64-bit ELF's symbol table: a function. */
static inline void symbol_write_function(uint8_t *entry, unsigned bind, uint16_t section,
                                         uint32_t name, uint64_t start, uint64_t size)
{
    memcpy(entry, &name, sizeof name);
    entry[4] = (uint8_t)(bind << 4 | SONDE__STT_FUNC);
    entry[5] = 0;
    memcpy(entry + 6, &section, sizeof section);
    memcpy(entry + 8, &start, sizeof start);
    memcpy(entry + 16, &size, sizeof size);
}

/* Build the index of the tables that build->index has, for `capacity` symbols. elf: has PLT stubs;
 * null: none besides the table's. Takes the tables that build->index owns, also if it fails. */
SONDE_NODISCARD enum sonde_status symbol_build_finish(struct symbol_build *build,
                                                      const struct sonde__elf *elf,
                                                      struct sonde__symbol_index **ret_index,
                                                      struct sonde_error *ret_error);

/* Free the tables that an index owns. */
static inline void symbol_index_free_tables(struct sonde__symbol_index *index)
{
    sonde__objc_symbols_done(&index->objc);
    sonde__objc_symbols_done(&index->own[0]);
    sonde__objc_symbols_done(&index->own[1]);
}

/* Prepare to count digits of starts up to start_max. */
void symbol_sort_prepare(struct symbol_digits *digits, uint32_t start_max);
/* Sort keys by start, stably. Uses up the counted digits. `scratch` has room for count keys.
 * Returns the array with the result, which is one of the two. */
symbol_key *symbol_sort(symbol_key *keys, symbol_key *scratch, uint32_t count,
                        struct symbol_digits *digits);

/* Choose the best of keys[0..count), which have the same start. Returns its index; ret_names: the
 * number of distinct names. */
uint32_t symbol_choose(const struct sonde__symbol_index *index, const symbol_key *keys,
                       uint32_t count, uint32_t *ret_names);

/* Merge the PLT stubs of `elf` into the sorted keys. */
SONDE_NODISCARD enum sonde_status symbol_add_plt(struct symbol_build *build,
                                                 const struct sonde__elf *elf);
/* Upper bound of the stubs that symbol_add_plt() adds. */
uint32_t symbol_count_plt(const struct sonde__elf *elf);

/* Turn sorted keys into parts of entries (room for two per key), their number, the buckets
 * (page_count + 1, zeroed), and the extras (heap). */
struct symbol_entries {
    uint16_t *starts, *rests;
    uint32_t *names, *buckets;
    uint32_t count, page_count;
    struct symbol_extra *extras;
    size_t extra_count, extra_capacity;
};
SONDE_NODISCARD enum sonde_status symbol_flatten(struct symbol_build *build,
                                                 struct symbol_entries *entries);

#endif
