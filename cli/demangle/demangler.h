// SPDX-License-Identifier: Apache-2.0
/* The decoders of C++ and Rust names of this program; the library has none (sonde_demangler). Their
 * time, memory and stack are bounded, because names are untrusted. */
#ifndef SONDE_CLI_DEMANGLER_H
#define SONDE_CLI_DEMANGLER_H

#include <stdbool.h>
#include <stddef.h>

#include <sonde/symbol.h>

extern const struct sonde_demangler sonde__cli_demangler;
/* Names of the decoders: "LLVM's libc++abi, libiberty". */
const char *sonde__cli_demangler_text(void);

/* --- the decoders; true: `text` of `size` bytes has the result --- */

/* C++ of the current ABI, by LLVM's libc++abi. */
bool sonde__cli_demangle_llvm(const char *name, char *text, size_t size);
/* C++ up to C++17, by GNU libiberty. */
bool sonde__cli_demangle_iberty(const char *name, char *text, size_t size);
/* Rust, v0 and legacy, by GNU libiberty. */
bool sonde__cli_demangle_rust(const char *name, char *text, size_t size);
/* Are they built in? */
extern const bool sonde__cli_has_llvm, sonde__cli_has_iberty;

#endif
