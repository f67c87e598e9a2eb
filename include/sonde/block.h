// SPDX-License-Identifier: Apache-2.0
/* Blocks: the closures of Clang (`^{ ... }` in C, C++ and Objective-C), and what they hold.
 *
 * A block is a struct: five words of header, then its captures. The block does not say what a
 * capture is. Several sources do, and they sometimes disagree, so each answer names its sources.
 * Source: the Block ABI (clang.llvm.org/docs/Block-ABI-Apple.html) and Apple's libclosure. */
#ifndef SONDE_BLOCK_H
#define SONDE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/arch.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, text. What a captured variable is to the block. New ones are added at the end. */
#define SONDE_BLOCK_KIND_MAP(X)                                                                    \
    X(UNKNOWN, "unknown")       /* managed in an unknown way, or known only from the layout */     \
    X(STRONG, "strong")         /* an object that the block retains */                             \
    X(WEAK, "weak")             /* a weak reference to an object: zeroed when that dies */         \
    X(UNRETAINED, "unretained") /* an object that the block does not keep alive */                 \
    X(BLOCK, "block")                                                                              \
    X(BYREF, "byref")       /* a __block variable, in a shared box */                              \
    X(OBJECT, "C++ object") /* copied by its own function: C++, or a C struct with objects */      \
    X(DATA, "data")         /* plain bytes */

enum sonde_block_kind {
#define SONDE_BLOCK_KIND_ENUM_(name, text) SONDE_BLOCK_##name,
    SONDE_BLOCK_KIND_MAP(SONDE_BLOCK_KIND_ENUM_)
#undef SONDE_BLOCK_KIND_ENUM_
};

/* name, text. Sources of a capture's kind, the most reliable first. */
#define SONDE_BLOCK_SOURCE_MAP(X)                                                                  \
    X(HELPER, "helper")           /* the code that copies and disposes of captures */              \
    X(GENERIC, "generic helper")  /* the list that the runtime uses instead of such code */        \
    X(HELPER_NAME, "helper name") /* the compiler writes kinds and offsets into these names */     \
    X(DESCRIPTOR_NAME, "descriptor name")                                                          \
    X(LAYOUT, "layout") /* meant for collectors and debuggers; sometimes wrong */                  \
    X(DWARF, "DWARF")   /* names, types, sizes; not ownership */

enum sonde_block_source {
#define SONDE_BLOCK_SOURCE_ENUM_(name, text) SONDE_BLOCK_BY_##name,
    SONDE_BLOCK_SOURCE_MAP(SONDE_BLOCK_SOURCE_ENUM_)
#undef SONDE_BLOCK_SOURCE_ENUM_
};

/* Bits of the header's flags word. */
#define SONDE_BLOCK_DEALLOCATING     0x00000001u /* not in every runtime */
#define SONDE_BLOCK_INLINE_LAYOUT    0x00200000u
#define SONDE_BLOCK_SMALL_DESCRIPTOR 0x00400000u
#define SONDE_BLOCK_NOESCAPE         0x00800000u
#define SONDE_BLOCK_HEAP             0x01000000u
#define SONDE_BLOCK_HAS_HELPERS      0x02000000u
#define SONDE_BLOCK_HAS_CXX          0x04000000u
#define SONDE_BLOCK_GLOBAL           0x10000000u
#define SONDE_BLOCK_STRET            0x20000000u
#define SONDE_BLOCK_HAS_SIGNATURE    0x40000000u
#define SONDE_BLOCK_HAS_LAYOUT       0x80000000u

/* --- what blocks hold --- */

/* Memory with blocks: of this process, of a core, or read by callbacks. Results are cached for each
 * kind of block, so the second block of a kind costs little. */
struct sonde_blocks;

/* Open the memory of this process. Images loaded later are unknown; to see them, open it again.
 *
 * ret_error  details of a failure; may be null
 *
 * Returns    OK | ABSENT (no image has a block runtime) | UNSUPPORTED (an emulator) | MEMORY | OS
 * Context    any thread; not handler      Blocks  reads files: the symbols of all images
 * Ownership  the caller's: sonde_blocks_close()
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_blocks_open(struct sonde_blocks **ret_blocks,
                                                              struct sonde_error *ret_error);

/* Open a core file, of either architecture on any host. sonde_blocks_scan() and
 * sonde_block_holders() then search the core's memory. Memory that the core leaves out because a
 * file has it is read from that file; a truncated core has fewer blocks.
 *
 * program    path of the core's program if the path in the core is wrong; or null. Used only if it
 *            has the core's build-id
 * ret_error  details of a failure; may be null
 *
 * Returns    OK | ABSENT (no such file; no image has a block runtime) | UNSUPPORTED (not a core; 32
 *            bits) | CORRUPT | DENIED | MEMORY | OS | USAGE
 * Context    any thread; not handler      Blocks  reads files: the symbols of all images
 * Ownership  the caller's: sonde_blocks_close()
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_blocks_open_core(const char *path,
                                                                   const char *program,
                                                                   struct sonde_blocks **ret_blocks,
                                                                   struct sonde_error *ret_error);

/* Other memory: of another process, or of an image. */
struct sonde_block_memory {
    size_t struct_bytes; /* sizeof(struct sonde_block_memory) */
    uint32_t arch;       /* enum sonde_arch; not OTHER */
    /* Read all of [address, address + size_bytes) and return 1, or return 0. Any address may be
     * passed. */
    int (*read)(void *ctx, uint64_t address, void *buffer, size_t size_bytes);
    /* The symbol that begins at an address, or null; valid until the blocks are closed. Names of
     * runtime functions show what helpers do. The callback itself may be null. */
    const char *(*name)(void *ctx, uint64_t address);
    void *ctx;
};

/* Open memory that callbacks read.
 *
 * Returns    OK | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_blocks_close(); what `memory` points to is copied
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_blocks_open_memory(const struct sonde_block_memory *memory, struct sonde_blocks **ret_blocks);

/* blocks  may be null
 *
 * Context    any thread, while no other one uses it; not handler      Blocks  no
 * Ownership  frees it and every string that it gave
 * Example    examples/blocks.c */
SONDE_API void sonde_blocks_close(struct sonde_blocks *blocks);

/* One block. */
struct sonde_block {
    size_t struct_bytes; /* sizeof(struct sonde_block) */
    uint64_t address, invoke, descriptor;
    uint32_t flags;      /* SONDE_BLOCK_* */
    uint32_t size_bytes; /* header and captures */
    uint32_t references; /* of a block on the heap; 0: unknown */
    uint32_t captures;   /* how many sonde_block_captures() gives */
};

/* Look at a block. All data is checked, and none of the block's code is run. Wrong addresses are
 * recognized as far as possible, but the remains of a block on a stack are not.
 *
 * Returns    OK | UNREADABLE | CORRUPT (no block is there) | MEMORY | USAGE
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_inspect(struct sonde_blocks *blocks, uint64_t address, struct sonde_block *ret_block);

/* One capture, or a part of a captured C++ object. */
struct sonde_block_capture {
    size_t struct_bytes; /* sizeof(struct sonde_block_capture) */
    uint32_t offset;     /* in the block */
    uint32_t size_bytes; /* 0: unknown */
    uint8_t kind;        /* enum sonde_block_kind */
    uint8_t is_owned;    /* the block keeps it alive */
    uint8_t is_part;     /* of the object before it */
    uint8_t denied;      /* the kind given by a source that disagrees; UNKNOWN: none does */
    uint8_t denied_by;   /* that source */
    uint32_t sources;    /* bits 1 << enum sonde_block_source: sources of this kind; 0: none */
    uint64_t value;      /* the word at the offset, or the bytes of smaller data */
};

/* List what a block holds, by offset.
 *
 * captures   the caller's array of `max`
 * ret_count  how many there are, including those beyond `max`
 *
 * Returns    OK | LIMIT (`max` is too small: the first were filled) | what sonde_block_inspect()
 *            returns
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_captures(struct sonde_blocks *blocks, uint64_t address,
                     struct sonde_block_capture *captures, size_t max, size_t *ret_count);

/* Kinds of wrapper blocks: blocks that run another block or function. */
enum sonde_block_wrapper {
    SONDE_BLOCK_WRAPPER_DISPATCH = 1, /* made by dispatch_block_create(); runs another block */
    SONDE_BLOCK_WRAPPER_SWIFT,        /* a Swift closure passed to Objective-C */
};

struct sonde_block_wrapped {
    size_t struct_bytes;   /* sizeof(struct sonde_block_wrapped) */
    uint8_t wrapper;       /* enum sonde_block_wrapper */
    uint64_t function;     /* that it runs in the end */
    uint64_t block;        /* DISPATCH: the block that it wraps */
    uint64_t queue, group; /* DISPATCH: objects; 0: none, or unknown */
    uint64_t context;      /* SWIFT: the closure's captures; 0: none */
};

/* Find what a wrapper block runs.
 *
 * Returns    OK | ABSENT (not a wrapper) | what sonde_block_inspect() returns
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_unwrap(struct sonde_blocks *blocks, uint64_t address,
                   struct sonde_block_wrapped *ret_wrapped);

/* Describes an object by calling the program's code (its `description`): write at most size_bytes
 * of text, NUL-terminated, and return 1; or return 0. That code may take locks and have side
 * effects.
 *
 * object      of an Objective-C class
 * class_name  valid during the call */
typedef int sonde_block_describer(void *ctx, uint64_t object, const char *class_name, char *text,
                                  size_t size_bytes);

/* Set the describer. Without one, no function here runs code of the program.
 *
 * describer  null: none
 *
 * Returns    OK | UNSUPPORTED (not of this process) | USAGE
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_blocks_set_describer(struct sonde_blocks *blocks, sonde_block_describer *describer,
                           void *ctx);

/* Describe an object that a block holds. Only an object that the block keeps alive, by its helpers
 * or their names, is asked: not a weak or unretained one, and not one that only the layout calls an
 * object. The block must be live on the heap and the object's class valid. The caller must make
 * sure that the block is not released meanwhile.
 *
 * address     of the block
 * offset      of the capture, as sonde_block_captures() gives it
 * box_offset  of a variable in the box that the capture refers to; -1: the capture itself
 * text        gets at most size_bytes, NUL-terminated
 *
 * Returns    OK | ABSENT (no describer; nil; no description) | DENIED (must not be
 *            asked) | what sonde_block_inspect() returns
 * Context    any thread, one at a time; not handler      Blocks  as the describer does
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_block_describe(struct sonde_blocks *blocks,
                                                                 uint64_t address, uint32_t offset,
                                                                 int32_t box_offset, char *text,
                                                                 size_t size_bytes);

/* List all blocks on the heap of this process or a core, by address. Stops no thread: blocks made
 * or released meanwhile may or may not be included. Searches writable memory; on Darwin, the
 * allocations of the heap's zones, each of which is locked while it is listed. If a zone does not
 * list its allocations, all writable memory is searched, and sonde_blocks_searched() tells.
 *
 * items      the caller's array of `max`
 * ret_count  how many there are, including those beyond `max`
 *
 * Returns    OK | LIMIT (`max` is too small) | UNSUPPORTED (a memory of callbacks) | TIMEOUT (a
 *            thread that does not run has the lock of a zone) | MEMORY | OS | USAGE
 * Context    any thread, one at a time; not handler
 * Blocks     some ten ms per GB of heap; for a zone's lock, until two seconds have passed
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_blocks_scan(struct sonde_blocks *blocks,
                                                              struct sonde_block *items, size_t max,
                                                              size_t *ret_count);

/* What a search looked at. */
struct sonde_block_search {
    size_t struct_bytes;       /* sizeof(struct sonde_block_search) */
    uint64_t searched_bytes;   /* of memory; where all zones list their allocations, of these */
    uint64_t unreadable_bytes; /* unmapped meanwhile, or missing in a core */
    uint64_t left_out_bytes;   /* too much to search */
    uint64_t stale;            /* what begins as a block, and is none (any more) */
    uint64_t allocations;      /* listed by the zones; 0: elsewhere than on Darwin */
    uint32_t zones;            /* of the heap; 0: elsewhere */
    uint32_t zones_unlisted;   /* of these; then all writable memory was searched */
    char note[120];            /* why the first of them was not listed, or did not answer; or "" */
};

/* Tell about the last search, by sonde_blocks_scan() or sonde_block_holders(). It is told also if
 * that failed.
 *
 * Returns    what the search returned (OK for LIMIT) | ABSENT (there was none) | USAGE
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_blocks_searched(const struct sonde_blocks *blocks, struct sonde_block_search *ret_search);

/* A reference to an object or block. */
struct sonde_block_holder {
    size_t struct_bytes; /* sizeof(struct sonde_block_holder) */
    uint64_t holder;     /* address of a block, an object, or memory reached from them */
    uint32_t offset; /* of the capture, variable or word in it; OBJECT: the word's that leads on */
    int32_t box_offset; /* in the __block variable's box that the capture leads to; -1: directly */
    uint8_t kind;       /* enum sonde_block_kind */
    uint8_t is_owned;   /* 0: it does not keep `address` alive */
    uint8_t is_block;   /* 0: an object or memory that a block holds */
    uint8_t is_certain; /* 0: a C++ object, an object or memory that may or may not own it */
};

/* List the blocks on the heap of this process or a core that hold `address`, and the objects held
 * by blocks that hold it. If memory of unknown layout refers to it (a vector's elements, say), that
 * memory is listed; call this again for its address.
 *
 * holders    the caller's array of `max`
 * ret_count  how many there are, including those beyond `max`
 *
 * Returns    as sonde_blocks_scan()
 * Context    any thread, one at a time; not handler      Blocks  as sonde_blocks_scan()
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_block_holders(struct sonde_blocks *blocks,
                                                                uint64_t address,
                                                                struct sonde_block_holder *holders,
                                                                size_t max, size_t *ret_count);

/* Print the block at an address to standard error, for a person at a debugger:
 *
 *     (gdb) call sonde_block_print(handler)      (lldb) expr sonde_block_print(handler)
 *
 * The process may be stopped anywhere, even inside malloc() or the loader: this uses no lock and no
 * heap. Any address may be given; if it holds no block, the output says so. A wrapper is shown with
 * the block that it runs. Names come from the symbol tables of the images' files, which are mapped
 * for the call. Variable names need debug information: the output gives the command that prints
 * them. errno is preserved.
 *
 * Context    any thread; not handler: uses about 2 KB of stack, and names from large images take
 *            time      Blocks  in writing      Ownership  nothing is transferred
 * Example    examples/debugger.c */
SONDE_API void sonde_block_print(const void *block);

/* For sonde_block_describe_install(). */
enum sonde_block_describe_flags {
    SONDE_BLOCK_DESCRIBE_OBJECTS = 1, /* add the `description` of objects that a block keeps alive:
                                       * runs code of the program */
};

/* Make blocks add what they hold to their `debugDescription`, so that `po` in lldb shows it. The
 * system's own text stays before it. Nothing is installed without this call: it replaces a method
 * of the class NSBlock. A description reads files of images, takes memory and locks, so it may wait
 * in a process that is stopped; sonde_block_print() does not.
 *
 * flags      SONDE_BLOCK_DESCRIBE_*, or 0
 *
 * Returns    OK | USAGE (installed already; unknown flags) | UNSUPPORTED (no Objective-C runtime of
 *            Apple's, or without NSBlock)
 * Context    any thread; not handler      Blocks  on a lock of ours, and the runtime's
 * Ownership  remove it with sonde_block_describe_remove()
 * Example    tests/darwin/programs/objc.m */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_block_describe_install(uint32_t flags);

/* Give NSBlock its own method back. A description that another thread has begun is finished. Does
 * nothing if none is installed.
 *
 * Context    any thread; not handler      Blocks  on a lock of ours, and the runtime's
 * Ownership  nothing is transferred
 * Example    tests/darwin/programs/objc.m */
SONDE_API void sonde_block_describe_remove(void);

/* Texts of enum sonde_block_kind ("strong") and enum sonde_block_source ("helper").
 *
 * Returns    a static string, for unknown values too
 * Context    handler      Blocks  no      Ownership  static */
SONDE_API const char *sonde_block_kind_text(unsigned kind);
SONDE_API const char *sonde_block_source_text(unsigned source);

#ifdef __cplusplus
}
#endif

#endif
