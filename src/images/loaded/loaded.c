// SPDX-License-Identifier: Apache-2.0
/* Areas, imports and reading. Invariant after loaded_end_areas(): areas are sorted by vaddr and
 * do not overlap, vaddr + size does not wrap, and imports_at is behind the last one. */
#include "loaded.h"

#include <stdlib.h>
#include <string.h>

#include "base_hash.h"
#include "base_search.h"
#include "loaded_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Limit of names in a file; a larger table is hostile. */
#define IMPORTS_MAX ((uint32_t)1 << 20)
/* Imports have their own pages. */
#define IMPORTS_ALIGN ((uint64_t)1 << 16)

enum { WORD = 8, SLACK = 4096, RELOC_BYTES_MIN = 8 };

/* Each pointer, of at least 8 bytes, may read the same name again. */
enum { NAME_BYTES_FOR_A_BYTE = 64 };

void loaded_limit(struct sonde__loaded *loaded, uint64_t file_size)
{
    /* without padding, each byte of the file is in one section */
    loaded->copy_left = file_size + SLACK;
    loaded->area_left = 2 * file_size + SLACK;
    loaded->relocs_left = file_size / RELOC_BYTES_MIN + 1;
    loaded->names_left = NAME_BYTES_FOR_A_BYTE * file_size + SLACK;
}

bool loaded_charge(struct sonde__loaded *loaded)
{
    if (loaded->relocs_left == 0) {
        loaded_damage(loaded, "more relocations than the file has room for");
        return false;
    }
    loaded->relocs_left--;
    return true;
}

/* Charge a name to the budget. False: names share more bytes than the file has. */
static bool charge_name(struct sonde__loaded *loaded, const char *name)
{
    size_t length = strnlen(name, (size_t)loaded->names_left + 1);
    if (length > loaded->names_left) {
        loaded->names_left = 0;
        loaded_damage(loaded, "names share bytes of the file; the rest is not read");
        return false;
    }
    loaded->names_left -= length;
    return true;
}

/* --- areas --- */

bool loaded_add_area(struct sonde__loaded *loaded, size_t *capacity,
                     const struct sonde__loaded_area *area)
{
    if (area->size == 0 || area->bytes == NULL || area->vaddr > UINT64_MAX - area->size) {
        return true;
    }
    if (area->size > loaded->area_left) {
        loaded_damage(loaded, "sections share bytes of the file; the rest is not read");
        return true;
    }
    loaded->area_left -= area->size;
    if (!sonde__mem_grow(&loaded->areas, loaded->area_count, capacity, sizeof *loaded->areas)) {
        return false;
    }
    loaded->areas[loaded->area_count++] = *area;
    return true;
}

static int by_vaddr(const void *a, const void *b)
{
    const struct sonde__loaded_area *x = a, *y = b;
    return SONDE__ORDER2(x, y, vaddr, size);
}

void loaded_end_areas(struct sonde__loaded *loaded)
{
    uint64_t end = 0;
    uint32_t kept = 0;
    if (loaded->area_count > 1) {
        qsort(loaded->areas, loaded->area_count, sizeof *loaded->areas, by_vaddr);
    }
    for (uint32_t i = 0; i < loaded->area_count; i++) {
        const struct sonde__loaded_area *area = &loaded->areas[i];
        if (area->vaddr < end) {
            loaded_damage(loaded, "sections overlap; only the first of them is read");
            continue;
        }
        end = area->vaddr + area->size;
        loaded->areas[kept++] = *area;
    }
    loaded->area_count = kept;
    /* after all areas; a file that fills the address space has no room for imports */
    loaded->imports_at =
        end < UINT64_MAX >> 1 ? (end + 2 * IMPORTS_ALIGN) & ~(IMPORTS_ALIGN - 1) : 0;
}

static struct sonde__loaded_area *find_area(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    uint32_t after = SONDE__SEARCH(0, loaded->area_count, i, loaded->areas[i].vaddr <= vaddr);
    if (after == 0 || vaddr - loaded->areas[after - 1].vaddr >= loaded->areas[after - 1].size) {
        return NULL;
    }
    return &loaded->areas[after - 1];
}

const struct sonde__loaded_area *sonde__loaded_area_at(const struct sonde__loaded *loaded,
                                                       uint64_t vaddr)
{
    return find_area(loaded, vaddr);
}

/* --- reading --- */

static bool read_table(const struct sonde__loaded *loaded, uint64_t vaddr, void *buffer,
                       size_t size)
{
    uint64_t inside = vaddr - loaded->words_at;
    uint8_t word[WORD];
    if (loaded->word_count == 0 || vaddr < loaded->words_at ||
        inside / WORD >= loaded->word_count || size > WORD - inside % WORD) {
        return false;
    }
    sonde__base_put_le(word, loaded->words[inside / WORD], WORD);
    memcpy(buffer, word + inside % WORD, size);
    return true;
}

bool sonde__loaded_read(const struct sonde__loaded *loaded, uint64_t vaddr, void *buffer,
                        size_t size)
{
    const struct sonde__loaded_area *area = find_area(loaded, vaddr);
    if (area == NULL) {
        return read_table(loaded, vaddr, buffer, size);
    }
    if (size > area->size - (vaddr - area->vaddr)) {
        return false;
    }
    memcpy(buffer, area->bytes + (vaddr - area->vaddr), size);
    return true;
}

bool sonde__loaded_word(const struct sonde__loaded *loaded, uint64_t vaddr, uint64_t *ret_word)
{
    uint8_t word[WORD];
    if (!sonde__loaded_read(loaded, vaddr, word, sizeof word)) {
        return false;
    }
    *ret_word = sonde__base_le64(word);
    return true;
}

/* Words of an area count from its first address that is a multiple of 8. */
static uint64_t first_word(const struct sonde__loaded_area *area)
{
    return (area->vaddr + WORD - 1) & ~(uint64_t)(WORD - 1);
}

bool sonde__loaded_is_pointer(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    const struct sonde__loaded_area *area = find_area(loaded, vaddr);
    uint64_t index;
    if (area == NULL || area->pointers == NULL || vaddr % WORD != 0 || vaddr < first_word(area)) {
        return false;
    }
    index = (vaddr - first_word(area)) / WORD;
    return (area->pointers[index / 64] >> (index % 64) & 1) != 0;
}

/* --- writing --- */

static bool make_copy(struct sonde__loaded *loaded, struct sonde__loaded_area *area)
{
    uint64_t words = area->size / WORD / 64 + 1;
    if (area->size > loaded->copy_left) {
        loaded_damage(loaded, "more data with pointers than the file has bytes");
        return false;
    }
    area->copy = sonde__mem_alloc((size_t)area->size);
    area->pointers = sonde__mem_alloc_zeroed((size_t)words * sizeof *area->pointers);
    if (area->copy == NULL || area->pointers == NULL) {
        sonde__mem_free(area->copy);
        sonde__mem_free(area->pointers);
        area->copy = NULL;
        area->pointers = NULL;
        loaded_damage(loaded, "no memory for a section with pointers");
        loaded->copy_left = 0;
        return false;
    }
    loaded->copy_left -= area->size;
    memcpy(area->copy, area->bytes, (size_t)area->size);
    area->bytes = area->copy;
    return true;
}

uint8_t *loaded_writable(struct sonde__loaded *loaded, uint64_t vaddr, size_t size)
{
    struct sonde__loaded_area *area = find_area(loaded, vaddr);
    if (area == NULL || size > area->size - (vaddr - area->vaddr) ||
        (area->copy == NULL && !make_copy(loaded, area))) {
        return NULL;
    }
    return area->copy + (vaddr - area->vaddr);
}

void loaded_set_pointer(struct sonde__loaded *loaded, uint64_t vaddr, uint64_t value)
{
    uint8_t *at = loaded_writable(loaded, vaddr, WORD);
    struct sonde__loaded_area *area;
    uint64_t index;
    if (at == NULL) {
        return;
    }
    sonde__base_put_le(at, value, WORD);
    area = find_area(loaded, vaddr);
    if (vaddr % WORD == 0) {
        index = (vaddr - first_word(area)) / WORD;
        area->pointers[index / 64] |= (uint64_t)1 << (index % 64);
    }
}

/* --- imports --- */

enum sonde_status loaded_import(struct sonde__loaded *loaded, const char *name, uint64_t *ret_vaddr)
{
    uint32_t hash, index;
    if (loaded->imports_at == 0 || loaded->import_count == IMPORTS_MAX) {
        loaded_damage(loaded, "no room for the names of all imports");
        return SONDE_LIMIT;
    }
    if (!charge_name(loaded, name)) {
        return SONDE_LIMIT;
    }
    hash = sonde__base_hash_fold(sonde__base_hash_text(name));
    index =
        SONDE__TABLE_FIND(&loaded->import_table, hash, i, strcmp(loaded->imports[i], name) == 0);
    if (index == SONDE__TABLE_NONE) {
        index = loaded->import_count;
        if (!sonde__mem_grow(&loaded->imports, index, &loaded->import_capacity,
                             sizeof *loaded->imports) ||
            !sonde__mem_table_add(&loaded->import_table, hash, index)) {
            return SONDE_MEMORY;
        }
        loaded->imports[loaded->import_count++] = name;
    }
    *ret_vaddr = loaded->imports_at + (uint64_t)index * SONDE__LOADED_IMPORT_BYTES;
    return SONDE_OK;
}

/* After the last possible import: 64 MiB, in reach of an aarch64 branch. */
static uint64_t table_base(const struct sonde__loaded *loaded)
{
    return loaded->imports_at + (uint64_t)IMPORTS_MAX * SONDE__LOADED_IMPORT_BYTES;
}

enum sonde_status loaded_table_word(struct sonde__loaded *loaded, uint64_t value,
                                    uint64_t *ret_vaddr)
{
    uint32_t hash = sonde__mem_hash(value), index;
    loaded->words_at = table_base(loaded);
    if (loaded->imports_at == 0 || loaded->word_count == IMPORTS_MAX) {
        return SONDE_LIMIT;
    }
    index = SONDE__TABLE_FIND(&loaded->word_table, hash, i, loaded->words[i] == value);
    if (index == SONDE__TABLE_NONE) {
        index = loaded->word_count;
        if (!sonde__mem_grow(&loaded->words, index, &loaded->word_capacity, WORD) ||
            !sonde__mem_table_add(&loaded->word_table, hash, index)) {
            return SONDE_MEMORY;
        }
        loaded->words[loaded->word_count++] = value;
    }
    *ret_vaddr = loaded->words_at + (uint64_t)index * WORD;
    return SONDE_OK;
}

/* Darwin's compilers prefix each C name with an underscore. */
static const char *plain_name(const struct sonde__loaded *loaded, const char *name)
{
    return loaded->macho && name[0] == '_' ? name + 1 : name;
}

const char *sonde__loaded_import(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    uint64_t index = (vaddr - loaded->imports_at) / SONDE__LOADED_IMPORT_BYTES;
    if (loaded->imports_at == 0 || vaddr < loaded->imports_at || index >= loaded->import_count) {
        return NULL;
    }
    return plain_name(loaded, loaded->imports[index]);
}

/* --- symbols --- */

bool loaded_add_symbol(struct sonde__loaded *loaded, uint64_t vaddr, uint64_t size,
                       const char *name)
{
    if (name[0] == '\0' || !charge_name(loaded, name)) {
        return true;
    }
    return SONDE__MEM_ADD(loaded->symbols, loaded->symbol_count, loaded->symbol_capacity,
                          (struct sonde__loaded_symbol){vaddr, size, plain_name(loaded, name)});
}

static int by_address(const void *a, const void *b)
{
    const struct sonde__loaded_symbol *x = a, *y = b;
    return x->vaddr != y->vaddr ? SONDE__ORDER(x, y, vaddr) : strcmp(x->name, y->name);
}

void loaded_end_symbols(struct sonde__loaded *loaded)
{
    if (loaded->symbol_count > 1) {
        qsort(loaded->symbols, loaded->symbol_count, sizeof *loaded->symbols, by_address);
    }
}

/* Index of the first symbol after a vaddr. */
static uint32_t symbol_after(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    return SONDE__SEARCH(0, loaded->symbol_count, i, loaded->symbols[i].vaddr <= vaddr);
}

const struct sonde__loaded_symbol *sonde__loaded_symbol_before(const struct sonde__loaded *loaded,
                                                               uint64_t vaddr)
{
    uint32_t after = symbol_after(loaded, vaddr);
    const struct sonde__loaded_symbol *symbol;
    if (after == 0) {
        return NULL;
    }
    symbol = &loaded->symbols[after - 1];
    if (symbol->vaddr != 0) { /* the first symbol at this address */
        symbol = &loaded->symbols[symbol_after(loaded, symbol->vaddr - 1)];
    }
    return find_area(loaded, symbol->vaddr) == find_area(loaded, vaddr) ? symbol : NULL;
}

const char *sonde__loaded_symbol_at(const struct sonde__loaded *loaded, uint64_t vaddr)
{
    uint32_t at = SONDE__SEARCH(0, loaded->symbol_count, i, loaded->symbols[i].vaddr < vaddr);
    return at < loaded->symbol_count && loaded->symbols[at].vaddr == vaddr
               ? loaded->symbols[at].name
               : NULL;
}

bool sonde__loaded_find(const struct sonde__loaded *loaded, const char *name, uint64_t *ret_vaddr)
{
    for (uint32_t i = 0; i < loaded->symbol_count; i++) {
        if (strcmp(loaded->symbols[i].name, name) == 0) {
            *ret_vaddr = loaded->symbols[i].vaddr;
            return true;
        }
    }
    return false;
}

void sonde__loaded_done(struct sonde__loaded *loaded)
{
    for (uint32_t i = 0; i < loaded->area_count; i++) {
        sonde__mem_free(loaded->areas[i].copy);
        sonde__mem_free(loaded->areas[i].pointers);
    }
    sonde__mem_free(loaded->areas);
    sonde__mem_free(loaded->area_of_section);
    sonde__mem_free(loaded->symbols);
    sonde__mem_free(loaded->imports);
    sonde__mem_table_done(&loaded->import_table);
    sonde__mem_free(loaded->words);
    sonde__mem_table_done(&loaded->word_table);
    *loaded = (struct sonde__loaded){0};
}
