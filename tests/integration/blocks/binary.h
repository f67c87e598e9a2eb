// SPDX-License-Identifier: Apache-2.0
/* A library for any machine as if loaded at its own addresses: pointers are set, and each import
 * has an unreadable address of its own. */
#ifndef SONDE_TEST_BINARY_H
#define SONDE_TEST_BINARY_H

#include "block.h"

struct binary_symbol {
    uint64_t address;
    const char *name;
};

struct binary {
    char *data;
    size_t size;
    void *image; /* struct sonde__elf or struct sonde__macho */
    bool is_macho;
    struct binary_symbol *fixups; /* by address; name null: *value is the pointer */
    uint64_t *values;
    size_t fixup_count;
    struct binary_symbol *symbols; /* by address; of imports, too */
    size_t symbol_count, import_count;
    struct sonde__block_memory memory;
};

/* Fails the test when it cannot be opened. */
void binary_open(struct binary *binary, const char *path);
void binary_done(struct binary *binary);

#endif
