// SPDX-License-Identifier: Apache-2.0
/* ELF reader over a byte view: files, loaded images, cores; 32 and 64 bit, little-endian.
 *
 * Every access is inside the view, and its size limits every loop: counts in a header are limited
 * to what is in the view, and `damage` reports that. A bad part is left out.
 * Sources: System V gABI 4.1 chapters 4 and 5; LSB 5 §11. The view must outlive the struct.
 * Context: handler (no heap, no libc). */
#ifndef SONDE_IMAGE_ELF_H
#define SONDE_IMAGE_ELF_H

#include <sonde/arch.h>
#include <sonde/status.h>

#include "base_bytes.h"
#include "image_elf_format.h"
#include "image_set.h"

/* The architecture (enum sonde_arch) of an EM_*. */
static inline uint8_t sonde__elf_arch(unsigned machine)
{
    return machine == SONDE__EM_X86_64    ? SONDE_ARCH_X86_64
           : machine == SONDE__EM_AARCH64 ? SONDE_ARCH_AARCH64
                                          : SONDE_ARCH_OTHER;
}

struct sonde__elf {
    struct sonde__bytes file;
    bool is64;
    bool memory;      /* a loaded image: the byte of vaddr v is at v - base */
    uint16_t type;    /* ET_* */
    uint16_t machine; /* EM_* */
    uint8_t arch;     /* enum sonde_arch, of that machine, 32-bit or not */
    uint64_t entry;
    uint64_t phoff, shoff;
    uint32_t phnum, shnum, shstrndx; /* extended numbering resolved (gABI: sh_size/sh_info of 0) */
    uint16_t phentsize, shentsize;
    const char *section_names; /* .shstrtab, cut behind its last NUL; null: none */
    uint64_t section_names_size;
    uint64_t base;      /* memory: vaddr of the view's first byte */
    uint64_t bias;      /* memory: address - vaddr */
    const char *damage; /* the unusable part of the headers (static text), or null */
    uint64_t damage_at; /* its file offset */
};

struct sonde__elf_segment {
    uint32_t type, flags; /* PT_*, PF_* */
    uint64_t offset, vaddr, filesz, memsz, align;
};

struct sonde__elf_section {
    const char *name; /* "" if unnamed or unreadable */
    uint32_t type, link, info;
    uint64_t flags, vaddr, offset, size, entsize;
    const uint8_t *data; /* null: SHT_NOBITS, or outside the view */
};

struct sonde__elf_symbol {
    const char *name; /* in the view's string table; "" if unreadable */
    uint64_t value, size;
    uint8_t type, bind, visibility; /* STT_*, STB_*, STV_* */
    uint16_t section;               /* st_shndx */
    uint32_t index;                 /* in its table */
};

/* A symbol table with its strings, resolved once. */
struct sonde__elf_symbols {
    const uint8_t *data; /* count * entsize bytes in the view */
    uint32_t count;
    uint32_t entsize;
    bool is64;
    const char *strings;
    uint64_t strings_size; /* bytes; the last one is NUL */
};

/* Open a file's bytes.
 * Returns OK | UNSUPPORTED (not an ELF, big-endian, unknown class) | CORRUPT (headers cut). */
SONDE_NODISCARD enum sonde_status sonde__elf_open(const void *data, size_t size,
                                                  struct sonde__elf *ret_elf,
                                                  struct sonde_error *ret_error);

/* Open the bytes of a loaded image: from the ELF header on, in memory layout (the vdso; an image
 * read from a process or a core).
 * bias  address - vaddr: the loader adds it to the pointers of a writable dynamic section
 * Uses section headers only if the layout is also the file's (vdso); otherwise symbols come from
 * the dynamic section and CFI from PT_GNU_EH_FRAME. Returns as sonde__elf_open(). */
SONDE_NODISCARD enum sonde_status sonde__elf_open_image(const void *data, size_t size,
                                                        uint64_t bias, struct sonde__elf *ret_elf,
                                                        struct sonde_error *ret_error);

/* False: no such index, or the header is outside of the view. */
bool sonde__elf_segment(const struct sonde__elf *elf, uint32_t index,
                        struct sonde__elf_segment *ret_segment);
bool sonde__elf_section(const struct sonde__elf *elf, uint32_t index,
                        struct sonde__elf_section *ret_section);
bool sonde__elf_section_by_name(const struct sonde__elf *elf, const char *name,
                                struct sonde__elf_section *ret_section);
bool sonde__elf_section_by_type(const struct sonde__elf *elf, uint32_t type,
                                struct sonde__elf_section *ret_section);
bool sonde__elf_segment_by_type(const struct sonde__elf *elf, uint32_t type,
                                struct sonde__elf_segment *ret_segment);

/* The header of a compressed section: SHF_COMPRESSED, or ".zdebug_" in its name. */
struct sonde__elf_compression {
    uint32_t type; /* ELFCOMPRESS_* */
    uint64_t size; /* inflated size by the header */
    const uint8_t *data;
    uint64_t data_size;
};
/* False: no data in the view, or no such header. */
bool sonde__elf_compression(const struct sonde__elf *elf, const struct sonde__elf_section *section,
                            struct sonde__elf_compression *ret_compression);

/* Find the lowest and highest vaddr of the executable PT_LOADs. False: none. */
bool sonde__elf_text_range(const struct sonde__elf *elf, uint64_t *ret_start, uint64_t *ret_end);

/* The symbols of a SHT_SYMTAB or SHT_DYNSYM section. False: no data or no strings in the view. */
bool sonde__elf_symbols(const struct sonde__elf *elf, const struct sonde__elf_section *table,
                        struct sonde__elf_symbols *ret_symbols);

/* The dynamic symbols: from SHT_DYNSYM, or without section headers from PT_DYNAMIC (with the
 * count of DT_HASH or DT_GNU_HASH). */
bool sonde__elf_dynamic_symbols(const struct sonde__elf *elf,
                                struct sonde__elf_symbols *ret_symbols);

/* Symbol `index` of a resolved table. False: no such index. */
bool sonde__elf_symbols_at(const struct sonde__elf_symbols *symbols, uint32_t index,
                           struct sonde__elf_symbol *ret_symbol);

/* Symbol `index` of a SHT_SYMTAB or SHT_DYNSYM section; for many, resolve the table once. */
uint32_t sonde__elf_symbol_count(const struct sonde__elf *elf,
                                 const struct sonde__elf_section *table);
bool sonde__elf_symbol(const struct sonde__elf *elf, const struct sonde__elf_section *table,
                       uint32_t index, struct sonde__elf_symbol *ret_symbol);

/* The value of a dynamic tag (DT_*), unchanged. False: no dynamic section, or no such tag. */
bool sonde__elf_dynamic_tag(const struct sonde__elf *elf, uint64_t tag, uint64_t *ret_value);

/* The GNU build-id from PT_NOTE, else from note sections. False: none. */
bool sonde__elf_build_id(const struct sonde__elf *elf, struct sonde__build_id *ret_id);

/* File name and CRC of .gnu_debuglink. */
bool sonde__elf_debuglink(const struct sonde__elf *elf, const char **ret_name, uint32_t *ret_crc);

/* Name and build-id of .gnu_debugaltlink. */
bool sonde__elf_debugaltlink(const struct sonde__elf *elf, const char **ret_name,
                             struct sonde__build_id *ret_id);

/* Find the CFI sections of the view (data pointers into it), all in vaddr coordinates, from
 * section headers, else from PT_GNU_EH_FRAME. False: none. */
bool sonde__elf_cfi(const struct sonde__elf *elf, struct sonde__cfi *ret_cfi);

/* Call `each` with every note of the PT_NOTEs until it returns false. owner: "" if not a string. */
void sonde__elf_each_note(const struct sonde__elf *elf,
                          bool (*each)(void *ctx, const char *owner, uint32_t type,
                                       const uint8_t *data, size_t size),
                          void *ctx);

/* The bytes at a vaddr, through PT_LOAD; null: fewer than `size`. */
const uint8_t *sonde__elf_at_vaddr(const struct sonde__elf *elf, uint64_t vaddr, uint64_t size);

/* The bytes at a vaddr; null: none. *ret_left: how many follow to the end of the segment's data. */
const uint8_t *sonde__elf_from_vaddr(const struct sonde__elf *elf, uint64_t vaddr,
                                     uint64_t *ret_left);

#endif
