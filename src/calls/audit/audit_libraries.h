// SPDX-License-Identifier: Apache-2.0
/* The libraries that a program starts with, in the loader's order, and what they define. Context:
 * any thread, start-up. */
#ifndef SONDE_AUDIT_LIBRARIES_H
#define SONDE_AUDIT_LIBRARIES_H

#include <stdbool.h>

#include "host_file.h"
#include "image_elf.h"
#include "image_set.h"

struct sonde__audit_library_file {
    struct sonde__host_file file;
    struct sonde__elf_symbols symbols;
};

struct sonde__audit_libraries {
    struct sonde__audit_library_file *items;
    size_t count, capacity;
};

/* False, with no libraries: the program's loader could not be run, or memory ran out. Files that
 * cannot be read as libraries are left out. Ownership: the caller closes it in either case. */
bool sonde__audit_libraries_open(const char *program, char *const *envp,
                                 struct sonde__audit_libraries *ret_libraries);
/* The same of a program that runs: those of its images that have files, in their order. */
bool sonde__audit_libraries_loaded(const struct sonde__image_set *images,
                                   struct sonde__audit_libraries *ret_libraries);
void sonde__audit_libraries_close(struct sonde__audit_libraries *libraries);

/* The next symbol that a library exports, from *at on (0 at first); false: no more. */
bool sonde__audit_next_definition(const struct sonde__audit_library_file *library, uint32_t *at,
                                  struct sonde__elf_symbol *ret_symbol);

#endif
