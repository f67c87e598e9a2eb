// SPDX-License-Identifier: Apache-2.0
/* Names for the frames of a stack of this process. For addresses of any program, offline: index.h.
 *
 * Names come from the image's symbol tables or its separate debug file (same build-id), and only
 * from symbols that cover the address. Other frames are shown as `image+0x1d64b4`, the offset in
 * the file's own coordinates: never with the name of a neighbour. */
#ifndef SONDE_SYMBOL_H
#define SONDE_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/stack.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a name comes from. */
enum sonde_name_source {
    SONDE_NAME_NONE,
    SONDE_NAME_SYMTAB,
    SONDE_NAME_DYNSYM, /* exported names only: static functions have no name */
    SONDE_NAME_PLT     /* a linker's stub; the name is its target's */
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
 * dlopen(): code of images loaded later has no name in a handler. An image without a build-id that
 * dlopen() loaded has no names either: it cannot be distinguished from one loaded later in its
 * place.
 *
 * Returns    OK (also if some images have no names) | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  reads files
 * Ownership  nothing is transferred
 * Example    examples/text_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolizer_prepare(struct sonde_symbolizer *symbolizer);

/* Also show files, lines and inlined calls in SONDE_STYLE_SONDE (text.h) in normal context, from
 * debug information or an index file next to the image. Maps debug files, and loads zlib or zstd to
 * decompress them. Call it before the first stack is written.
 *
 * Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolizer_use_lines(struct sonde_symbolizer *symbolizer);

/* The name of one frame. The strings are valid until the symbolizer is destroyed. */
struct sonde_symbol {
    size_t struct_bytes;   /* sizeof(struct sonde_symbol) */
    const char *name;      /* as in the file (a C++ name is mangled); "" if unknown */
    uint64_t name_offset;  /* pc - start of the function */
    const char *image;     /* path of the image; "" if the pc is in none */
    uint64_t image_offset; /* pc in the file's own coordinates; the pc itself if image is "" */
    uint8_t source;        /* enum sonde_name_source */
};

/* Name one frame of a stack.
 *
 * index       a frame, < stack->count
 * ret_symbol  filled on OK; name and image may be unknown
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

/* As sonde_symbolize(), from prepared symbol files only, also in a handler: allocates nothing,
 * takes no lock.
 *
 * Returns    OK | USAGE
 * Context    handler      Blocks  no      Ownership  the strings are the symbolizer's
 * Example    examples/stack_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolize_prepared(struct sonde_symbolizer *symbolizer, const struct sonde_stack *stack,
                         uint32_t index, struct sonde_symbol *ret_symbol);

/* A decoder for C++ and Rust names. The library has none because it depends on libc alone; a C++
 * program can use its runtime's `__cxa_demangle`. Names of Swift and of blocks need none. */
struct sonde_demangler {
    /* Decode `name`, at most 1024 bytes from an untrusted file: time and memory must be bounded.
     * text: `size_bytes` for the result and its NUL. Returns 0 if the name is not encoded, is
     * unknown or does not fit; else nonzero. Called on any thread, on several at once, never in a
     * handler. It must not call this library. */
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

/* Get a function's name as in the source: Clang's blocks ("block in main"), Swift (its
 * docs/ABI/Mangling.rst; without modules and types: "Cart.add(_:to:)"), and C++ (Itanium ABI §5.1)
 * and Rust (v0 and legacy) names that the current demangler can decode.
 *
 * name        as the file has it (sonde_symbol.name); at most 1024 bytes (Swift: 4096) are decoded
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
