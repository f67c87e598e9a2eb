// SPDX-License-Identifier: Apache-2.0
#include "audit_library.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "image_elf.h"

#define PREFIX       "sonde_thunk_"
#define FIRST_NUMBER 10000u

/* A part of the file, by the dynamic section; null: not there. */
static uint8_t *part(const struct sonde__elf *elf, uint64_t tag, uint64_t bytes, unsigned alignment)
{
    uint64_t vaddr;
    if (!sonde__elf_dynamic_tag(elf, tag, &vaddr)) {
        return NULL;
    }
    uint8_t *at =
        (uint8_t *)(uintptr_t)sonde__elf_at_vaddr(elf, vaddr, bytes); /* the caller's own */
    return (uintptr_t)at % alignment == 0 ? at : NULL;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name != '\0'; name++) {
        hash = (hash << 4) + (unsigned char)*name;
        hash ^= (hash & 0xf0000000u) >> 24;
        hash &= 0x0fffffffu;
    }
    return hash;
}

struct library {
    Elf64_Sym *symbols;
    char *strings;
    uint64_t strings_size;
    uint32_t *table; /* buckets, symbols, then both arrays */
    uint32_t count;  /* of symbols */
};

static const char *name_of(const struct library *library, uint32_t index)
{
    uint64_t at = library->symbols[index].st_name;
    return at < library->strings_size ? library->strings + at : "";
}

static bool open_library(uint8_t *bytes, uint64_t size, struct library *ret_library)
{
    struct sonde__elf elf;
    uint32_t counts[2];
    if (sonde__elf_open(bytes, size, &elf, NULL) != SONDE_OK || !elf.is64 ||
        !sonde__elf_dynamic_tag(&elf, DT_STRSZ, &ret_library->strings_size)) {
        return false;
    }
    const uint8_t *head = part(&elf, DT_HASH, sizeof counts, sizeof(uint32_t));
    if (head == NULL) {
        return false;
    }
    memcpy(counts, head, sizeof counts);
    uint64_t words = 2 + (uint64_t)counts[0] + counts[1];
    ret_library->count = counts[1];
    ret_library->table =
        (uint32_t *)(void *)part(&elf, DT_HASH, words * sizeof(uint32_t), sizeof(uint32_t));
    ret_library->symbols =
        (Elf64_Sym *)(void *)part(&elf, DT_SYMTAB, (uint64_t)counts[1] * sizeof(Elf64_Sym), 8);
    ret_library->strings = (char *)part(&elf, DT_STRTAB, ret_library->strings_size, 1);
    return counts[0] != 0 && ret_library->table != NULL && ret_library->symbols != NULL &&
           ret_library->strings != NULL && ret_library->strings_size != 0 &&
           ret_library->strings[ret_library->strings_size - 1] == '\0';
}

static void make_chains(const struct library *library)
{
    uint32_t buckets = library->table[0];
    uint32_t *chains = library->table + 2 + buckets;
    memset(library->table + 2, 0, ((size_t)buckets + library->count) * sizeof(uint32_t));
    for (uint32_t i = 1; i < library->count; i++) {
        uint32_t bucket = hash_of(name_of(library, i)) % buckets;
        chains[i] = library->table[2 + bucket];
        library->table[2 + bucket] = i;
    }
}

static const char *new_name(const struct sonde__audit_name *names, uint32_t count, uint32_t thunk)
{
    for (uint32_t i = 0; i < count; i++) {
        if (names[i].thunk == thunk) {
            return names[i].name;
        }
    }
    return NULL;
}

enum sonde_status sonde__audit_name_thunks(uint8_t *bytes, uint64_t size,
                                           const struct sonde__audit_name *names, uint32_t count,
                                           struct sonde_error *ret_error)
{
    struct library library = {0};
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(names[i].name) > SONDE__AUDIT_NAME_MAX) {
            return sonde__base_fail(ret_error, SONDE_USAGE, "the name is too long", NULL, 0, 0);
        }
    }
    if (!open_library(bytes, size, &library)) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "not the recorder's library", NULL, 0, 0);
    }
    for (uint32_t i = 1; i < library.count; i++) {
        char *name = (char *)(uintptr_t)name_of(&library, i);
        if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || strlen(name) < SONDE__AUDIT_NAME_MAX) {
            continue;
        }
        unsigned long number = strtoul(name + sizeof PREFIX - 1, NULL, 10);
        const char *now = new_name(names, count, (uint32_t)number - FIRST_NUMBER);
        if (now == NULL) {
            library.symbols[i].st_shndx = SHN_UNDEF; /* nobody asks for it */
            continue;
        }
        memcpy(name, now, strlen(now) + 1);
        library.symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        library.symbols[i].st_shndx = 1; /* of some section: an absolute one is not relocated */
        done++;
    }
    make_chains(&library);
    return done == count
               ? SONDE_OK
               : sonde__base_fail(ret_error, SONDE_CORRUPT,
                                  "the recorder's library is of another build", NULL, 0, 0);
}
