// SPDX-License-Identifier: Apache-2.0
/* The captures of a block from its debug information: name, type and offset of each variable, at
 * every optimisation level. Debug information does not have ownership (strong and weak references
 * have the same type), and describes a __block variable of a non-escaping block as a byref,
 * although it is a plain pointer to the variable.
 *
 * clang describes a block by the artificial parameter ".block_descriptor" of its function: a
 * pointer to a structure with the header's fields and one member for each capture. Context: as
 * types.h. */
#ifndef SONDE_TYPES_BLOCK_H
#define SONDE_TYPES_BLOCK_H

#include "types.h"

struct sonde__types_block {
    struct sonde__type_function function; /* its code; declared without ".block_descriptor" */
    struct sonde__type literal;           /* the structure; its size is the block's */
    uint64_t line;                        /* of the block; 0: unknown */
};

struct sonde__types_capture {
    const char *name;            /* of the variable; "this", "self"; null: a lambda that became the
                                    block */
    struct sonde__type_ref type; /* of the variable; of a byref, of the variable in the box */
    uint64_t offset;             /* in the block, in bytes */
    uint64_t size;               /* in the block; 0: not known */
    uint64_t line;               /* where the variable is declared; 0: unknown */
    bool is_stored;              /* false: a constant in the code, without an offset */
    bool is_byref;               /* a __block variable: the block has a pointer to its box */
    uint64_t variable_offset;    /* in the box */
    uint64_t variable_size;      /* 0: not known */
    uint64_t box_size;
};

/* The block with code at a vaddr. Returns OK | ABSENT (no function, or not a block's) | CORRUPT |
 * LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__types_block_at(struct sonde__types *types, uint64_t vaddr,
                                                        struct sonde__types_block *ret_block);

/* The same for a function already found. */
SONDE_NODISCARD enum sonde_status sonde__types_block_of(struct sonde__types *types,
                                                        const struct sonde__type_function *function,
                                                        struct sonde__types_block *ret_block);

/* Iterates over captures: stored ones by offset, then constants. Zeroed initially. */
struct sonde__types_captures {
    struct sonde__type_cursor cursor;
    unsigned stage;
};
/* Returns OK | ABSENT (the end) | CORRUPT | LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status
sonde__types_next_capture(struct sonde__types *types, const struct sonde__types_block *block,
                          struct sonde__types_captures *captures,
                          struct sonde__types_capture *ret_capture);

/* How blocks treat a type. */
enum sonde__types_held {
    SONDE__TYPES_HELD_OTHER,
    SONDE__TYPES_HELD_OBJECT, /* an Objective-C object: Thing *, id, Class */
    SONDE__TYPES_HELD_BLOCK,
};
enum sonde__types_held sonde__types_held_by(struct sonde__types *types,
                                            struct sonde__type_ref type);

#endif
