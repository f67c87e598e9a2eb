// SPDX-License-Identifier: Apache-2.0
/* What the copy and dispose helpers of a block do, found by following their code.
 *
 * A helper is followed, not run: instruction by instruction (arch_insn.h) over a block that does
 * not exist, each of whose words holds a value of its own. Where such a value or the place of such
 * a word reaches a function that retains, releases, copies or destroys, the capture is known, and
 * how it is held. Calls are followed through stubs, slots and outlined code into functions of the
 * same image; where one cannot be followed, what it was given tells that something has a function
 * of its own there: a C++ object.
 *
 * Bounds: SONDE__BLOCK_STEPS_MAX instructions, SONDE__BLOCK_CALLS_MAX calls in each other, the
 * words that `struct sonde__block_work` has room for. Nothing of the target is written. */
#ifndef SONDE_BLOCK_BLOCK_HELPER_H
#define SONDE_BLOCK_BLOCK_HELPER_H

#include "block.h"

#define SONDE__BLOCK_STEPS_MAX 20000u
/* Of them, those that one call may take: then it is seen from outside. */
#define SONDE__BLOCK_CALL_STEPS_MAX 4000u
#define SONDE__BLOCK_CALLS_MAX      16u
/* Words that a helper may have written; the longest met wrote 60. A power of two. */
#define SONDE__BLOCK_WORDS_MAX 512u
/* Bytes of code that are read at once. */
#define SONDE__BLOCK_CODE_BYTES   128u
#define SONDE__BLOCK_CODE_WINDOWS 4u

/* Scratch memory, some 20 KiB: the caller's, of any content. */
struct sonde__block_work {
    struct {
        uint64_t address, value; /* of 8 aligned bytes; address 0: free */
    } words[SONDE__BLOCK_WORDS_MAX];
    struct {
        uint16_t slot;
        uint64_t address, value; /* as they were before */
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

/* The result of following one helper. */
struct sonde__block_followed {
    const char *problem; /* null: to its end; else why it was left (static text): what was claimed
                            until then holds, more may be missing */
    uint64_t at;         /* the instruction that it was left at */
    uint32_t steps;
};

/* begin, size  offsets in which captures lie: of a block 32 and its size; of a box 24 and its size
 * Claims are added as BY_HELPER, each thing once, in the order in which the helper comes to
 * them. */
void sonde__block_helper_claims(const struct sonde__block_memory *memory, uint64_t helper,
                                enum sonde__block_helper_form form, uint32_t begin, uint32_t size,
                                struct sonde__block_work *work, struct sonde__block_claims *claims,
                                struct sonde__block_followed *ret_followed);

/* What a function of this name does to its arguments, as far as it concerns captures. */
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
    SONDE__BLOCK_ENTRY_ATOMIC,  /* libgcc's, for aarch64: argument 1 or 2 is the place */
    SONDE__BLOCK_ENTRY_NEW,     /* memory of the heap */
    SONDE__BLOCK_ENTRY_IGNORE,  /* free and the like */
    SONDE__BLOCK_ENTRY_END,     /* does not come back */
};
/* ret_register: for objc_retain_x19 and its kin the argument's register, else 0xff. */
enum sonde__block_entry sonde__block_entry_of(const char *name, unsigned *ret_register);

#endif
