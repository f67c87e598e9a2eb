// SPDX-License-Identifier: Apache-2.0
/* Names for the frames of a stack of this process; and from an index, which is made of debug
 * information once, functions, files and lines for addresses of any program (below).
 *
 * A name is taken from the image's symbol tables or from its separate debug file (same build-id),
 * and only where the symbol covers the address. Otherwise it is `module+0x1d64b4`, the offset in
 * the file's own coordinates: never the name of a neighbour. */
#ifndef SONDE_SYMBOL_H
#define SONDE_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/arch.h"
#include "sonde/stack.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a stack is written. */
enum sonde_style {
    SONDE_STYLE_SONDE,     /* `#0  0x00007f2b1c4e8d36  __poll+0x56  libc.so.6` */
    SONDE_STYLE_CALLSTACK, /* Apple's: `%-4d%-35s 0x%016lx %s + %lu` */
    SONDE_STYLE_BS,        /* BSBacktraceLogger's: `%-30s 0x%08lx %s + %lu` under a heading */
    SONDE_STYLE_GLIBC      /* `/lib/libc.so.6(__poll+0x56) [0x7f2b1c4e8d36]` */
};

/* How a name is known. */
enum sonde_name_source {
    SONDE_NAME_NONE,
    SONDE_NAME_SYMTAB,
    SONDE_NAME_DYNSYM, /* exported names only: a static function near by has none */
    SONDE_NAME_PLT     /* a stub of the linker; the name is that of its target */
};

/* Opens symbol files on demand and keeps them. Large programs have large tables (about 10 bytes a
 * symbol beside the mapped files): destroy it when the names are no longer asked for. */
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

/* Make ready what a handler may use: open the symbol files of all images that are loaded now. Again
 * after dlopen(): what is not ready has no name in a handler. Nor has an image there that was
 * loaded by dlopen() and has no build-id: nothing tells it from another one that came to its place.
 *
 * Returns    OK (also when single images have no names) | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  reads files
 * Ownership  nothing is transferred
 * Example    examples/text_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolizer_prepare(struct sonde_symbolizer *symbolizer);

/* From now on show files, lines and inlined calls, too, where SONDE_STYLE_SONDE is written in
 * normal context: from debug information or an index file beside the image. That maps debug files,
 * inflates them if they are compressed, and loads zlib or zstd for it. Call it before stacks are
 * written.
 *
 * Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolizer_use_lines(struct sonde_symbolizer *symbolizer);

/* What is known of one frame. The strings are valid until the symbolizer is destroyed. */
struct sonde_symbol {
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

/* The same, from what is prepared, also in a handler: it allocates nothing and takes no lock.
 *
 * Returns    OK | USAGE
 * Context    handler      Blocks  no      Ownership  the strings are the symbolizer's
 * Example    examples/stack_handler.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_symbolize_prepared(struct sonde_symbolizer *symbolizer, const struct sonde_stack *stack,
                         uint32_t index, struct sonde_symbol *ret_symbol);

/* What decodes names of C++ and Rust for this library, which needs libc alone and has no decoder.
 * In a program of C++ that is its runtime's `__cxa_demangle`; the `sonde` program has its own. */
struct sonde_demangler {
    /* Decode `name`, which comes from a file that may be anybody's, and has at most 1024 bytes:
     * time and memory must be bounded. text: of `size_bytes`, for the result with its NUL. Returns
     * 0 where it is not encoded, not known how, or does not fit; else another number. Called by any
     * thread, by several at once, never in a handler. It must not call this library. */
    int (*decode)(void *ctx, const char *name, char *text, size_t size_bytes);
    void *ctx;
};

/* Decode names by this from now on, in all of the process: where stacks and reports are written in
 * SONDE_STYLE_SONDE, and by sonde_name_demangle(). Without it such names stay as the file has them.
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
 * Returns    OK | ABSENT (not encoded, or not known how: text is the name itself) | LIMIT (cut at
 *            the end of the buffer) | USAGE
 * Context    any thread; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_name_demangle(const char *name, char *text,
                                                                size_t size_bytes);

/* Write a stack as text, names demangled, a line for each frame, then why it ended if that is not
 * the root:
 *
 *     #0  0x00007f2b1c4e8d36  __poll+0x56  libc.so.6
 *     #1  0x000055d0f7a4112b  sqlite3+0x1112b
 *
 * text        the caller's buffer of `size_bytes`, >= 1; always NUL-terminated
 * ret_length  bytes written without the NUL; may be null
 *
 * Returns    OK | LIMIT (cut at the end of the buffer; what fitted is there) | USAGE | MEMORY
 * Context    any thread; not handler
 * Blocks     reads files when an image is met for the first time
 * Ownership  nothing is transferred
 * Example    examples/stack_symbols.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_stack_format(struct sonde_symbolizer *symbolizer,
                                                               const struct sonde_stack *stack,
                                                               char *text, size_t size_bytes,
                                                               size_t *ret_length);

/* --- indexes: what is known of every address of an image, of any machine, offline --- */

/* The index of one image: functions, inlined calls, files and lines of its addresses, tail calls,
 * symbols. Mapped from an index file (`sonde index` writes them: docs/index-format.md), or made in
 * memory of the debug information of an ELF or Mach-O file. Answers are ids, which cost no string;
 * each string is decoded once, when it is first asked for.
 *
 * An address is an image offset: of ELF a virtual address as the file has it (pc - bias, as
 * sonde_symbol.image_offset and sonde_image.bias), of Mach-O the distance from the image's header.
 * A return address is looked up by the byte before it. */
struct sonde_index;

/* Open an index file, or make the index of a program, a library, a debug file or a dSYM bundle,
 * with what else of its debug information is found: the separate debug file (same build-id, under
 * /usr/lib/debug or by its debug link), dwz's file, split files. A unit that is malformed costs
 * itself: sonde_index_bad_unit().
 *
 * path       of the file; its first bytes tell what it is
 * threads    that read it when an index is made, 1 to 64; 0: one
 * ret_error  details of a failure; may be null
 *
 * Returns    OK | ABSENT (no such file, or nothing in it that could be looked up) | DENIED |
 *            UNSUPPORTED (neither an index of this version nor an ELF or Mach-O; more than 4 GiB of
 *            code) | CORRUPT | LIMIT | MEMORY | OS | USAGE
 * Context    any thread; not handler
 * Blocks     reads files; a second for some hundred MB of debug information
 * Ownership  the caller's: sonde_index_close()
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_index_open(const char *path, uint32_t threads,
                                                             struct sonde_index **ret_index,
                                                             struct sonde_error *ret_error);

/* Open the index of a build-id: the first of FOLDER/ID.sndidx and FOLDER/.build-id/xx/rest.debug in
 * each of the folders, of the indexes that the `sonde` program has kept in the user's cache, and of
 * /usr/lib/debug/.build-id/xx/rest.debug. What has another build-id is not taken.
 *
 * build_id      of `size_bytes`, 1 to SONDE_BUILD_ID_MAX; of Mach-O its UUID, index files only
 * folders       `folder_count` paths; may be null when that is 0
 *
 * Returns    OK | ABSENT (there is none) | what sonde_index_open() returns of a debug file
 * Context    any thread; not handler      Blocks  as sonde_index_open()
 * Ownership  the caller's: sonde_index_close()
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_open_build_id(const uint8_t *build_id, uint32_t size_bytes, const char *const *folders,
                          uint32_t folder_count, uint32_t threads, struct sonde_index **ret_index,
                          struct sonde_error *ret_error);

/* index  may be null
 *
 * Context    any thread, when no other one uses the index; not handler      Blocks  no
 * Ownership  frees the index and every string that it gave
 * Example    examples/index_lookup.c */
SONDE_API void sonde_index_close(struct sonde_index *index);

struct sonde_index_info {
    uint64_t first_offset; /* image offset of the first byte that is covered */
    uint64_t code_bytes;   /* from there on */
    uint32_t arch;         /* enum sonde_arch */
    uint32_t names, files; /* ids go from 1 to these, both included */
    uint32_t units;        /* of debug information; 0: made of symbols only */
    uint32_t bad_units;    /* of them: that could not be read whole */
    uint8_t build_id_size; /* bytes; 0: it has none */
    uint8_t build_id[32];
};

/* Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_index_info(const struct sonde_index *index,
                                                             struct sonde_index_info *ret_info);

struct sonde_index_bad_unit {
    uint64_t offset;  /* in .debug_info */
    const char *name; /* its source file; "" when that could not be read */
    const char *what; /* what is wrong with it */
};

/* A unit that could not be read whole; what could be read of it is in the index.
 *
 * i  0 to sonde_index_info.bad_units - 1
 *
 * Returns    OK | ABSENT (no such) | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  the strings are the index's
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_bad_unit(const struct sonde_index *index, uint32_t i,
                     struct sonde_index_bad_unit *ret_unit);

/* One call at an address. Ids count from 1; 0: unknown. */
struct sonde_index_frame {
    uint32_t name; /* of the function: sonde_index_name() */
    uint32_t file; /* sonde_index_file() */
    uint32_t line; /* in it; 0: unknown */
};

/* Deeper chains of inlined calls lose their outer ones; large programs have up to 50. */
#define SONDE_INDEX_FRAMES_MAX 256u

/* Look up one address: the calls that are at work there. It allocates nothing and takes no lock.
 *
 * image_offset  see above
 * frames        the caller's array of `max`: innermost first, each but the last is inlined into the
 *               next one
 * ret_count     how many of them were filled
 *
 * Returns    OK | ABSENT (nothing is known) | LIMIT (outer frames did not fit; `frames` is full) |
 *            USAGE
 * Context    any thread, any number at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_index_lookup(const struct sonde_index *index,
                                                               uint64_t image_offset,
                                                               struct sonde_index_frame *frames,
                                                               size_t max, size_t *ret_count);

/* Look up many addresses, in the order that is fastest.
 *
 * image_offsets  `count` of them, in any order
 * frames         the caller's array of `max`; those of image_offsets[i] are
 *                frames[first[i]] to frames[first[i] + counts[i] - 1]; counts[i] is 0 where nothing
 *                is known
 * first, counts  the caller's arrays of `count`
 *
 * Returns    OK | LIMIT (`max` is too small: some have fewer frames, or none) | MEMORY | USAGE
 * Context    any thread, any number at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_lookup_many(const struct sonde_index *index, const uint64_t *image_offsets,
                        size_t count, struct sonde_index_frame *frames, size_t max, uint32_t *first,
                        uint32_t *counts);

/* The strings of ids: a function's linkage name (sonde_name_demangle() reads it), else its plain
 * name; the path of a file. Decoded when they are first asked for, the same pointer each time.
 *
 * Returns    the string; "" for 0, for what is no id, and when memory ran out
 * Context    any thread; not handler      Blocks  on the index' own lock, shortly
 * Ownership  the index'
 * Example    examples/index_lookup.c */
SONDE_API const char *sonde_index_name(struct sonde_index *index, uint32_t name);
SONDE_API const char *sonde_index_file(struct sonde_index *index, uint32_t file);

struct sonde_index_symbol {
    uint64_t start;       /* image offset */
    uint32_t size_bytes;  /* of its code */
    uint32_t name;        /* id */
    uint32_t alias_count; /* further names of its start: sonde_index_alias() */
};

/* The symbol that covers an address, from the symbol table.
 *
 * Returns    OK | ABSENT | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_symbol(const struct sonde_index *index, uint64_t image_offset,
                   struct sonde_index_symbol *ret_symbol);

/* A further name of the symbol that covers an address.
 *
 * i  0 to sonde_index_symbol.alias_count - 1
 *
 * Returns    the id of the name; 0: there is none
 * Context    any thread; not handler      Blocks  no
 * Example    examples/index_lookup.c */
SONDE_API uint32_t sonde_index_alias(const struct sonde_index *index, uint64_t image_offset,
                                     uint32_t i);

/* Functions that tail calls took off a stack: one that is called and leaves by a jump has no frame.
 *
 * return_offset  return address in the caller, an image offset
 * inner_offset   where the next inner frame is, in the same image: its pc, or the byte before its
 *                return address
 * places         the caller's array of `max`: the jumps of the missing functions as image offsets,
 *                to be looked up as they are, innermost first
 * ret_count      how many there are, at most 32
 *
 * Returns    OK (exactly one chain of jumps leads there) | ABSENT (none is missing, or nothing can
 *            be said) | AMBIGUOUS (frames are missing, and several chains lead there) | LIMIT
 *            (`max` is too small; the innermost are there) | USAGE
 * Context    any thread, any number at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/index_lookup.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_index_tails(const struct sonde_index *index, uint64_t return_offset, uint64_t inner_offset,
                  uint64_t *places, size_t max, size_t *ret_count);

#ifdef __cplusplus
}
#endif

#endif
