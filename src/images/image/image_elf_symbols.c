// SPDX-License-Identifier: Apache-2.0
/* Symbol tables of an ELF, from section headers, or without these (loaded images, stripped
 * headers) from the dynamic section. Invariant of a resolved table: all entries are inside the
 * view, and the strings end in a NUL, so an entry costs one bounds check. Context: handler. */
#include "base_mem.h"
#include "image_elf.h"

/* Resolve a table of `size` bytes at `data` with strings of `strings_size` bytes. */
static bool resolve(const struct sonde__elf *elf, const uint8_t *data, uint64_t size,
                    uint64_t entsize, const uint8_t *strings, uint64_t strings_size,
                    struct sonde__elf_symbols *ret_symbols)
{
    unsigned least = elf->is64 ? SONDE__ELF_SYM64_BYTES : SONDE__ELF_SYM32_BYTES;
    uint64_t count;
    if (entsize == 0) {
        entsize = least;
    }
    if (data == NULL || strings == NULL || entsize < least || entsize > UINT32_MAX) {
        return false;
    }
    while (strings_size > 0 && strings[strings_size - 1] != 0) {
        strings_size--;
    }
    if (strings_size == 0) {
        return false; /* no name at all: nothing to read */
    }
    count = size / entsize;
    if (count > UINT32_MAX - 1) {
        count = UINT32_MAX - 1;
    }
    ret_symbols->data = data;
    ret_symbols->count = (uint32_t)count;
    ret_symbols->entsize = (uint32_t)entsize;
    ret_symbols->is64 = elf->is64;
    ret_symbols->strings = (const char *)strings;
    ret_symbols->strings_size = strings_size;
    return true;
}

bool sonde__elf_symbols(const struct sonde__elf *elf, const struct sonde__elf_section *table,
                        struct sonde__elf_symbols *ret_symbols)
{
    struct sonde__elf_section strings;
    if (table->type != SONDE__SHT_SYMTAB && table->type != SONDE__SHT_DYNSYM) {
        return false;
    }
    if (((table->flags & SONDE__SHF_COMPRESSED) != 0) ||
        !sonde__elf_section(elf, table->link, &strings) || strings.type != SONDE__SHT_STRTAB ||
        (strings.flags & SONDE__SHF_COMPRESSED) != 0) {
        return false;
    }
    return resolve(elf, table->data, table->size, table->entsize, strings.data, strings.size,
                   ret_symbols);
}

/* The dynamic section's bytes. */
static bool find_dynamic(const struct sonde__elf *elf, struct sonde__bytes *ret_bytes)
{
    struct sonde__elf_segment segment;
    const uint8_t *data;
    uint64_t left = 0;
    if (!sonde__elf_segment_by_type(elf, SONDE__PT_DYNAMIC, &segment)) {
        return false;
    }
    data = sonde__elf_from_vaddr(elf, segment.vaddr, &left);
    if (data == NULL) {
        return false;
    }
    sonde__base_bytes_init(ret_bytes, data,
                           (size_t)(segment.filesz < left ? segment.filesz : left));
    return true;
}

bool sonde__elf_dynamic_tag(const struct sonde__elf *elf, uint64_t tag, uint64_t *ret_value)
{
    struct sonde__bytes b;
    unsigned word = elf->is64 ? 8 : 4;
    if (!find_dynamic(elf, &b)) {
        return false;
    }
    while (sonde__base_bytes_left(&b) >= (size_t)2 * word) {
        uint64_t found = sonde__base_bytes_uint(&b, word);
        uint64_t value = sonde__base_bytes_uint(&b, word);
        if (found == SONDE__DT_NULL) {
            break;
        }
        if (found == tag) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* The bytes that a pointer of the dynamic section refers to. In a loaded image, the loader may
 * have made it an address (glibc, if the section is writable) or left it a vaddr (musl, vdso). */
static const uint8_t *follow_dynamic(const struct sonde__elf *elf, uint64_t tag, uint64_t *ret_left)
{
    const uint8_t *data = NULL;
    uint64_t pointer;
    if (!sonde__elf_dynamic_tag(elf, tag, &pointer)) {
        return NULL;
    }
    if (elf->memory) {
        data = sonde__elf_from_vaddr(elf, pointer - elf->bias, ret_left);
    }
    return data != NULL ? data : sonde__elf_from_vaddr(elf, pointer, ret_left);
}

/* gABI 4.1 "Hash Table": nbucket, nchain, ...; nchain is the number of symbols. */
static bool count_by_hash(const struct sonde__elf *elf, uint64_t *ret_count)
{
    struct sonde__bytes b;
    uint64_t left = 0;
    const uint8_t *data = follow_dynamic(elf, SONDE__DT_HASH, &left);
    if (data == NULL || left < 8) {
        return false;
    }
    sonde__base_bytes_init(&b, data, (size_t)left);
    sonde__base_bytes_u32(&b);
    *ret_count = sonde__base_bytes_u32(&b);
    return true;
}

/* The GNU hash table has no count: the last symbol ends the chain of the highest bucket. Layout:
 * nbuckets, symoffset, bloom_size, bloom_shift, bloom words, buckets, chains. */
static bool count_by_gnu_hash(const struct sonde__elf *elf, uint64_t *ret_count)
{
    struct sonde__bytes b;
    uint64_t left = 0;
    uint32_t bucket_count, first, bloom_count, last = 0;
    const uint8_t *data = follow_dynamic(elf, SONDE__DT_GNU_HASH, &left);
    if (data == NULL) {
        return false;
    }
    sonde__base_bytes_init(&b, data, (size_t)left);
    bucket_count = sonde__base_bytes_u32(&b);
    first = sonde__base_bytes_u32(&b);
    bloom_count = sonde__base_bytes_u32(&b);
    sonde__base_bytes_u32(&b);
    sonde__base_bytes_take(&b, (uint64_t)bloom_count * (elf->is64 ? 8 : 4));
    if (!sonde__base_bytes_need(&b, (uint64_t)bucket_count * 4)) {
        return false;
    }
    for (uint32_t i = 0; i < bucket_count; i++) {
        uint32_t bucket = sonde__base_bytes_u32(&b);
        last = bucket > last ? bucket : last;
    }
    if (last < first) {
        *ret_count = first; /* nothing exported */
        return true;
    }
    sonde__base_bytes_take(&b, (uint64_t)(last - first) * 4);
    while ((sonde__base_bytes_u32(&b) & 1) == 0 && !b.failed) {
        last++;
    }
    *ret_count = (uint64_t)last + 1;
    return !b.failed;
}

bool sonde__elf_dynamic_symbols(const struct sonde__elf *elf,
                                struct sonde__elf_symbols *ret_symbols)
{
    struct sonde__elf_section table;
    uint64_t left = 0, strings_left = 0, strings_size = 0, entsize = 0, count = 0;
    const uint8_t *data, *strings;
    if (sonde__elf_section_by_type(elf, SONDE__SHT_DYNSYM, &table) &&
        sonde__elf_symbols(elf, &table, ret_symbols)) {
        return true;
    }
    data = follow_dynamic(elf, SONDE__DT_SYMTAB, &left);
    strings = follow_dynamic(elf, SONDE__DT_STRTAB, &strings_left);
    if (data == NULL || strings == NULL ||
        (!count_by_hash(elf, &count) && !count_by_gnu_hash(elf, &count))) {
        return false;
    }
    if (!sonde__elf_dynamic_tag(elf, SONDE__DT_SYMENT, &entsize) || entsize == 0) {
        entsize = elf->is64 ? SONDE__ELF_SYM64_BYTES : SONDE__ELF_SYM32_BYTES;
    }
    if (sonde__elf_dynamic_tag(elf, SONDE__DT_STRSZ, &strings_size) &&
        strings_size < strings_left) {
        strings_left = strings_size;
    }
    if (count > left / entsize) {
        count = left / entsize;
    }
    return resolve(elf, data, count * entsize, entsize, strings, strings_left, ret_symbols);
}

bool sonde__elf_symbols_at(const struct sonde__elf_symbols *symbols, uint32_t index,
                           struct sonde__elf_symbol *ret_symbol)
{
    struct sonde__bytes b;
    uint32_t name;
    uint8_t info, other;
    if (index >= symbols->count) {
        return false;
    }
    sonde__base_bytes_init(&b, symbols->data + (uint64_t)index * symbols->entsize,
                           symbols->entsize);
    name = sonde__base_bytes_u32(&b);
    if (symbols->is64) {
        info = sonde__base_bytes_u8(&b);
        other = sonde__base_bytes_u8(&b);
        ret_symbol->section = sonde__base_bytes_u16(&b);
        ret_symbol->value = sonde__base_bytes_u64(&b);
        ret_symbol->size = sonde__base_bytes_u64(&b);
    } else {
        ret_symbol->value = sonde__base_bytes_u32(&b);
        ret_symbol->size = sonde__base_bytes_u32(&b);
        info = sonde__base_bytes_u8(&b);
        other = sonde__base_bytes_u8(&b);
        ret_symbol->section = sonde__base_bytes_u16(&b);
    }
    ret_symbol->name = name < symbols->strings_size ? symbols->strings + name : "";
    ret_symbol->type = info & 15;
    ret_symbol->bind = info >> 4;
    ret_symbol->visibility = other & 3;
    ret_symbol->index = index;
    return true;
}

uint32_t sonde__elf_symbol_count(const struct sonde__elf *elf,
                                 const struct sonde__elf_section *table)
{
    struct sonde__elf_symbols symbols;
    return sonde__elf_symbols(elf, table, &symbols) ? symbols.count : 0;
}

bool sonde__elf_symbol(const struct sonde__elf *elf, const struct sonde__elf_section *table,
                       uint32_t index, struct sonde__elf_symbol *ret_symbol)
{
    struct sonde__elf_symbols symbols;
    return sonde__elf_symbols(elf, table, &symbols) &&
           sonde__elf_symbols_at(&symbols, index, ret_symbol);
}
