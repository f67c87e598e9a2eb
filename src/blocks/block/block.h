// SPDX-License-Identifier: Apache-2.0
/* Reads blocks and their captures from untrusted memory: of this process, another one, a core, a
 * file.
 *
 * No code of the target is run, and all reads go through the caller's function. Offsets are bounded
 * by the size of the block, loops by named limits. No heap, no lock: the caller provides lists and
 * work space. Contradictions are reported in `problem`.
 *
 * Sources: libclosure's Block_private.h and runtime.cpp (the newest); clang's CGBlocks.cpp and
 * CGObjCMac.cpp for what compilers emit. 64-bit little-endian targets. Context: any thread. */
#ifndef SONDE_BLOCK_BLOCK_H
#define SONDE_BLOCK_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/block.h>
#include <sonde/status.h>

#define SONDE__BLOCK_HEADER_BYTES 32u
/* Larger ones are corrupt: the largest captured array met has some KiB. */
#define SONDE__BLOCK_SIZE_MAX  (1u << 20)
#define SONDE__BLOCK_BYREF_MAX (1u << 20)
/* Limit of a signature or layout; the longest signature met has 788 bytes. */
#define SONDE__BLOCK_TEXT_MAX 4096u

/* The target. Addresses are below 1 << 48, in the target's coordinates. In a file they are vaddrs,
 * with pointers as the loader would set them: rebased, and each import with a made-up address that
 * `name` knows. */
struct sonde__block_memory {
    unsigned arch; /* enum sonde_arch */
    /* Read all of [address, address + size), or false. Must accept any address, also ranges that
     * wrap. */
    bool (*read)(void *ctx, uint64_t address, void *buffer, size_t size);
    /* The name of the symbol that begins exactly at this address, or null. NUL-terminated; valid as
     * long as the target. The function may be null. */
    const char *(*name)(void *ctx, uint64_t address);
    void *ctx;
};

/* Read a NUL-terminated text in pieces that cross no page.
 * capacity  of `buffer`, with the NUL
 * False: it does not end within the capacity, or could not be read. */
bool sonde__block_read_text(const struct sonde__block_memory *memory, uint64_t address,
                            char *buffer, size_t capacity, size_t *ret_length);

/* --- header --- */

/* The 32 bytes at the address of a block, with signatures (PAC) stripped off pointers. */
struct sonde__block_literal {
    uint64_t address;
    uint64_t isa, invoke, descriptor;
    uint32_t flags; /* SONDE_BLOCK_* and the runtime's reference count */
    uint32_t reserved;
};

/* Returns OK | UNREADABLE | CORRUPT (no block can be here: not aligned, or without isa, invoke or
 * descriptor). */
SONDE_NODISCARD enum sonde_status
sonde__block_literal_read(const struct sonde__block_memory *memory, uint64_t address,
                          struct sonde__block_literal *ret_literal);
/* The same for a header that was read already, as four words. Returns OK | CORRUPT. */
SONDE_NODISCARD enum sonde_status sonde__block_literal_of(unsigned arch, uint64_t address,
                                                          const uint64_t header[4],
                                                          struct sonde__block_literal *ret_literal);

/* --- descriptor --- */

enum sonde__block_layout_form {
    SONDE__BLOCK_LAYOUT_NONE,   /* the flags say so; or the slot is empty, which says nothing: GNU
                                   runtimes never fill it */
    SONDE__BLOCK_LAYOUT_INLINE, /* `layout` is the number 0xXYZ */
    SONDE__BLOCK_LAYOUT_STRING, /* `layout` is the address of the codes */
};

/* How a runtime copies captures without a helper (bits 14 and 15 of the descriptor's flags). */
enum sonde__block_generic_form {
    SONDE__BLOCK_GENERIC_NONE,
    SONDE__BLOCK_GENERIC_LAYOUT, /* by the layout */
    SONDE__BLOCK_GENERIC_INLINE, /* `generic` is the number */
    SONDE__BLOCK_GENERIC_STRING, /* `generic` is the address of the codes */
};

struct sonde__block_desc {
    uint64_t address;
    uint32_t flags;         /* the flags given by the caller */
    uint32_t size;          /* bytes of the block; exact, not rounded */
    bool is_small;          /* relative pointers */
    uint32_t own_flags;     /* of the descriptor itself; 0: none */
    uint64_t copy, dispose; /* 0: none */
    uint64_t signature;     /* of the text; 0: none */
    uint8_t layout_form;    /* enum sonde__block_layout_form */
    uint8_t generic_form;   /* enum sonde__block_generic_form */
    uint64_t layout, generic;
    const char *problem; /* what could not be used (static text), or null */
};

/* Read a descriptor.
 * flags: of a block that has it; without a block (in a file) the caller derives them: HAS_HELPERS
 * decides where the fields are, HAS_SIGNATURE and HAS_LAYOUT whether the slots after them are read.
 * Swift's descriptors have no layout slot, its blocks no HAS_LAYOUT.
 * Returns OK | UNREADABLE | CORRUPT (not aligned, or an impossible size). */
SONDE_NODISCARD enum sonde_status sonde__block_desc_read(const struct sonde__block_memory *memory,
                                                         uint64_t address, uint32_t flags,
                                                         struct sonde__block_desc *ret_desc);

/* --- claims of one source --- */

/* What one source says about bytes [offset, offset + size) of the block. */
struct sonde__block_claim {
    uint32_t offset, size; /* size 0: unknown */
    uint8_t kind;          /* enum sonde_block_kind */
    uint8_t source;        /* enum sonde_block_source */
    bool inside;           /* part of the object claimed before it */
    const char *type; /* encoded name of a C++ type, or of the parts of a C struct, inside the name
                         that was read; not NUL-terminated; null: none */
    uint32_t type_size;
};

/* A list in the caller's memory. Items that do not fit are counted. */
struct sonde__block_claims {
    struct sonde__block_claim *items;
    size_t count, capacity;
    uint64_t lost;
};

/* Read the extended layout as it is, mistakes included.
 * begin, end  offsets that it covers: 32 and the size of a block, or those of the variable in a box
 * source      BY_LAYOUT, or BY_GENERIC if the runtime copies by it (then only owned captures)
 * Returns null, or why reading stopped (static text; earlier claims were added). */
const char *sonde__block_layout_claims(const struct sonde__block_memory *memory, uint8_t form,
                                       uint64_t layout, uint32_t begin, uint32_t end,
                                       enum sonde_block_source source,
                                       struct sonde__block_claims *claims);
/* Read the codes that a runtime copies by, of a descriptor whose generic_form is not NONE. Returns
 * as above. */
const char *sonde__block_generic_claims(const struct sonde__block_memory *memory,
                                        const struct sonde__block_desc *desc,
                                        struct sonde__block_claims *claims);

/* --- names --- */

enum sonde__block_name_form {
    SONDE__BLOCK_NAME_OTHER, /* not of a block, or too old to have information */
    SONDE__BLOCK_NAME_DESC,
    SONDE__BLOCK_NAME_COPY,
    SONDE__BLOCK_NAME_DISPOSE,
};

struct sonde__block_name {
    uint8_t form;
    uint32_t size;         /* DESC: bytes of the block */
    bool has_helpers;      /* DESC */
    bool is_arc;           /* it uses automatic reference counting */
    const char *signature; /* DESC: in the name, '@' written as \1; null: none */
    size_t signature_size;
};

/* Read what clang encodes in the symbol of a descriptor, a copy helper or a dispose helper;
 * Mach-O's extra underscore included. Claims are added as BY_DESCRIPTOR_NAME or BY_HELPER_NAME;
 * `claims` may be null. Returns the form; OTHER also if the name is truncated or of another grammar
 * (then no claim is added). */
enum sonde__block_name_form sonde__block_name_read(const char *name,
                                                   struct sonde__block_claims *claims,
                                                   struct sonde__block_name *ret_name);

/* Read the parts of a non-trivial C struct from the encoding in its functions' names
 * ("8_8_s0_t8w8_w16"), as claims in an object at `base`. False: unknown grammar; no claim is
 * added. */
bool sonde__block_struct_claims(const char *text, size_t size, uint32_t base,
                                enum sonde_block_source source, struct sonde__block_claims *claims);

/* --- __block variables --- */

enum sonde__block_byref_kind {                            /* bits 28 to 31 of the flags */
                               SONDE__BLOCK_BYREF_UNSAID, /* C */
                               SONDE__BLOCK_BYREF_LAYOUT,
                               SONDE__BLOCK_BYREF_DATA,
                               SONDE__BLOCK_BYREF_STRONG,
                               SONDE__BLOCK_BYREF_WEAK,
                               SONDE__BLOCK_BYREF_UNRETAINED,
};

struct sonde__block_byref {
    uint64_t address; /* of the current box, to which `forwarding` points */
    uint64_t asked;   /* the pointer in the capture */
    uint64_t isa;
    uint32_t flags, size;
    uint8_t kind;           /* enum sonde__block_byref_kind */
    uint64_t copy, dispose; /* 0: none */
    uint64_t layout;        /* kind LAYOUT: inline, or an address */
    uint32_t variable;      /* lowest possible offset; its alignment may put it later */
    bool is_heap;           /* bit NEEDS_FREE, or libobjc2's mark */
};

/* Read the box of a BYREF capture, following `forwarding` once.
 * Returns OK | UNREADABLE | CORRUPT (the box does not forward to itself; impossible size). */
SONDE_NODISCARD enum sonde_status sonde__block_byref_read(const struct sonde__block_memory *memory,
                                                          uint64_t address,
                                                          struct sonde__block_byref *ret_byref);

/* --- wrapping blocks --- */

enum sonde__block_wrapped_form {
    SONDE__BLOCK_WRAPPED_DISPATCH, /* of dispatch_block_create(): another block, and where it runs
                                    */
    SONDE__BLOCK_WRAPPED_SWIFT,    /* a Swift closure that was passed to Objective-C */
};

struct sonde__block_wrapped {
    uint8_t form;          /* enum sonde__block_wrapped_form */
    uint64_t function;     /* the function that runs in the end */
    uint64_t block;        /* DISPATCH: the block that is run */
    uint64_t group, queue; /* DISPATCH: objects; 0: none, or unknown in old versions */
    uint64_t context;      /* SWIFT: the context of the closure; 0: none */
};

/* libdispatch's blocks are recognised by a magic number, Swift's by the thunk's name, so only with
 * symbols.
 * size  of the block, from its descriptor
 * False: not a wrapper, or its content could not be read. */
bool sonde__block_unwrap(const struct sonde__block_memory *memory,
                         const struct sonde__block_literal *literal, uint32_t size,
                         struct sonde__block_wrapped *ret_wrapped);

/* Is it the name of a Swift thunk, whose block only runs a closure? */
bool sonde__block_is_thunk(const char *name);
/* The offset of the closure's function in such a block. */
#define SONDE__BLOCK_THUNK_FUNCTION 32u

/* --- signatures --- */

struct sonde__text;

/* "v24@?0@\"MLModel\"8@\"NSError\"16" -> "void (^)(MLModel *, NSError *)": the C type of a block
 * from its encoding (Objective-C's type encodings, with clang's extensions for blocks). \1 means
 * '@' (in symbols). A function pointer, whose type encodings leave out, becomes `void *` with a
 * comment, a struct without a name `struct {...}`.
 * name  of the declared variable, or null
 * False: not understood; `out` is unchanged. */
bool sonde__block_signature(const char *encoding, size_t size, const char *name,
                            struct sonde__text *out);

/* --- runtimes --- */

/* The block runtime, known by symbols of the image that defines _NSConcreteStackBlock. */
enum sonde__block_runtime {
    SONDE__BLOCK_RUNTIME_UNKNOWN,
    SONDE__BLOCK_RUNTIME_APPLE, /* libclosure; swift-corelibs' is equal in all that is read here */
    SONDE__BLOCK_RUNTIME_COMPILER_RT, /* libBlocksRuntime: no malloc isa, counts by one */
    SONDE__BLOCK_RUNTIME_OBJC2,       /* GNUstep libobjc2: the count is in `reserved` */
};

/* has_symbol: does the image define this name? */
enum sonde__block_runtime sonde__block_runtime_of(bool (*has_symbol)(void *ctx, const char *name),
                                                  void *ctx);
/* The class that a symbol names: "_NSConcreteStackBlock" and the like. */
enum sonde__block_class {
    SONDE__BLOCK_CLASS_OTHER,
    SONDE__BLOCK_CLASS_STACK,
    SONDE__BLOCK_CLASS_MALLOC,
    SONDE__BLOCK_CLASS_GLOBAL,
    SONDE__BLOCK_CLASS_GC, /* finalizing, auto and weak ones, of the garbage collector */
};
enum sonde__block_class sonde__block_class_of(const char *symbol);

enum sonde__block_place {
    SONDE__BLOCK_PLACE_STACK,
    SONDE__BLOCK_PLACE_HEAP,
    SONDE__BLOCK_PLACE_GLOBAL,
    SONDE__BLOCK_PLACE_DEAD, /* was on the heap, released for the last time */
};

struct sonde__block_state {
    uint8_t place;      /* enum sonde__block_place */
    bool is_count_full; /* saturated: the block is never freed */
    uint32_t count;     /* references; HEAP only */
};

void sonde__block_state_of(const struct sonde__block_literal *literal,
                           enum sonde__block_runtime runtime, enum sonde__block_class isa,
                           struct sonde__block_state *ret_state);

#endif
