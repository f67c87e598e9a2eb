// SPDX-License-Identifier: Apache-2.0
/* Names without what differs between builds of the same sources. Context: any thread. */
#ifndef SONDE_REPORT_CANONICAL_H
#define SONDE_REPORT_CANONICAL_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes of a function's name, as a symbol table has it, belong to the function as it is in
 * the sources: without the suffixes of parts and clones that GCC and LLVM make (".cold", ".part.0",
 * ".isra.0", ".constprop.1", ".lto_priv.2", ".llvm.123", ".localalias"), and of Rust's legacy names
 * without the hash of the crate. */
size_t sonde__report_canonical_function(const char *name);

/* The same of a library's file name: "libgtk-3.so" of "libgtk-3.so.0.2404.27". */
size_t sonde__report_canonical_library(const char *name);

/* FNV-1a of 128 bits (http://www.isthe.com/chongo/tech/comp/fnv/): short to implement in every
 * language, and wide enough that no two of all causes will ever have the same. */
struct sonde__report_hash {
    uint64_t high, low;
};
void sonde__report_hash_init(struct sonde__report_hash *hash);
void sonde__report_hash_add(struct sonde__report_hash *hash, const void *bytes, size_t size);
/* 32 hexadecimal digits and a NUL. */
void sonde__report_hash_text(const struct sonde__report_hash *hash, char ret_text[33]);

#endif
