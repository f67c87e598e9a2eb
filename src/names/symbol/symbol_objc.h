// SPDX-License-Identifier: Apache-2.0
/* Objective-C methods of an ELF, as a symbol table: names ("-[Class selector]", "+[Class(Category)
 * selector:]") from the method lists of the GNU runtime. The lists remain in stripped files, and
 * are exact, while compilers' own names ("_i_Class__selector_") are ambiguous.
 *
 * Supports the lists of gcc, and of clang for the GCC runtime (libobjc, ABI 8 to 10; source: the
 * structures in gcc's libobjc/objc-private/module-abi-8.h), 64 bit. Context: any thread. */
#ifndef SONDE_SYMBOL_OBJC_H
#define SONDE_SYMBOL_OBJC_H

#include <sonde/status.h>

#include "image_elf.h"

struct sonde__objc_symbols {
    struct sonde__elf_symbols symbols; /* functions, global; count 0: none */
    uint8_t *data;                     /* heap: entries in the file's format */
    char *strings;
    size_t data_capacity, strings_capacity, strings_size;
};

/* Finds nothing in an image without libobjc. Methods without an FDE are left out. Returns OK (also
 * without methods) | MEMORY. Release with _done(), also after a failure. */
SONDE_NODISCARD enum sonde_status sonde__objc_symbols_make(const struct sonde__elf *elf,
                                                           struct sonde__objc_symbols *ret_symbols);
/* The section index of these symbols. */
uint16_t sonde__objc_text_section(const struct sonde__elf *elf);
void sonde__objc_symbols_done(struct sonde__objc_symbols *symbols);

#endif
