// SPDX-License-Identifier: Apache-2.0
/* One loaded object, as its dynamic section shows it: symbols and relocations. Valid while the
 * object cannot be unloaded (in a callback of dl_iterate_phdr). */
#ifndef SONDE_HOOK_OBJECT_H
#define SONDE_HOOK_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__hook_object {
    uint64_t base;
    const ElfW(Phdr) * phdrs;
    uint32_t phdr_count;
    bool is_dynamic;
    bool has_loader; /* the main program: one was asked for */
    const ElfW(Sym) * symbols;
    const char *strings;
    uint64_t strings_size;
    const uint32_t *gnu_hash, *hash;
    const uint16_t *versions;     /* of the symbols; null: it has none */
    const ElfW(Verdef) * verdefs; /* names of the versions that it defines */
    const ElfW(Rela) * tables[2]; /* DT_RELA, DT_JMPREL */
    uint64_t counts[2];
};

void sonde__hook_object_read(const struct dl_phdr_info *info,
                             struct sonde__hook_object *ret_object);

/* "" if the offset is outside of the string table. */
const char *sonde__hook_symbol_name(const struct sonde__hook_object *object, uint32_t index);

/* Is it a hidden version, which only binds to references that name it? */
bool sonde__hook_is_hidden(const struct sonde__hook_object *object, uint32_t index);

/* The hash of the hash table, of a name without its version. */
uint32_t sonde__hook_hash(const char *name);

/* How many symbols the hash table covers. */
uint32_t sonde__hook_symbol_count(const struct sonde__hook_object *object);

/* Calls `each` with every definition of `name`: there may be several versions. */
void sonde__hook_each_definition(const struct sonde__hook_object *object, const char *name,
                                 void (*each)(void *ctx, const ElfW(Sym) * symbol), void *ctx);

/* Is it the vdso? The loader looks up no symbols in it. */
bool sonde__hook_is_kernel(const struct sonde__hook_object *object);

/* Is it one of the three kinds of slot? */
bool sonde__hook_is_slot(const ElfW(Rela) * rela);

/* The segment that holds the whole word at `address`, or null. */
const ElfW(Phdr) * sonde__hook_segment(const struct sonde__hook_object *object, uint64_t address);

/* The protection (PROT_*) that the loader gave the page of `address`. */
int sonde__hook_protection(const struct sonde__hook_object *object, uint64_t address);

#endif
