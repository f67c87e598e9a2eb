// SPDX-License-Identifier: Apache-2.0
/* Mach-O reader over a byte view: executables, libraries, objects, dSYM files; 32 and 64 bit,
 * little-endian; also universal files and static archives that contain them.
 *
 * Every access is inside the view, and its size limits every loop: counts in a load command are
 * limited to what is in the view, and `damage` reports that. A bad part is left out. The view
 * must outlive the struct. Sources: image_macho_format.h. Context: handler (no heap, no libc).
 * The iterators are some KiB large: not for small stacks. */
#ifndef SONDE_IMAGE_MACHO_H
#define SONDE_IMAGE_MACHO_H

#include <sonde/arch.h>
#include <sonde/status.h>

#include "base_bytes.h"
#include "image_macho_format.h"
#include "image_set.h"

/* Programs have four to ten; more are left out, and `damage` says so. */
#define SONDE__MACHO_SEGMENTS_MAX 32u

struct sonde__macho_segment {
    char name[17]; /* NUL-terminated; "" in objects, which have one segment */
    uint32_t protection;
    uint32_t first_section, section_count; /* sections are numbered from 0 over all segments */
    uint64_t sections_at;                  /* offset of their headers in the view */
    uint64_t vaddr, vmsize, offset, filesize;
};

/* A part of the view that a load command names. */
struct sonde__macho_part {
    uint32_t offset, size; /* 0: none */
};

struct sonde__macho {
    struct sonde__bytes file;
    bool is64;
    uint32_t cpu, subtype; /* CPU_*; subtype without capabilities */
    uint32_t type;         /* MH_* */
    uint8_t arch;          /* enum sonde_arch, of the cpu */
    uint64_t commands_at;
    uint32_t command_count; /* in the view */
    uint32_t segment_count, section_count;
    struct sonde__macho_segment segments[SONDE__MACHO_SEGMENTS_MAX];
    uint64_t base; /* vaddr of the image's header, which is that of __TEXT; 0 in objects */
    struct sonde__build_id uuid;
    uint32_t symbols_at, symbol_count, strings_at, strings_size;
    uint32_t indirect_at, indirect_count;
    struct sonde__macho_part starts, exports, chains, data_in_code;
    struct sonde__macho_part rebases, binds, weak_binds, lazy_binds;
    struct sonde__macho_part encrypted; /* bytes of the file that only the device can read */
    const char *damage; /* the unusable part of the headers (static text), or null */
    uint64_t damage_at; /* its file offset */
};

struct sonde__macho_section {
    char name[17], segment[17]; /* as in the file: at most 16 characters */
    uint64_t vaddr, size;
    uint32_t flags;                /* S_* */
    uint32_t reserved1, reserved2; /* stubs: first indirect symbol, bytes of a stub */
    uint32_t relocs_at, reloc_count;
    const uint8_t *data; /* null: no bytes in the file, encrypted, or outside the view */
};

struct sonde__macho_symbol {
    const char *name; /* in the view's strings, with its leading underscore; "" if unreadable */
    uint64_t value;
    uint8_t type;    /* n_type */
    uint8_t section; /* n_sect: counts from 1; 0: none */
    uint16_t desc;   /* n_desc */
    uint32_t index;
};

struct sonde__macho_symbols {
    const uint8_t *data;
    uint32_t count;
    bool is64;
    const char *strings; /* the last byte is NUL */
    uint64_t strings_size;
};

/* --- containers --- */

/* A Mach-O in a file: the file itself, a slice, an archive's member. */
struct sonde__macho_member {
    const uint8_t *data;
    size_t size;
    const char *name; /* of an archive's member; not NUL-terminated */
    size_t name_size;
    uint32_t cpu, subtype; /* by the slice's entry; 0 elsewhere */
};

/* Is it a Mach-O, a universal file or an archive? Reads only the first bytes. */
bool sonde__macho_begins(const void *data, size_t size);

/* Call `each` with every Mach-O in a file until it returns false: thin, universal, archives, and
 * archives in universal files. Other members (the archive's index) are left out.
 * Returns OK | UNSUPPORTED (neither of these; a thin archive) | CORRUPT (the container is cut:
 * what came before was given). */
SONDE_NODISCARD enum sonde_status
sonde__macho_each(const void *data, size_t size,
                  bool (*each)(void *ctx, const struct sonde__macho_member *member), void *ctx,
                  struct sonde_error *ret_error);

/* The same for a static archive with members of any kind, including its index. Only for a file
 * for which sonde__archive_begins() is true. Returns OK | CORRUPT (as above). */
bool sonde__archive_begins(const void *data, size_t size);
SONDE_NODISCARD enum sonde_status
sonde__archive_each(const void *data, size_t size,
                    bool (*each)(void *ctx, const struct sonde__macho_member *member), void *ctx,
                    struct sonde_error *ret_error);

/* "arm64", "x86_64", "armv7", ..., or "another machine". */
const char *sonde__macho_arch_name(uint32_t cpu, uint32_t subtype);

/* --- headers --- */

/* Open one Mach-O's bytes.
 * Returns OK | UNSUPPORTED (not a Mach-O, big-endian, a container) | CORRUPT (header cut). */
SONDE_NODISCARD enum sonde_status sonde__macho_open(const void *data, size_t size,
                                                    struct sonde__macho *ret_macho,
                                                    struct sonde_error *ret_error);

/* Find section `index`, from 0 on. False: none. */
bool sonde__macho_section(const struct sonde__macho *macho, uint32_t index,
                          struct sonde__macho_section *ret_section);
/* Find a section by both names. Of longer names, the first 16 characters count. Of several
 * sections, finds one with data. */
bool sonde__macho_section_by_name(const struct sonde__macho *macho, const char *segment,
                                  const char *name, struct sonde__macho_section *ret_section);

/* Find the lowest and highest vaddr of code, from the image's header on. False: no code. */
bool sonde__macho_text_range(const struct sonde__macho *macho, uint64_t *ret_start,
                             uint64_t *ret_end);

/* The bytes at a vaddr; null: none. *ret_left: how many follow to the end of the segment's data. */
const uint8_t *sonde__macho_from_vaddr(const struct sonde__macho *macho, uint64_t vaddr,
                                       uint64_t *ret_left);
/* The bytes at a vaddr; null: fewer than `size`. */
const uint8_t *sonde__macho_at_vaddr(const struct sonde__macho *macho, uint64_t vaddr,
                                     uint64_t size);

/* --- symbols, functions, stubs --- */

/* False: no symbols or no strings in the view. */
bool sonde__macho_symbols(const struct sonde__macho *macho,
                          struct sonde__macho_symbols *ret_symbols);
bool sonde__macho_symbols_at(const struct sonde__macho_symbols *symbols, uint32_t index,
                             struct sonde__macho_symbol *ret_symbol);

/* Does the symbol name code? It must not be a debugging entry (stab) or an assembler's label,
 * and must be in a section of instructions, which is *ret_section. */
bool sonde__macho_is_function(const struct sonde__macho *macho,
                              const struct sonde__macho_symbol *symbol,
                              struct sonde__macho_section *ret_section);

/* The starts of functions, ascending (LC_FUNCTION_STARTS). */
struct sonde__macho_starts {
    struct sonde__bytes at;
    uint64_t vaddr;
    bool is_arm; /* bit 0 marks Thumb code */
    bool began;
};
void sonde__macho_starts_begin(const struct sonde__macho *macho,
                               struct sonde__macho_starts *ret_starts);
bool sonde__macho_starts_next(struct sonde__macho_starts *starts, uint64_t *ret_vaddr);

/* Entry `index` of the data between instructions (tables of jumps). False: none. */
bool sonde__macho_data_in_code(const struct sonde__macho *macho, uint32_t index,
                               uint64_t *ret_vaddr, uint32_t *ret_size);

/* Find the symbol of entry `index` of a section of stubs or symbol pointers. False: none, or
 * local. */
bool sonde__macho_indirect(const struct sonde__macho *macho,
                           const struct sonde__macho_symbols *symbols,
                           const struct sonde__macho_section *section, uint32_t index,
                           struct sonde__macho_symbol *ret_symbol);
/* Bytes of an entry of such a section; 0: not a section of stubs or symbol pointers. */
uint32_t sonde__macho_indirect_bytes(const struct sonde__macho *macho,
                                     const struct sonde__macho_section *section);

/* --- exports --- */

/* Longer names are left out; the longest seen has 3 KiB. The depth is that of branching names. */
#define SONDE__MACHO_EXPORT_NAME_MAX  16384u
#define SONDE__MACHO_EXPORT_DEPTH_MAX 256u

struct sonde__macho_export {
    const char *name; /* valid until the next step */
    uint64_t flags;   /* EXPORT_* */
    uint64_t vaddr;   /* 0 for re-exports; of a stub and resolver: the stub's */
};

/* The exports trie, in its own order of names. */
struct sonde__macho_exports {
    struct sonde__bytes trie;
    uint64_t base;
    uint64_t work_left; /* bytes of edges that may still be read */
    uint32_t depth;
    bool began;
    bool damaged; /* something was left out */
    struct {
        uint32_t at;   /* of the next child */
        uint32_t name; /* its parent's length */
        uint32_t left; /* children */
    } levels[SONDE__MACHO_EXPORT_DEPTH_MAX];
    char name[SONDE__MACHO_EXPORT_NAME_MAX];
};
void sonde__macho_exports_begin(const struct sonde__macho *macho,
                                struct sonde__macho_exports *ret_exports);
bool sonde__macho_exports_next(struct sonde__macho_exports *exports,
                               struct sonde__macho_export *ret_export);

/* --- pointers in data --- */

/* A pointer at `vaddr` as the loader sets it; its bytes in the file are encoded. */
struct sonde__macho_fixup {
    uint64_t vaddr;
    uint64_t target;    /* vaddr that it points to; 0 for an import */
    const char *import; /* name of the import from another image, or null */
    int64_t addend;     /* of an import */
    int32_t ordinal;    /* of the import's library; <= 0: this image, any, the main program */
    bool weak;          /* may be missing */
    bool lazy;          /* bound when it is first called; until then it is also a rebase */
    bool authenticated; /* signed when loaded (arm64e), with: */
    uint8_t key;        /* 0: IA, 1: IB, 2: DA, 3: DB */
    bool is_blended;    /* its own address is a part of the modifier */
    uint16_t diversity; /* the rest of it */
};

/* Call `each` with every pointer until it returns false: chained fixups, else the opcodes of
 * LC_DYLD_INFO; in objects the relocations of pointers. An address may come twice (weak binds).
 * Returns null, or what could not be read (static text; the rest was given). */
const char *sonde__macho_each_fixup(const struct sonde__macho *macho,
                                    bool (*each)(void *ctx, const struct sonde__macho_fixup *fixup),
                                    void *ctx);

#endif
