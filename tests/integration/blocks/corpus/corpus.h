// SPDX-License-Identifier: Apache-2.0
/* The corpus of blocks: what its sources share. Includes nothing, so that they compile for any
 * target without an SDK (Mach-O objects too).
 *
 * A case makes a block and shows it. What is captured comes from the functions below, which
 * remember each value that they give: where it stands in the block is seen, not calculated.
 * What the block's helpers own is seen by running them (truth.c). */
#ifndef SONDE_CORPUS_H
#define SONDE_CORPUS_H

#ifdef __cplusplus
#    define CORPUS_C extern "C"
#else
#    define CORPUS_C
#endif

/* The label of a C name. */
#ifdef __APPLE__
#    define CORPUS_LABEL(name) "_" name
#else
#    define CORPUS_LABEL(name) name
#endif

/* Values that the block stores as they are. A byte is too little to be found: bytes are not named.
 */
CORPUS_C short corpus_half(void);
CORPUS_C int corpus_int(void);
CORPUS_C long corpus_long(void);
CORPUS_C double corpus_real(void);
CORPUS_C float corpus_single(void);
CORPUS_C void *corpus_place(void);
/* An address of the case's own (a variable's, `this`). */
CORPUS_C void corpus_address(const void *address);

/* An object, +1; and one that the block is not to own. */
CORPUS_C void *corpus_object(void);
CORPUS_C void *corpus_loose(void);

/* One block of the case, on the stack or global; with its heap copy. */
CORPUS_C void corpus_show(const char *name, const void *block);
/* The same, but it is not copied: the block does not escape. */
CORPUS_C void corpus_show_here(const char *name, const void *block);

/* What constructors and destructors of C++ objects tell: the address of the object (or source). */
CORPUS_C void corpus_cxx(const void *object);

/* Is the block used so that nothing is left out? Called by the blocks, never run. */
CORPUS_C void corpus_use(const void *first, ...);

#ifdef __OBJC__
@class Thing;
@protocol Listener;
#    if __has_feature(objc_arc)
#        define OBJECT               ((__bridge_transfer Thing *)corpus_object())
#        define LOOSE                ((__bridge Thing *)corpus_loose())
#        define SHOW(name, ...)      corpus_show(name, (__bridge const void *)(__VA_ARGS__))
#        define SHOW_HERE(name, ...) corpus_show_here(name, (__bridge const void *)(__VA_ARGS__))
#        define USE(object)          corpus_use((__bridge const void *)(object))
#    else
#        define OBJECT               ((Thing *)corpus_loose()) /* nobody gives it back */
#        define LOOSE                ((Thing *)corpus_loose())
#        define SHOW(name, ...)      corpus_show(name, (const void *)(__VA_ARGS__))
#        define SHOW_HERE(name, ...) corpus_show_here(name, (const void *)(__VA_ARGS__))
#        define USE(object)          corpus_use((const void *)(object))
#    endif
#else
#    define SHOW(name, ...)      corpus_show(name, (const void *)(__VA_ARGS__))
#    define SHOW_HERE(name, ...) corpus_show_here(name, (const void *)(__VA_ARGS__))
#    define USE(object)          corpus_use((const void *)(object))
#endif
#define NUMBER(value)  corpus_use((const void *)0, (value))
#define PLACE(pointer) corpus_use((const void *)(pointer))

#ifdef __BLOCKS__
typedef void (^corpus_block)(void);
#endif
typedef float corpus_vec4 __attribute__((vector_size(16)));
typedef float corpus_vec8 __attribute__((vector_size(32)));

#endif
