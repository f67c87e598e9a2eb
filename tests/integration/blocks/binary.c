// SPDX-License-Identifier: Apache-2.0
#include "binary.h"

#include <stdlib.h>
#include <string.h>

#include "arch_regs.h"
#include "image_elf.h"
#include "image_macho.h"
#include "test.h"

#define IMPORTS ((uint64_t)0x7f0000000000)
enum { MOST = 1 << 16 };

static void add_fixup(struct binary *b, uint64_t address, uint64_t value)
{
    CHECK(b->fixup_count < MOST);
    b->fixups[b->fixup_count].address = address;
    b->values[b->fixup_count++] = value;
}

static void add_symbol(struct binary *b, uint64_t address, const char *name)
{
    CHECK(b->symbol_count < MOST);
    b->symbols[b->symbol_count].address = address;
    b->symbols[b->symbol_count++].name = name;
}

/* One address for all uses of an import. */
static uint64_t import(struct binary *b, const char *name)
{
    for (size_t i = 0; i < b->symbol_count; i++) {
        if (b->symbols[i].address >= IMPORTS && strcmp(b->symbols[i].name, name) == 0) {
            return b->symbols[i].address;
        }
    }
    char *copy = strdup(name);
    CHECK(copy != NULL);
    add_symbol(b, IMPORTS + 64 * ++b->import_count, copy);
    return IMPORTS + 64 * b->import_count;
}

/* --- ELF --- */

static void open_elf_fixups(struct binary *b, const struct sonde__elf *elf)
{
    struct sonde__elf_symbols dynamic;
    CHECK(sonde__elf_dynamic_symbols(elf, &dynamic));
    for (uint32_t i = 0; i < elf->shnum; i++) {
        struct sonde__elf_section section;
        struct sonde__bytes at;
        if (!sonde__elf_section(elf, i, &section) || section.type != SONDE__SHT_RELA ||
            section.vaddr == 0) {
            continue;
        }
        sonde__base_bytes_init(&at, section.data, section.size);
        while (sonde__base_bytes_left(&at) >= SONDE__ELF_RELA64_BYTES) {
            uint64_t where = sonde__base_bytes_u64(&at), info = sonde__base_bytes_u64(&at);
            uint64_t addend = sonde__base_bytes_u64(&at);
            uint32_t type = (uint32_t)info;
            struct sonde__elf_symbol symbol;
            if (type == 8 || type == 1027) { /* R_*_RELATIVE */
                add_fixup(b, where, addend);
            } else if (sonde__elf_symbols_at(&dynamic, (uint32_t)(info >> 32), &symbol)) {
                uint64_t value = symbol.section != 0 ? symbol.value : import(b, symbol.name);
                add_fixup(b, where, value + addend);
            }
        }
    }
}

static void open_elf(struct binary *b)
{
    struct sonde__elf *elf = calloc(1, sizeof *elf);
    struct sonde__elf_section table;
    struct sonde__elf_symbols symbols;
    CHECK(elf != NULL);
    b->image = elf;
    CHECK_OK(sonde__elf_open(b->data, b->size, elf, NULL));
    b->memory.arch = elf->machine == 62 ? SONDE_ARCH_X86_64 : SONDE_ARCH_AARCH64;
    CHECK(sonde__elf_section_by_name(elf, ".symtab", &table));
    CHECK(sonde__elf_symbols(elf, &table, &symbols));
    for (uint32_t i = 0; i < symbols.count; i++) {
        struct sonde__elf_symbol symbol;
        if (sonde__elf_symbols_at(&symbols, i, &symbol) && symbol.section != 0 &&
            (symbol.type == 1 || symbol.type == 2)) {
            add_symbol(b, symbol.value, symbol.name);
        }
    }
    open_elf_fixups(b, elf);
}

/* --- Mach-O --- */

static bool add_macho_fixup(void *ctx, const struct sonde__macho_fixup *fixup)
{
    struct binary *b = ctx;
    add_fixup(b, fixup->vaddr,
              fixup->import != NULL ? import(b, fixup->import) + (uint64_t)fixup->addend
                                    : fixup->target);
    return true;
}

static void open_macho(struct binary *b)
{
    struct sonde__macho *macho = calloc(1, sizeof *macho);
    struct sonde__macho_symbols symbols;
    CHECK(macho != NULL);
    b->image = macho;
    b->is_macho = true;
    CHECK_OK(sonde__macho_open(b->data, b->size, macho, NULL));
    b->memory.arch = (macho->cpu & 0xff) == 7 ? SONDE_ARCH_X86_64 : SONDE_ARCH_AARCH64;
    CHECK(sonde__macho_symbols(macho, &symbols));
    for (uint32_t i = 0; i < symbols.count; i++) {
        struct sonde__macho_symbol symbol;
        if (sonde__macho_symbols_at(&symbols, i, &symbol) && (symbol.type & 0xe0) == 0 &&
            symbol.section != 0) {
            add_symbol(b, symbol.value, symbol.name);
        }
    }
    CHECK(sonde__macho_each_fixup(macho, add_macho_fixup, b) == NULL);
}

/* --- memory --- */

static int by_address(const void *a, const void *b)
{
    const struct binary_symbol *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static bool read_binary(void *ctx, uint64_t address, void *buffer, size_t size)
{
    struct binary *b = ctx;
    uint64_t left;
    const uint8_t *from = b->is_macho ? sonde__macho_from_vaddr(b->image, address, &left)
                                      : sonde__elf_from_vaddr(b->image, address, &left);
    size_t low = 0, high = b->fixup_count;
    if (from == NULL || left < size) {
        return false;
    }
    memcpy(buffer, from, size);
    while (low < high) { /* the first one that may overlap */
        size_t middle = low + (high - low) / 2;
        if (b->fixups[middle].address + 8 <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < b->fixup_count && b->fixups[low].address < address + size; low++) {
        uint64_t value = b->values[(size_t)(b->fixups[low].name - b->data)];
        for (unsigned i = 0; i < 8; i++) {
            uint64_t at = b->fixups[low].address + i - address;
            if (at < size) {
                ((uint8_t *)buffer)[at] = (uint8_t)(value >> 8 * i);
            }
        }
    }
    return true;
}

static const char *name_of(void *ctx, uint64_t address)
{
    struct binary *b = ctx;
    struct binary_symbol key = {.address = address};
    struct binary_symbol *found =
        bsearch(&key, b->symbols, b->symbol_count, sizeof *b->symbols, by_address);
    return found != NULL ? found->name : NULL;
}

void binary_open(struct binary *b, const char *path)
{
    memset(b, 0, sizeof *b);
    b->data = test_read_file(path, &b->size);
    b->fixups = calloc(MOST, sizeof *b->fixups);
    b->values = calloc(MOST, sizeof *b->values);
    b->symbols = calloc(MOST, sizeof *b->symbols);
    CHECK(b->fixups != NULL && b->values != NULL && b->symbols != NULL);
    if (sonde__macho_begins(b->data, b->size)) {
        open_macho(b);
    } else {
        open_elf(b);
    }
    for (size_t i = 0; i < b->fixup_count; i++) { /* its value is found again when it is sorted */
        b->fixups[i].name = b->data + i;
    }
    qsort(b->fixups, b->fixup_count, sizeof *b->fixups, by_address);
    qsort(b->symbols, b->symbol_count, sizeof *b->symbols, by_address);
    b->memory.read = read_binary;
    b->memory.name = name_of;
    b->memory.ctx = b;
}

void binary_done(struct binary *b)
{
    for (size_t i = 0; i < b->symbol_count; i++) {
        if (b->symbols[i].address >= IMPORTS) {
            free((char *)b->symbols[i].name);
        }
    }
    free(b->symbols);
    free(b->fixups);
    free(b->values);
    free(b->image);
    free(b->data);
}
