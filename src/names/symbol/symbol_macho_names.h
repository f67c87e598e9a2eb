// SPDX-License-Identifier: Apache-2.0
/* Functions of a Mach-O with their names, from all its sources: the symbol table (of its dSYM, if
 * that has one), and for code that no symbol names: exports, stubs of the linker, methods of
 * Objective-C ("-[Class selector:]", "+[Class(Category) selector]") and stubs that send a message
 * ("objc_msgSend$selector:").
 *
 * Mach-O symbols have no size: one extends to the next function (LC_FUNCTION_STARTS), but not
 * beyond its section. So a function without a symbol gets no name instead of its predecessor's.
 * "<redacted>", which Apple puts in place of a removed name, is no name. Sans I/O; any thread. */
#ifndef SONDE_SYMBOL_MACHO_NAMES_H
#define SONDE_SYMBOL_MACHO_NAMES_H

#include <sonde/status.h>

#include "image_macho.h"

enum sonde__macho_name_source {
    SONDE__MACHO_NAME_SYMBOL,
    SONDE__MACHO_NAME_EXPORT,
    SONDE__MACHO_NAME_STUB,   /* of the linker; the name is its target's */
    SONDE__MACHO_NAME_METHOD, /* of Objective-C's data, also of a stub that sends a message */
};

struct sonde__macho_name {
    const char *name;    /* without the underscore that Mach-O puts before each */
    uint64_t start, end; /* vaddr, exclusive */
    /* of the strings that contain the name (of a symbol, or a stub); null: the name is valid during
     * the call only */
    const struct sonde__macho_symbols *table;
    uint8_t source; /* enum sonde__macho_name_source */
    uint8_t bind;   /* SONDE__STB_* */
};

/* Call `each` with every name until it returns false. Addresses are those of `macho`; those of its
 * dSYM `debug` (or null) are converted. Several may have the same start, and the order is that of
 * the file.
 * Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status
sonde__macho_each_name(const struct sonde__macho *macho, const struct sonde__macho *debug,
                       bool (*each)(void *ctx, const struct sonde__macho_name *name), void *ctx);

#endif
