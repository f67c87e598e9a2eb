// SPDX-License-Identifier: Apache-2.0
/* Objective-C methods of an ELF, as a symbol table: names from the method lists that the GNU
 * runtime reads ("-[Class selector]", "+[Class(Category) selector:]"), which are there when all
 * symbols are stripped, and right where the compilers' own names ("_i_Class__selector_") are
 * ambiguous.
 *
 * Read are the lists of gcc and of clang for the GCC runtime (libobjc, ABI 8 to 10; source: the
 * structures in gcc's libobjc/objc-private/module-abi-8.h), 64 bit. Context: any thread. */
#ifndef SONDE_SYMBOL_OBJC_H
#define SONDE_SYMBOL_OBJC_H

#include <sonde/status.h>

#include "image_elf.h"

struct sonde__objc_symbols {
    struct sonde__elf_symbols symbols; /* functions, global; count 0: none */
    uint8_t *data;                     /* heap: entries, as a file has them */
    char *strings;
    size_t data_capacity, strings_capacity, strings_size;
};

/* Reads nothing of an image that does not need libobjc. Methods whose code is no function of the
 * frame information are left out. Returns OK (also when there are none) | MEMORY. Release with
 * _done(), also after a failure. */
SONDE_NODISCARD enum sonde_status sonde__objc_symbols_make(const struct sonde__elf *elf,
                                                           struct sonde__objc_symbols *ret_symbols);
/* The section that such symbols are said to be of. */
uint16_t sonde__objc_text_section(const struct sonde__elf *elf);
void sonde__objc_symbols_done(struct sonde__objc_symbols *symbols);

#endif
