// SPDX-License-Identifier: Apache-2.0
/* Merges all sources: each capture of a block with the sources that claim it and those that
 * contradict.
 *
 * Precedence: the helper's code (or the runtime's list), the helper's name, the descriptor's name,
 * the layout. The layout alone never decides ownership: a capture that completely followed helpers
 * do not touch is not owned. Debug information adds names, types and sizes, and accounts for every
 * byte. Without it each run of unknown bytes is one data capture, also after the first word of an
 * object of unknown size. Context: any thread; no heap, no lock. */
#ifndef SONDE_BLOCK_BLOCK_CAPTURES_H
#define SONDE_BLOCK_BLOCK_CAPTURES_H

#include "block_helper.h"

/* Claims read of one source; the most met is 40. */
#define SONDE__BLOCK_CLAIMS_MAX 256u

/* A captured variable as debug information describes it: a member of the block's struct. */
enum sonde__block_member_form {
    SONDE__BLOCK_MEMBER_OTHER,
    SONDE__BLOCK_MEMBER_OBJECT, /* a pointer to an Objective-C object; id; Class */
    SONDE__BLOCK_MEMBER_BLOCK,  /* a block pointer */
    SONDE__BLOCK_MEMBER_BYREF,  /* a pointer to the box of a __block variable */
};

/* What a variable's bytes mean. */
enum sonde__block_member_value {
    SONDE__BLOCK_VALUE_BYTES, /* a struct, an array; unknown */
    SONDE__BLOCK_VALUE_SIGNED,
    SONDE__BLOCK_VALUE_UNSIGNED,
    SONDE__BLOCK_VALUE_CHARACTER,
    SONDE__BLOCK_VALUE_BOOLEAN,
    SONDE__BLOCK_VALUE_REAL,
    SONDE__BLOCK_VALUE_ADDRESS,
};

struct sonde__block_member {
    uint32_t offset, size;        /* bytes */
    uint8_t bit_offset, bit_size; /* of a bit-field; bit_size 0: it is none */
    uint8_t form;                 /* enum sonde__block_member_form */
    uint8_t value;                /* enum sonde__block_member_value; BYREF: of the variable */
    const char *name, *type;      /* the caller's; type as C text; null: unknown */
    const char *declaration;      /* the declaration: "int (*f)(void)"; of BYREF the variable's */
    /* BYREF: the variable in the box; size 0: unknown */
    uint32_t variable_offset, variable_size;
    uint8_t variable_form;
    const char *variable_type;
};

#define SONDE__BLOCK_UNSAID 0xffu

struct sonde__block_capture {
    uint32_t offset, size; /* size 0: unknown (a C++ object without debug information) */
    uint8_t kind;          /* enum sonde_block_kind */
    bool inside;           /* part of the object before it */
    uint8_t sources;       /* bit n: source n (enum sonde_block_source) claims this */
    uint8_t against;       /* bit n: source n claims something else, or nothing although complete */
    uint8_t said[6];       /* by source: the kind, or SONDE__BLOCK_UNSAID */
    const char *encoded; /* C++ type, C struct or copying function as encoded in a name, or null */
    uint32_t encoded_size;
    const struct sonde__block_member *member; /* the caller's, or null */
};

struct sonde__block_captures {
    struct sonde__block_capture *items; /* the caller's; by offset, parts after their object */
    size_t count, capacity;
    uint64_t lost;       /* captures that did not fit, or claims beyond SONDE__BLOCK_CLAIMS_MAX */
    bool is_owned_known; /* false: the block may own more */
    uint32_t steps;      /* instructions of helpers that were emulated */
    const char *helper_problem, *layout_problem; /* static texts, or null */
    uint64_t helper_problem_at;
};

/* Work space, some 35 KiB, provided uninitialised by the caller. */
struct sonde__block_scratch {
    struct sonde__block_work work;
    struct sonde__block_claim claims[SONDE__BLOCK_CLAIMS_MAX];
};

/* Merge all sources.
 * members: from debug information, by offset; count 0: none.
 * ret_captures: items and capacity are the caller's, the rest is written. */
void sonde__block_captures(const struct sonde__block_memory *memory,
                           const struct sonde__block_desc *desc,
                           const struct sonde__block_member *members, size_t member_count,
                           struct sonde__block_scratch *scratch,
                           struct sonde__block_captures *ret_captures);

/* The same for the variable in a box; a struct gives its parts.
 * member: of the block's capture, or null. */
void sonde__block_byref_captures(const struct sonde__block_memory *memory,
                                 const struct sonde__block_byref *byref,
                                 const struct sonde__block_member *member,
                                 struct sonde__block_scratch *scratch,
                                 struct sonde__block_captures *ret_captures);

#endif
