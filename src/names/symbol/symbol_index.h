// SPDX-License-Identifier: Apache-2.0
/* Function names of one image: a sorted index with page buckets.
 *
 * Built once in normal context from one or two ELF views (the image itself and its separate debug
 * file), into one heap block; names stay in the views (zero copy), which must outlive it. Merged by
 * priority: .symtab > .dynsym > PLT relocations > FDE starts. Symbols of size 0 extend to the next
 * start, but not beyond a section's or FDE's end. A gap has no name. Where sized symbols overlap,
 * the one that starts last wins.
 *
 * Preference among names of one address: functions over untyped labels, exported names over local
 * ones, names without a version suffix, fewest leading underscores, global over weak, the shortest,
 * the first in byte order. So the name is `read`, not __GI___libc_read.
 *
 * Look-up: no lock, no heap; context handler. */
#ifndef SONDE_SYMBOL_INDEX_H
#define SONDE_SYMBOL_INDEX_H

#include <sonde/status.h>

#include "image_elf.h"
#include "symbol_answer.h"

enum sonde__symbol_source {
    SONDE__SYMBOL_SYMTAB,
    SONDE__SYMBOL_DYNSYM,
    SONDE__SYMBOL_PLT, /* the name is the target's; shown with "@plt" */
    SONDE__SYMBOL_FDE, /* no name, only a function's bounds */
};

struct sonde__symbol {
    const char *name; /* as in the file (mangled); "" for FDE. It has a version suffix ("@@V") only
                       * if the address has no plain name. */
    uint64_t start;   /* vaddr */
    uint64_t end;     /* vaddr, exclusive */
    uint8_t source;   /* enum sonde__symbol_source */
    uint32_t aliases; /* number of other names of the address */
};

struct sonde__symbol_index;

/* elf    the image's own file or memory view
 * debug  its separate debug file (same build-id, checked by the caller), or null
 *
 * Returns OK | MEMORY | CORRUPT (no executable code) | UNSUPPORTED (more than 4 GiB between its
 * first and last byte of code) | LIMIT (more than 2^26 symbols in one table). A bad table is
 * ignored. Ownership: destroy it. */
SONDE_NODISCARD enum sonde_status sonde__symbol_index_create(const struct sonde__elf *elf,
                                                             const struct sonde__elf *debug,
                                                             struct sonde__symbol_index **ret_index,
                                                             struct sonde_error *ret_error);
/* The same of a Mach-O and its dSYM, or null, with the names of symbol_macho_names.h. Returns as
 * above. */
struct sonde__macho;
SONDE_NODISCARD enum sonde_status
sonde__symbol_index_create_macho(const struct sonde__macho *macho, const struct sonde__macho *debug,
                                 struct sonde__symbol_index **ret_index,
                                 struct sonde_error *ret_error);
void sonde__symbol_index_destroy(struct sonde__symbol_index *index);

/* The function at `vaddr`. False: none known. */
bool sonde__symbol_find(const struct sonde__symbol_index *index, uint64_t vaddr,
                        struct sonde__symbol *ret_symbol);

/* The same for an answer; without a symbol all fields are unknown. index may be null. */
void sonde__symbol_function(const struct sonde__symbol_index *index, uint64_t vaddr,
                            struct sonde__function *ret_function);

/* False for mapping symbols of ARM, AArch64 and RISC-V ($x, $d, $a, $t, with .suffix) and labels
 * that are local to the assembler. */
bool sonde__symbol_may_be_function(const char *name);

/* Number of functions: distinct starts with a name, PLT stubs included. */
uint32_t sonde__symbol_count(const struct sonde__symbol_index *index);
/* Heap bytes of the index. */
size_t sonde__symbol_index_bytes(const struct sonde__symbol_index *index);

#endif
