// SPDX-License-Identifier: Apache-2.0
/* A small ELF made in memory: one code section at MADE_TEXT, and the symbols that a test gives. */
#ifndef SONDE_TEST_MADE_ELF_H
#define SONDE_TEST_MADE_ELF_H

#include <stddef.h>
#include <stdint.h>

#define MADE_TEXT 0x10000u

struct made_symbol {
    const char *name;
    uint64_t value, size;
    uint8_t type, bind;
    uint16_t section; /* 1: .text; 2: .data; 0: undefined */
};

/* text_size: bytes of code (none of it is in the file). Free the result. */
void *made_elf(const struct made_symbol *symbols, size_t count, uint64_t text_size,
               size_t *ret_size);

#endif
