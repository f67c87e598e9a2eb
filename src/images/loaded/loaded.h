// SPDX-License-Identifier: Apache-2.0
/* The image of a file as a loader leaves it: pointers are set, and each import has its own address.
 *
 * Programs and libraries are at their vaddrs plus `bias`. The sections of an object are laid out,
 * and its relocations are applied, in code too. A pointer to another image has an address made up
 * for the imported name: sonde__loaded_import() maps it back. So a reader can follow code through
 * stubs and address tables by memory alone. Nothing is run, and no other file is opened.
 *
 * 64-bit little-endian files only. Relocations are limited to the bytes of the file, and copies
 * by its size; `damage` says what was left out. The file's view must outlive the struct.
 * Context: any thread. */
#ifndef SONDE_LOADED_H
#define SONDE_LOADED_H

#include <sonde/status.h>

#include "image_elf.h"
#include "image_macho.h"
#include "mem_table.h"

/* What an area holds; flags. */
enum sonde__loaded_kind {
    SONDE__LOADED_CODE = 1,
    SONDE__LOADED_STRINGS = 2,   /* constants without pointers */
    SONDE__LOADED_CONSTANTS = 4, /* constants that may have pointers */
    SONDE__LOADED_DATA = 8,
};

struct sonde__loaded_area {
    char name[34]; /* of its section, for display: "__TEXT,__text", ".data.rel.ro"; cut */
    uint32_t kinds;
    uint64_t vaddr, size;
    const uint8_t *bytes; /* as loaded */
    /* of an area with pointers: the copy where they are set, and a bit for each word */
    uint8_t *copy;
    uint64_t *pointers;
};

struct sonde__loaded_symbol {
    uint64_t vaddr;
    uint64_t size; /* 0: not known */
    const char *name;
};

struct sonde__loaded {
    unsigned arch;      /* enum sonde_arch */
    bool macho, object; /* the addresses of an object are assigned here */
    bool absolute;      /* no pointer is marked: the file is linked for a fixed address */
    /* address - vaddr. An image linked at 0 is moved up, as in a process, so that small numbers
     * are not addresses. All addresses of an ELF object are assigned here. */
    uint64_t bias;
    const char *damage; /* what could not be used (static text), or null */

    struct sonde__loaded_area *areas; /* by vaddr; they do not overlap */
    uint32_t area_count;
    uint32_t *area_of_section; /* of an object; UINT32_MAX: none */
    uint32_t section_count;

    struct sonde__loaded_symbol *symbols; /* by vaddr; named, defined here */
    uint32_t symbol_count;
    size_t symbol_capacity;

    /* import i is at imports_at + i * SONDE__LOADED_IMPORT_BYTES */
    const char **imports;
    uint32_t import_count;
    size_t import_capacity;
    struct sonde__mem_table import_table;
    uint64_t imports_at;

    /* the address table of an object, which a linker would make: one word for each address */
    uint64_t *words;
    uint32_t word_count;
    size_t word_capacity;
    struct sonde__mem_table word_table;
    uint64_t words_at;

    /* budgets left: bytes to copy, bytes of areas, relocations, bytes of names. In a hostile
     * file, sections and names may share bytes many times over. */
    uint64_t copy_left, area_left, relocs_left, names_left;
};

/* No image begins below this. A multiple of all page sizes. */
#define SONDE__LOADED_BEGINS ((uint64_t)0x10000)

/* Bytes from import to import: a pointer into an import (`name` + 8) still identifies it. */
#define SONDE__LOADED_IMPORT_BYTES 64u

/* Returns OK | UNSUPPORTED (32 bit; a machine that is neither x86-64 nor aarch64) | MEMORY.
 * Ownership: release with sonde__loaded_done(). */
SONDE_NODISCARD enum sonde_status sonde__loaded_macho(const struct sonde__macho *macho,
                                                      struct sonde__loaded *ret_loaded,
                                                      struct sonde_error *ret_error);
SONDE_NODISCARD enum sonde_status sonde__loaded_elf(const struct sonde__elf *elf,
                                                    struct sonde__loaded *ret_loaded,
                                                    struct sonde_error *ret_error);
void sonde__loaded_done(struct sonde__loaded *loaded);

/* Apply the relocations of an ELF object to a section that is not loaded, so that its debug
 * information has the addresses of `loaded`.
 * elf    what `loaded` was made of
 * name   of the section; the first one with this name
 * bytes  a copy of it, inflated if it was compressed */
void sonde__loaded_relocate(struct sonde__loaded *loaded, const struct sonde__elf *elf,
                            const char *name, uint8_t *bytes, uint64_t size);

/* The area that contains an address, or null. */
const struct sonde__loaded_area *sonde__loaded_area_at(const struct sonde__loaded *loaded,
                                                       uint64_t address);
/* Copy `size` bytes from one area. False: not in one area. */
bool sonde__loaded_read(const struct sonde__loaded *loaded, uint64_t address, void *buffer,
                        size_t size);
/* Read the word at an address. False: none. */
bool sonde__loaded_word(const struct sonde__loaded *loaded, uint64_t address, uint64_t *ret_word);
/* Was a pointer set at this address? Only for aligned words. */
bool sonde__loaded_is_pointer(const struct sonde__loaded *loaded, uint64_t address);
/* The name of the import at an address, as in C (without Darwin's underscore), or null. */
const char *sonde__loaded_import(const struct sonde__loaded *loaded, uint64_t address);
/* The name of the symbol that begins at an address, as in C; null: none. */
const char *sonde__loaded_symbol_at(const struct sonde__loaded *loaded, uint64_t address);
/* The last symbol that begins at or before an address of the same area, or null. */
const struct sonde__loaded_symbol *sonde__loaded_symbol_before(const struct sonde__loaded *loaded,
                                                               uint64_t address);
/* The symbol with this name, as in C. False: none. */
bool sonde__loaded_find(const struct sonde__loaded *loaded, const char *name,
                        uint64_t *ret_address);

#endif
