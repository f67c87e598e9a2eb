// SPDX-License-Identifier: Apache-2.0
/* A function's name as its programmer wrote it.
 *
 * Symbols of C++ (Itanium ABI §5.1), Rust (v0 and legacy) and Clang's blocks are encoded. Names are
 * stored and compared as in the file, and decoded only when they are printed for people: a decoded
 * name can be many times longer, and most are never shown.
 *
 * C++ and Rust names are decoded by the decoder that the library's user provides (sonde_demangler),
 * names of blocks here. The input is not trusted: names to decode are bounded in length, and one
 * that cannot be decoded is shown as it is. Context: any thread; not handler. */
#ifndef SONDE_DEMANGLE_H
#define SONDE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include <sonde/symbol.h>

#define SONDE__DEMANGLE_INPUT_MAX  1024u /* longer ones need more stack than a thread may have */
#define SONDE__DEMANGLE_OUTPUT_MAX 4096u /* bytes with the NUL; a longer result is none */

/* From now on; null: none. */
void sonde__demangle_use(const struct sonde_demangler *given);

/* The name for people, in `buffer` of SONDE__DEMANGLE_OUTPUT_MAX bytes, or `name` itself if it is
 * not encoded or cannot be decoded. Never null. */
const char *sonde__demangle(const char *name, char *buffer);

/* Parts, for the files of this folder. Each true: `buffer` holds the result. */

/* C++ and Rust. */
bool sonde__demangle_language(const char *name, char *buffer);
/* Clang's functions of blocks: "__main_block_invoke_2", "__12-[C m]_block_invoke". */
bool sonde__demangle_block(const char *name, char *buffer);

#endif
