// SPDX-License-Identifier: Apache-2.0
/* What a block holds, from all that is known of it: each capture with the sources that say so and
 * those that say something else.
 *
 * Precedence: the helper's code (or the runtime's list), then its name, then the descriptor's name,
 * then the layout. The layout alone decides nothing about ownership: what the helpers, followed to
 * their end, do not touch is not owned. Debug information adds names, types and sizes, and with it
 * every byte is accounted for; without it, bytes that nothing is known of are one capture of data
 * each run, also behind the first word of an object whose size nobody tells. Context: any thread;
 * no heap, no lock. */
#ifndef SONDE_BLOCK_BLOCK_CAPTURES_H
#define SONDE_BLOCK_BLOCK_CAPTURES_H

#include "block_helper.h"

/* Claims of one source that are looked at; the most met is 40. */
#define SONDE__BLOCK_CLAIMS_MAX 256u

/* One captured variable as debug information has it: the caller's words for a member of the block's
 * struct. */
enum sonde__block_member_form {
    SONDE__BLOCK_MEMBER_OTHER,
    SONDE__BLOCK_MEMBER_OBJECT, /* a pointer to an Objective-C object; id; Class */
    SONDE__BLOCK_MEMBER_BLOCK,  /* a block pointer */
    SONDE__BLOCK_MEMBER_BYREF,  /* a pointer to the box of a __block variable */
};

/* What a variable's bytes mean. */
enum sonde__block_member_value {
    SONDE__BLOCK_VALUE_BYTES, /* a struct, an array; not known */
    SONDE__BLOCK_VALUE_SIGNED,
    SONDE__BLOCK_VALUE_UNSIGNED,
    SONDE__BLOCK_VALUE_CHARACTER,
    SONDE__BLOCK_VALUE_BOOLEAN,
    SONDE__BLOCK_VALUE_REAL,
    SONDE__BLOCK_VALUE_ADDRESS,
};

struct sonde__block_member {
    uint32_t offset, size;        /* bytes */
    uint8_t bit_offset, bit_size; /* of a bit-field; bit_size 0: none */
    uint8_t form;                 /* enum sonde__block_member_form */
    uint8_t value;                /* enum sonde__block_member_value; BYREF: of the variable */
    const char *name, *type;      /* the caller's; type as C text; null: not known */
    const char *declaration;      /* the same in one: "int (*f)(void)", of BYREF the variable's */
    /* BYREF: the variable in the box; size 0: not known */
    uint32_t variable_offset, variable_size;
    uint8_t variable_form;
    const char *variable_type;
};

#define SONDE__BLOCK_UNSAID 0xffu

struct sonde__block_capture {
    uint32_t offset, size; /* size 0: not known (an object of C++ without debug information) */
    uint8_t kind;          /* enum sonde_block_kind */
    bool inside;           /* a part of the object before it that is none of these itself */
    uint8_t sources;       /* bit n: source n (enum sonde_block_source) says this */
    uint8_t against;     /* bit n: source n says something else, or, followed to its end, nothing */
    uint8_t said[6];     /* by source: the kind, or SONDE__BLOCK_UNSAID */
    const char *encoded; /* C++ type, C struct or copying function as encoded in a name, or null */
    uint32_t encoded_size;
    const struct sonde__block_member *member; /* the caller's, or null */
};

struct sonde__block_captures {
    struct sonde__block_capture *items; /* the caller's; by offset, parts behind what they are in */
    size_t count, capacity;
    uint64_t lost;       /* captures that did not fit, or claims beyond SONDE__BLOCK_CLAIMS_MAX */
    bool is_owned_known; /* all that the block owns is among them */
    uint32_t steps;      /* instructions of helpers that were followed */
    const char *helper_problem, *layout_problem; /* static texts, or null */
    uint64_t helper_problem_at;
};

/* Scratch memory, some 35 KiB: the caller's, of any content. */
struct sonde__block_scratch {
    struct sonde__block_work work;
    struct sonde__block_claim claims[SONDE__BLOCK_CLAIMS_MAX];
};

/* members: of debug information, by offset; count 0: none. ret_captures: items and capacity are
 * the caller's, the rest is written. */
void sonde__block_captures(const struct sonde__block_memory *memory,
                           const struct sonde__block_desc *desc,
                           const struct sonde__block_member *members, size_t member_count,
                           struct sonde__block_scratch *scratch,
                           struct sonde__block_captures *ret_captures);

/* What the variable in a box is; of a struct, its parts. member: of the block's capture, or null.
 */
void sonde__block_byref_captures(const struct sonde__block_memory *memory,
                                 const struct sonde__block_byref *byref,
                                 const struct sonde__block_member *member,
                                 struct sonde__block_scratch *scratch,
                                 struct sonde__block_captures *ret_captures);

#endif
