// SPDX-License-Identifier: Apache-2.0
/* Blocks: the closures of Clang (`^{ ... }` in C, C++ and Objective-C), and what they hold.
 *
 * A block is a struct: five words of header, then its captures. What a capture is, is not written
 * in it; it is known from several sources, which disagree at times. So each answer says from where
 * it is known. Source: the Block ABI (clang.llvm.org/docs/Block-ABI-Apple.html) and Apple's
 * libclosure. */
#ifndef SONDE_BLOCK_H
#define SONDE_BLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, text. What a captured variable is to the block. New ones are added at the end. */
#define SONDE_BLOCK_KIND_MAP(X)                                                                    \
    X(UNKNOWN, "unknown")       /* managed by the block, not known how */                          \
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

#ifdef __cplusplus
}
#endif

#endif
