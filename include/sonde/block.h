// SPDX-License-Identifier: Apache-2.0
/* Blocks: the closures of Clang (`^{ ... }` in C, C++ and Objective-C), and what they hold.
 *
 * A block is a struct: five words of header, then its captures. What a capture is, is not written
 * in it; it is known from several sources, which disagree at times. So each answer says from where
 * it is known. Source: the Block ABI (clang.llvm.org/docs/Block-ABI-Apple.html) and Apple's
 * libclosure. */
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
    X(UNKNOWN, "unknown")       /* managed by the block, not known how; or told of by its layout   \
                                   alone */                                                        \
    X(STRONG, "strong")         /* an object that the block retains */                             \
    X(WEAK, "weak")             /* an object by a weak reference: zeroed when that dies */         \
    X(UNRETAINED, "unretained") /* an object that the block does not keep alive */                 \
    X(BLOCK, "block")                                                                              \
    X(BYREF, "byref")       /* a __block variable, in a box that is shared */                      \
    X(OBJECT, "C++ object") /* what is copied by a function of its own: a C++ object, or a C       \
                               struct with objects in it */                                        \
    X(DATA, "data")         /* plain bytes */

enum sonde_block_kind {
#define SONDE_BLOCK_KIND_ENUM_(name, text) SONDE_BLOCK_##name,
    SONDE_BLOCK_KIND_MAP(SONDE_BLOCK_KIND_ENUM_)
#undef SONDE_BLOCK_KIND_ENUM_
};

/* name, text. How a capture is known, the most reliable first. */
#define SONDE_BLOCK_SOURCE_MAP(X)                                                                  \
    X(HELPER, "helper")           /* the code that copies and disposes of captures */              \
    X(GENERIC, "generic helper")  /* the list that the runtime uses in the place of that code */   \
    X(HELPER_NAME, "helper name") /* the compiler writes kinds and offsets into these names */     \
    X(DESC_NAME, "descriptor name")                                                                \
    X(LAYOUT, "layout") /* for collectors and debuggers; wrong for some captures */                \
    X(DWARF, "DWARF")   /* names, types, sizes; not who owns an object */

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

/* A memory with blocks: this process, a core, or whatever callbacks read. It keeps what it learns
 * of a kind of block, so the second one of a kind costs little. */
struct sonde_blocks;

/* Of this process. Images that are loaded later are not known: open it again.
 *
 * ret_error  details of a failure; may be null
 *
 * Returns    OK | ABSENT (no image has a block runtime) | UNSUPPORTED (an emulator) | MEMORY | OS
 * Context    any thread; not handler      Blocks  reads files: the symbols of all images
 * Ownership  the caller's: sonde_blocks_close()
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_blocks_open(struct sonde_blocks **ret_blocks,
                                                              struct sonde_error *ret_error);

/* Of a core file, of either architecture on any host: what sonde_blocks_scan() and
 * sonde_block_holders() search is then the core's memory. What a core leaves out because a file has
 * it comes from that file; a core that is cut short has fewer blocks.
 *
 * program    the core's program, when the core's own path is not right; or null. It is used when
 * its build-id is the core's ret_error  details of a failure; may be null
 *
 * Returns    OK | ABSENT (no such file; no image has a block runtime) | UNSUPPORTED (no core; 32
 *            bits) | CORRUPT | DENIED | MEMORY | OS | USAGE
 * Context    any thread; not handler      Blocks  reads files: the symbols of all images
 * Ownership  the caller's: sonde_blocks_close()
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_blocks_open_core(const char *path,
                                                                   const char *program,
                                                                   struct sonde_blocks **ret_blocks,
                                                                   struct sonde_error *ret_error);

/* Another memory: another process', an image of one. */
struct sonde_block_memory {
    size_t struct_bytes; /* sizeof(struct sonde_block_memory) */
    uint32_t arch;       /* enum sonde_arch; not OTHER */
    /* Read all of [address, address + size_bytes) and return 1, or return 0. Any address may come.
     */
    int (*read)(void *ctx, uint64_t address, void *buffer, size_t size_bytes);
    /* The symbol that begins at an address, or null; valid until the blocks are closed. The names
     * of runtime functions tell what helpers do. May be null itself. */
    const char *(*name)(void *ctx, uint64_t address);
    void *ctx;
};

/* Returns    OK | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_blocks_close(); what `memory` points to is copied
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_blocks_open_memory(const struct sonde_block_memory *memory, struct sonde_blocks **ret_blocks);

/* blocks  may be null
 *
 * Context    any thread, when no other one uses it; not handler      Blocks  no
 * Ownership  frees it and every string that it gave
 * Example    examples/blocks.c */
SONDE_API void sonde_blocks_close(struct sonde_blocks *blocks);

/* One block. */
struct sonde_block {
    size_t struct_bytes; /* sizeof(struct sonde_block) */
    uint64_t address, invoke, descriptor;
    uint32_t flags;      /* SONDE_BLOCK_* */
    uint32_t size_bytes; /* header and captures */
    uint32_t references; /* of one on the heap; 0: not known */
    uint32_t captures;   /* of sonde_block_captures() */
};

/* What is at an address. Nothing is believed that is not checked, and nothing of it is run; a wrong
 * address is told from a block as far as that can be: not a stack's garbage.
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
    uint32_t size_bytes; /* 0: not known */
    uint8_t kind;        /* enum sonde_block_kind */
    uint8_t is_owned;    /* the block keeps it alive */
    uint8_t is_part;     /* of the object before it */
    uint8_t denied;      /* another kind that a source says; UNKNOWN: none does */
    uint8_t denied_by;   /* that source */
    uint32_t sources; /* bits 1 << enum sonde_block_source that say this kind; 0: none knows it */
    uint64_t value;   /* the word that is there; of data smaller than a word its bytes */
};

/* What a block holds, by offset.
 *
 * captures   the caller's array of `max`
 * ret_count  how many there are, also beyond `max`
 *
 * Returns    OK | LIMIT (`max` is too small: the first are there) | what sonde_block_inspect()
 *            returns
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_captures(struct sonde_blocks *blocks, uint64_t address,
                     struct sonde_block_capture *captures, size_t max, size_t *ret_count);

/* What a block that was made to hand something on runs in the end. */
enum sonde_block_wrapper {
    SONDE_BLOCK_WRAPPER_DISPATCH = 1, /* of dispatch_block_create(): another block */
    SONDE_BLOCK_WRAPPER_SWIFT,        /* a closure of Swift, handed to Objective-C */
};

struct sonde_block_wrapped {
    size_t struct_bytes;   /* sizeof(struct sonde_block_wrapped) */
    uint8_t wrapper;       /* enum sonde_block_wrapper */
    uint64_t function;     /* whose code is run */
    uint64_t block;        /* DISPATCH: the block that it is of */
    uint64_t queue, group; /* DISPATCH: objects; 0: none, or not known */
    uint64_t context;      /* SWIFT: what the closure has captured; 0: nothing */
};

/* Returns    OK | ABSENT (it runs code of its own) | what sonde_block_inspect() returns
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_unwrap(struct sonde_blocks *blocks, uint64_t address,
                   struct sonde_block_wrapped *ret_wrapped);

/* What an object says of itself, in the program's own words (its `description`): write a
 * NUL-terminated text of at most size_bytes and return 1, or return 0. It is code of the program:
 * it may take locks and change things.
 *
 * object      of a class of Objective-C
 * class_name  valid during the call */
typedef int sonde_block_describer(void *ctx, uint64_t object, const char *class_name, char *text,
                                  size_t size_bytes);

/* Who is asked. Off until this is called: nothing else here runs code of the program.
 *
 * describer  null: off again
 *
 * Returns    OK | UNSUPPORTED (not of this process) | USAGE
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_blocks_set_describer(struct sonde_blocks *blocks, sonde_block_describer *describer,
                           void *ctx);

/* The text of an object that a block holds. Only one that the block is known to keep alive is
 * asked, by the word of its helpers or their names: not what is weak or not retained, nor what the
 * layout alone calls an object; and only of a live block of the heap, when its class is one. The
 * caller sees to it that nobody releases the block meanwhile.
 *
 * address     of the block
 * offset      of the capture, as sonde_block_captures() gives it
 * box_offset  of the variable in a __block variable's box that the capture leads to; -1: of none
 * text        gets at most size_bytes, NUL-terminated
 *
 * Returns    OK | ABSENT (no describer; nil; it had nothing to say) | DENIED (it is not to be
 *            asked) | what sonde_block_inspect() returns
 * Context    any thread, one at a time; not handler      Blocks  as the describer does
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_block_describe(struct sonde_blocks *blocks,
                                                                 uint64_t address, uint32_t offset,
                                                                 int32_t box_offset, char *text,
                                                                 size_t size_bytes);

/* All blocks on the heap of this process or a core, by address: its writable memory is searched,
 * without stopping anything. Blocks that are made or released meanwhile may be there or not.
 *
 * items      the caller's array of `max`
 * ret_count  how many there are, also beyond `max`
 *
 * Returns    OK | LIMIT (`max` is too small) | UNSUPPORTED (a memory of callbacks) | MEMORY | OS |
 *            USAGE
 * Context    any thread, one at a time; not handler
 * Blocks     some ten ms for each GB of the heap
 * Ownership  nothing is transferred
 * Example    examples/blocks.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_blocks_scan(struct sonde_blocks *blocks,
                                                              struct sonde_block *items, size_t max,
                                                              size_t *ret_count);

/* Who leads to an object or block. */
struct sonde_block_holder {
    size_t struct_bytes; /* sizeof(struct sonde_block_holder) */
    uint64_t holder;     /* address of a block, of an object, or of memory that they lead to */
    uint32_t offset; /* of the capture, variable or word in it; OBJECT: the word's that leads on */
    int32_t box_offset; /* in the __block variable's box that the capture leads to; -1: directly */
    uint8_t kind;       /* enum sonde_block_kind */
    uint8_t is_owned;   /* else it does not keep it alive */
    uint8_t is_block;   /* else an object, or memory, which a block holds */
    uint8_t is_certain; /* 0: a C++ object, an object or memory of which it is not known what it
                           owns */
};

/* Which blocks on the heap of this process or a core hold `address`, and which objects that blocks
 * hold do. Where memory of no known form leads to it (a vector's elements, say), that is given; ask
 * again who holds it.
 *
 * holders    the caller's array of `max`
 * ret_count  how many there are, also beyond `max`
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
 * To be called in a process that is stopped anywhere, inside of malloc() or of the loader, too:
 * takes no lock and no memory of the heap. Any address may be given; what is no block is said.
 * A block that only runs another one is shown with that. Names are those of the symbol tables of
 * the images' files, which are mapped for the call; variables have no names here, which debug
 * information would tell: the command that prints them is named. errno stays as it is.
 *
 * Context    any thread; not handler: about 2 KB of stack, and the names of large images take their
 *            time      Blocks  in writing      Ownership  nothing is transferred
 * Example    examples/debugger.c */
SONDE_API void sonde_block_print(const void *block);

/* Text of an enum sonde_block_kind ("strong") and of an enum sonde_block_source ("helper").
 *
 * Returns    a static string, also for numbers that are none
 * Context    handler      Blocks  no      Ownership  static */
SONDE_API const char *sonde_block_kind_text(unsigned kind);
SONDE_API const char *sonde_block_source_text(unsigned source);

#ifdef __cplusplus
}
#endif

#endif
