// SPDX-License-Identifier: Apache-2.0
/* ELF reader over a byte view: files, the vdso, cores; 32 and 64 bit, little-endian.
 *
 * Every access is inside the view. Sources: System V gABI 4.1 chapters 4 and 5; LSB 5 §11.
 * The view must outlive the struct. Context: handler (no heap, no libc). */
#ifndef SONDE_IMAGE_ELF_H
#define SONDE_IMAGE_ELF_H

#include <sonde/status.h>

#include "base_bytes.h"
#include "image_set.h"

struct sonde__elf {
    struct sonde__bytes file;
    bool is64;
    uint16_t type;    /* ET_* */
    uint16_t machine; /* EM_* */
    uint64_t entry;
    uint64_t phoff, shoff;
    uint32_t phnum, shnum, shstrndx; /* extended numbering resolved (gABI: sh_size/sh_info of 0) */
    uint16_t phentsize, shentsize;
};

struct sonde__elf_segment {
    uint32_t type, flags; /* PT_*, PF_* */
    uint64_t offset, vaddr, filesz, memsz, align;
};

struct sonde__elf_section {
    const char *name; /* "" when unnamed or unreadable */
    uint32_t type, link, info;
    uint64_t flags, vaddr, offset, size, entsize;
    const uint8_t *data; /* null: SHT_NOBITS, or outside the view */
};

struct sonde__elf_symbol {
    const char *name; /* in the view's string table; "" when unreadable */
    uint64_t value, size;
    uint8_t type, bind, visibility; /* STT_*, STB_*, STV_* */
    uint16_t section;               /* st_shndx */
    uint32_t index;                 /* in its table */
};

/* Returns OK | UNSUPPORTED (not an ELF, big-endian, unknown class) | CORRUPT (headers cut). */
SONDE_NODISCARD enum sonde_status sonde__elf_open(const void *data, size_t size,
                                                  struct sonde__elf *ret_elf,
                                                  struct sonde_error *ret_error);

/* False: no such index, or the header lies outside the view. */
bool sonde__elf_segment(const struct sonde__elf *elf, uint32_t index,
                        struct sonde__elf_segment *ret_segment);
bool sonde__elf_section(const struct sonde__elf *elf, uint32_t index,
                        struct sonde__elf_section *ret_section);
bool sonde__elf_section_by_name(const struct sonde__elf *elf, const char *name,
                                struct sonde__elf_section *ret_section);
bool sonde__elf_section_by_type(const struct sonde__elf *elf, uint32_t type,
                                struct sonde__elf_section *ret_section);

/* Symbol `index` of a SHT_SYMTAB or SHT_DYNSYM section. */
uint32_t sonde__elf_symbol_count(const struct sonde__elf *elf,
                                 const struct sonde__elf_section *table);
bool sonde__elf_symbol(const struct sonde__elf *elf, const struct sonde__elf_section *table,
                       uint32_t index, struct sonde__elf_symbol *ret_symbol);

/* The GNU build-id from PT_NOTE, else from note sections. False: none. */
bool sonde__elf_build_id(const struct sonde__elf *elf, struct sonde__build_id *ret_id);

/* File name and CRC of .gnu_debuglink, build-id and name of .gnu_debugaltlink. */
bool sonde__elf_debuglink(const struct sonde__elf *elf, const char **ret_name, uint32_t *ret_crc);

/* The CFI sections of a file view (data pointers into the view), all in vaddr coordinates.
 * From section headers, else from PT_GNU_EH_FRAME. False: none of them. */
bool sonde__elf_cfi(const struct sonde__elf *elf, struct sonde__cfi *ret_cfi);

/* Notes (cores): calls `each` with every note of every PT_NOTE until it returns false. */
void sonde__elf_each_note(const struct sonde__elf *elf,
                          bool (*each)(void *ctx, const char *owner, uint32_t type,
                                       const uint8_t *data, size_t size),
                          void *ctx);

/* vaddr -> bytes in the view, through PT_LOAD; null when fewer than `size` are there. */
const uint8_t *sonde__elf_at_vaddr(const struct sonde__elf *elf, uint64_t vaddr, uint64_t size);

#endif
