// SPDX-License-Identifier: Apache-2.0
/* Names without the parts that differ between builds of the same sources. Context: any thread. */
#ifndef SONDE_REPORT_CANONICAL_H
#define SONDE_REPORT_CANONICAL_H

#include <stddef.h>
#include <stdint.h>

/* Length of a function's name without what compilers append: the suffixes of parts and clones by
 * GCC and LLVM (".cold", ".part.0", ".isra.0", ".constprop.1", ".lto_priv.2", ".llvm.123",
 * ".localalias") and the crate hash of Rust's legacy names. `name` is as in a symbol table. */
size_t sonde__report_canonical_function(const char *name);

/* The same for a library's file name: "libgtk-3.so" of "libgtk-3.so.0.2404.27". */
size_t sonde__report_canonical_library(const char *name);

/* FNV-1a with 128 bits (http://www.isthe.com/chongo/tech/comp/fnv/): short to implement in any
 * language, and wide enough that fingerprints never collide. */
struct sonde__report_hash {
    uint64_t high, low;
};
void sonde__report_hash_init(struct sonde__report_hash *hash);
void sonde__report_hash_add(struct sonde__report_hash *hash, const void *bytes, size_t size);
/* 32 hexadecimal digits and a NUL. */
void sonde__report_hash_text(const struct sonde__report_hash *hash, char ret_text[33]);

#endif
