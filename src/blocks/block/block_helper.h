// SPDX-License-Identifier: Apache-2.0
/* Emulates the copy and dispose helpers of a block.
 *
 * Code is interpreted (arch_insn.h), never run, on a made-up block in which each word has a
 * distinct value. If such a value, or the address of such a word, reaches a function that retains,
 * releases, copies or destroys, the capture and its ownership are known. Calls are followed through
 * stubs, slots and outlined code within the image. A call that cannot be followed, with the address
 * of a capture as argument, shows a capture with functions of its own: a C++ object.
 *
 * Bounds: SONDE__BLOCK_STEPS_MAX instructions, SONDE__BLOCK_CALLS_MAX nested calls, and the words
 * in `struct sonde__block_work`. Nothing is written to the target. */
#ifndef SONDE_BLOCK_BLOCK_HELPER_H
#define SONDE_BLOCK_BLOCK_HELPER_H

#include "block.h"

#define SONDE__BLOCK_STEPS_MAX 20000u
/* Instructions of one call; a call that takes more is judged by its arguments. */
#define SONDE__BLOCK_CALL_STEPS_MAX 4000u
#define SONDE__BLOCK_CALLS_MAX      16u
/* Words that a helper may write; the most met is 60. A power of two. */
#define SONDE__BLOCK_WORDS_MAX 512u
/* Bytes of code that are read at once. */
#define SONDE__BLOCK_CODE_BYTES   128u
#define SONDE__BLOCK_CODE_WINDOWS 4u

/* Work space, some 20 KiB, provided uninitialised by the caller. */
struct sonde__block_work {
    struct {
        uint64_t address, value; /* of 8 aligned bytes; address 0: free */
    } words[SONDE__BLOCK_WORDS_MAX];
    struct {
        uint16_t slot;
        uint64_t address, value; /* before the write */
    } undo[SONDE__BLOCK_WORDS_MAX];
    uint32_t word_count, undo_count;
    struct {
        uint64_t address;
        uint8_t code[SONDE__BLOCK_CODE_BYTES];
        uint32_t size;
    } windows[SONDE__BLOCK_CODE_WINDOWS];
    uint32_t next_window;
};

enum sonde__block_helper_form {
    SONDE__BLOCK_HELPER_COPY,
    SONDE__BLOCK_HELPER_DISPOSE,
};

/* The result of emulating one helper. */
struct sonde__block_followed {
    const char *problem; /* null: it ran to its end; else why it stopped: claims are correct, more
                          * may be missing */
    uint64_t at;         /* address of the instruction that it stopped at */
    uint32_t steps;
};

/* begin, size  the offsets of captures: of a block 32 and its size; of a box 24 and its size.
 * Claims are added as BY_HELPER, each once, in the order in which the helper touches them. */
void sonde__block_helper_claims(const struct sonde__block_memory *memory, uint64_t helper,
                                enum sonde__block_helper_form form, uint32_t begin, uint32_t size,
                                struct sonde__block_work *work, struct sonde__block_claims *claims,
                                struct sonde__block_followed *ret_followed);

/* The effect of a runtime function on captures. */
enum sonde__block_entry {
    SONDE__BLOCK_ENTRY_NONE,
    SONDE__BLOCK_ENTRY_RETAIN,  /* and release: of argument 0 */
    SONDE__BLOCK_ENTRY_BLOCK,   /* the same, of a block */
    SONDE__BLOCK_ENTRY_STORE,   /* argument 0 is the place, 1 the object */
    SONDE__BLOCK_ENTRY_WEAK,    /* argument 1 (copy), else 0, is the place of a weak reference */
    SONDE__BLOCK_ENTRY_ASSIGN,  /* _Block_object_assign: place, object, flags */
    SONDE__BLOCK_ENTRY_DISPOSE, /* _Block_object_dispose: object, flags */
    SONDE__BLOCK_ENTRY_COPY,    /* memcpy */
    SONDE__BLOCK_ENTRY_FILL,    /* memset */
    SONDE__BLOCK_ENTRY_ZERO,    /* bzero */
    SONDE__BLOCK_ENTRY_ATOMIC,  /* libgcc's, for aarch64: argument 1 or 2 is the address */
    SONDE__BLOCK_ENTRY_NEW,     /* allocates heap memory */
    SONDE__BLOCK_ENTRY_IGNORE,  /* free and the like */
    SONDE__BLOCK_ENTRY_END,     /* does not return */
};
/* ret_register: the argument's register for objc_retain_x19 and the like, else 0xff. */
enum sonde__block_entry sonde__block_entry_of(const char *name, unsigned *ret_register);

#endif
