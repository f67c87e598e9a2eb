// SPDX-License-Identifier: Apache-2.0
/* Names for the frames of a stack of this process. For addresses of any program, offline: index.h.
 *
 * A name is taken from the image's symbol tables or from its separate debug file (same build-id),
 * and only where the symbol covers the address. Otherwise it is `image+0x1d64b4`, the offset in
 * the file's own coordinates: never the name of a neighbour. */
#ifndef SONDE_SYMBOL_H
#define SONDE_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/stack.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a name is known. */
enum sonde_name_source {
    SONDE_NAME_NONE,
    SONDE_NAME_SYMTAB,
    SONDE_NAME_DYNSYM, /* exported names only: a static function near by has none */
    SONDE_NAME_PLT     /* a stub of the linker; the name is that of its target */
};

/* Opens symbol files on demand and keeps them open. Large programs have large tables (about 10
 * bytes a symbol, besides the mapped files): destroy it when no more names are needed. */
struct sonde_symbolizer;

/* Returns    OK | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_symbolizer_destroy()
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolizer_create(struct sonde_symbolizer **ret_symbolizer);

/* symbolizer  may be null
 *
 * Context    any thread; not handler      Blocks  no
 * Ownership  frees the symbolizer and every string that it gave
 * Example    examples/stack_symbols.c */
SONDE_API void sonde_symbolizer_destroy(struct sonde_symbolizer *symbolizer);

/* Open the symbol files of all images that are loaded now, for use in handlers. Call it again after
 * dlopen(): code of other images has no name in a handler. Neither has an image without a build-id
 * that dlopen() loaded: it cannot be distinguished from one that was loaded in its place.
 *
 * Returns    OK (also when single images have no names) | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  reads files
 * Ownership  nothing is transferred
 * Example    examples/text_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolizer_prepare(struct sonde_symbolizer *symbolizer);

/* Show files, lines and inlined calls, too, in SONDE_STYLE_SONDE (text.h) in normal context, from
 * debug information or an index file beside the image. This maps debug files, and loads zlib or
 * zstd to decompress them. Call it before any stack is written.
 *
 * Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolizer_use_lines(struct sonde_symbolizer *symbolizer);

/* What is known of one frame. The strings are valid until the symbolizer is destroyed. */
struct sonde_symbol {
    size_t struct_bytes;   /* sizeof(struct sonde_symbol) */
    const char *name;      /* as in the file (a C++ name is mangled); "" when unknown */
    uint64_t name_offset;  /* pc - start of the function */
    const char *image;     /* path of the image; "" when the pc is in none */
    uint64_t image_offset; /* pc in the file's own coordinates; the pc itself when image is "" */
    uint8_t source;        /* enum sonde_name_source */
};

/* Name one frame of a stack.
 *
 * index       a frame, < stack->count
 * ret_symbol  filled on OK; a name may be unknown, the image too
 *
 * Returns    OK | USAGE | MEMORY
 * Context    any thread; not handler
 * Blocks     reads files when an image is met for the first time
 * Ownership  the strings are the symbolizer's
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_symbolize(struct sonde_symbolizer *symbolizer,
                                                            const struct sonde_stack *stack,
                                                            uint32_t index,
                                                            struct sonde_symbol *ret_symbol);

/* The same from prepared symbol files, also in a handler: allocates nothing, takes no lock.
 *
 * Returns    OK | USAGE
 * Context    handler      Blocks  no      Ownership  the strings are the symbolizer's
 * Example    examples/stack_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolize_prepared(struct sonde_symbolizer *symbolizer, const struct sonde_stack *stack,
                         uint32_t index, struct sonde_symbol *ret_symbol);

/* A decoder for names of C++ and Rust. The library has none, because it needs libc alone; a C++
 * program can use the `__cxa_demangle` of its runtime. */
struct sonde_demangler {
    /* Decode `name`, at most 1024 bytes from an untrusted file: time and memory must be bounded.
     * text: `size_bytes` for the result and its NUL. Returns 0 if the name is not encoded, unknown
     * or does not fit; else nonzero. Called by any thread, several at once, never in a handler. It
     * must not call this library. */
    int (*decode)(void *ctx, const char *name, char *text, size_t size_bytes);
    void *ctx;
};

/* Set the demangler of the process: for stacks and reports in SONDE_STYLE_SONDE, and for
 * sonde_name_demangle(). Without one, names stay as in the file.
 *
 * demangler   null: none
 *
 * Returns    OK | USAGE (without a function)
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's; it must stay as long as the library is used
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_demangler_use(const struct sonde_demangler *demangler);

/* A function's name as its programmer wrote it: Clang's blocks ("block in main"), and C++ (Itanium
 * ABI §5.1) and Rust (v0 and legacy) as far as the demangler in use knows them.
 *
 * name        as the file has it (sonde_symbol.name); at most 1024 bytes are decoded
 * text        the caller's buffer of `size_bytes`, >= 1; always NUL-terminated
 *
 * Returns    OK | ABSENT (not encoded, or unknown: text is the name itself) | LIMIT (cut at
 *            the end of the buffer) | USAGE
 * Context    any thread; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_name_demangle(const char *name, char *text,
                                                                size_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif
