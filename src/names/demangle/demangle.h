// SPDX-License-Identifier: Apache-2.0
/* Decodes function names to the form in the source.
 *
 * Symbols of C++ (Itanium ABI §5.1), Rust (v0 and legacy), Swift and Clang's blocks are encoded.
 * Names are stored and compared as in the file, and decoded only for printing, because decoded
 * names can be many times longer, and most are never shown.
 *
 * The library's user provides the decoder of C++ and Rust names (sonde_demangler); names of blocks
 * are decoded here, and those of Swift by names/swift. Input is untrusted: its length is bounded,
 * and a name that cannot be decoded is returned unchanged. Context: any thread; not handler. */
#ifndef SONDE_DEMANGLE_H
#define SONDE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include <sonde/symbol.h>

#define SONDE__DEMANGLE_INPUT_MAX  1024u /* longer ones need more stack than a thread may have */
#define SONDE__DEMANGLE_OUTPUT_MAX 4096u /* bytes with the NUL; a longer result is not used */

/* Set the decoder; null: none. */
void sonde__demangle_use(const struct sonde_demangler *given);

/* The decoded name in `buffer` of SONDE__DEMANGLE_OUTPUT_MAX bytes; or `name` itself, if it is not
 * encoded or cannot be decoded. Never null. */
const char *sonde__demangle(const char *name, char *buffer);
/* As sonde__demangle(), for programs: Swift names with modules and types, as swift-demangle has
 * them.
 */
const char *sonde__demangle_full(const char *name, char *buffer);

/* The decoders. True: `buffer` has the result. */

/* C++ and Rust. */
bool sonde__demangle_language(const char *name, char *buffer);
/* Clang's functions of blocks: "__main_block_invoke_2", "__12-[C m]_block_invoke". */
bool sonde__demangle_block(const char *name, char *buffer);

#endif
