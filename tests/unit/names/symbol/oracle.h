// SPDX-License-Identifier: Apache-2.0
/* Shared by the tests of symbols: a file in memory, and the symbols that nm reads from it. */
#ifndef SONDE_TEST_ORACLE_H
#define SONDE_TEST_ORACLE_H

#include "image_elf.h"
#include "symbol_index.h"
#include "test.h"

struct oracle_symbol {
    uint64_t start, size;
    char type; /* as nm prints it */
    char *name;
};

struct oracle {
    struct oracle_symbol *symbols; /* sorted by start */
    size_t count;
};

struct elf_file {
    char *data;
    size_t size;
    struct sonde__elf elf;
};

/* Read and open; fails the test when it cannot. */
struct elf_file elf_file_open(const char *path);
void elf_file_done(struct elf_file *file);

/* The function symbols (by nm's reading) of a file: .symtab, or with `dynamic` .dynsym. */
struct oracle oracle_read(const char *path, bool dynamic);
/* Append b's symbols to a's, and sort. */
void oracle_join(struct oracle *a, struct oracle *b);
void oracle_done(struct oracle *oracle);

/* True if the oracle has a symbol of this name at this address. A version suffix is cut on both
 * sides. */
bool oracle_has(const struct oracle *oracle, uint64_t start, const char *name);
/* True if any sized symbol covers the address. */
bool oracle_covers(const struct oracle *oracle, uint64_t vaddr);

/* The debug file of a build-id under /usr/lib/debug, or skips the test. */
void debug_path(const struct sonde__elf *elf, char *ret_path, size_t capacity);

#endif
