// SPDX-License-Identifier: Apache-2.0
/* Versions of dynamic symbols: "read" of "GLIBC_2.2.5" (LSB 5 §10.7).
 *
 * A file gives each dynamic symbol a number, and each number a name, for what it defines and for
 * what it needs. The names are looked up once; then a symbol takes two look-ups. Counts and
 * places are checked, and reading takes time linear in the size of the sections. Context: any
 * thread; the view must outlive the struct. */
#ifndef SONDE_IMAGE_ELF_VERSIONS_H
#define SONDE_IMAGE_ELF_VERSIONS_H

#include "image_elf.h"

/* glibc defines some fifty. */
#define SONDE__ELF_VERSIONS_MAX 512u

struct sonde__elf_versions {
    const uint8_t *numbers; /* by dynamic symbol, two bytes each; null: none */
    uint64_t count;
    const char *names[SONDE__ELF_VERSIONS_MAX]; /* by number; null: unknown */
};

/* Read the versions by section headers. Without version sections, no symbol has one. */
void sonde__elf_versions(const struct sonde__elf *elf, struct sonde__elf_versions *ret_versions);

/* The version of a dynamic symbol; "": none; null: unknown. */
const char *sonde__elf_version(const struct sonde__elf_versions *versions, uint32_t symbol);

#endif
