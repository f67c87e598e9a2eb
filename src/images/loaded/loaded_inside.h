// SPDX-License-Identifier: Apache-2.0
/* Shared by the files of this folder. Context: any thread. */
#ifndef SONDE_LOADED_INSIDE_H
#define SONDE_LOADED_INSIDE_H

#include "base_bytes.h"
#include "loaded.h"

static inline void loaded_damage(struct sonde__loaded *loaded, const char *what)
{
    if (loaded->damage == NULL) {
        loaded->damage = what;
    }
}

/* Set the budgets by the size of the file. Call this first. */
void loaded_limit(struct sonde__loaded *loaded, uint64_t file_size);
/* Charge a relocation to the budget. False: more than the file has room for. */
bool loaded_charge(struct sonde__loaded *loaded);

/* Add an area, in any order. Areas of size 0 are left out. False: out of memory. */
bool loaded_add_area(struct sonde__loaded *loaded, size_t *capacity,
                     const struct sonde__loaded_area *area);
/* After the last area: sort, drop overlapping ones, choose the address of imports. */
void loaded_end_areas(struct sonde__loaded *loaded);

/* Add a symbol. False: out of memory. */
bool loaded_add_symbol(struct sonde__loaded *loaded, uint64_t vaddr, uint64_t size,
                       const char *name);
void loaded_end_symbols(struct sonde__loaded *loaded);

/* Find or add the import with this name. The name must live as long as the file's view. */
SONDE_NODISCARD enum sonde_status loaded_import(struct sonde__loaded *loaded, const char *name,
                                                uint64_t *ret_vaddr);
/* Find or add the word of the address table that holds `value`. */
SONDE_NODISCARD enum sonde_status loaded_table_word(struct sonde__loaded *loaded, uint64_t value,
                                                    uint64_t *ret_vaddr);

/* Get `size` writable bytes at a vaddr, in the copy of the area. Null: not in one area, or the
 * copy budget is used up (`damage` says so). */
uint8_t *loaded_writable(struct sonde__loaded *loaded, uint64_t vaddr, size_t size);
/* Set a pointer, and mark it. */
void loaded_set_pointer(struct sonde__loaded *loaded, uint64_t vaddr, uint64_t value);

/* --- loaded_code.c: addresses in instructions --- */

enum loaded_patch {
    LOADED_PATCH_NONE,
    LOADED_PATCH_BRANCH26,   /* b, bl */
    LOADED_PATCH_BRANCH19,   /* b.cond, cbz */
    LOADED_PATCH_BRANCH14,   /* tbz */
    LOADED_PATCH_PAGE,       /* adrp */
    LOADED_PATCH_NEAR,       /* adr */
    LOADED_PATCH_PAGE_OFFSET /* add, ldr, str: scaled as the instruction needs */
};
/* Patch the instruction at `vaddr` to refer to `target`. Unchanged if that is out of reach. */
void loaded_patch_aarch64(enum loaded_patch patch, uint8_t *at, uint64_t vaddr, uint64_t target);

/* --- loaded_elf_object.c, loaded_macho_object.c --- */

SONDE_NODISCARD enum sonde_status loaded_elf_object(struct sonde__loaded *loaded,
                                                    const struct sonde__elf *elf);
SONDE_NODISCARD enum sonde_status loaded_macho_object(struct sonde__loaded *loaded,
                                                      const struct sonde__macho *macho);

#endif
