// SPDX-License-Identifier: Apache-2.0
/* Versions of dynamic symbols: "read" of "GLIBC_2.2.5" (LSB 5 §10.7).
 *
 * A file gives each dynamic symbol a number and says by which name the number goes, for what it
 * defines and for what it needs. The names are found once; a symbol is then two look-ups. Counts
 * and places are not believed, and reading takes time in proportion to the sections. Context: any
 * thread; the view must outlive the struct. */
#ifndef SONDE_IMAGE_ELF_VERSIONS_H
#define SONDE_IMAGE_ELF_VERSIONS_H

#include "image_elf.h"

/* glibc defines some fifty. */
#define SONDE__ELF_VERSIONS_MAX 512u

struct sonde__elf_versions {
    const uint8_t *numbers; /* by dynamic symbol, two bytes each; null: the file has none */
    uint64_t count;
    const char *names[SONDE__ELF_VERSIONS_MAX]; /* by number; null: not known */
};

/* Of a file with section headers; of one without versions every symbol has none. */
void sonde__elf_versions(const struct sonde__elf *elf, struct sonde__elf_versions *ret_versions);

/* The version of a dynamic symbol; "": it has none; null: it is not known. */
const char *sonde__elf_version(const struct sonde__elf_versions *versions, uint32_t symbol);

#endif
