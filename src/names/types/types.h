// SPDX-License-Identifier: Apache-2.0
/* Types of one image, on demand, from its DWARF: members with offsets, declarations as C text,
 * functions with their parameters.
 *
 * Opening reads unit headers, a query reads the units that it needs, and the first query by name
 * reads all units. A type is a reference to the DIE that describes it. Each query has a budget of
 * DIEs (sonde__types_refill()) and ends with LIMIT when it is spent, because references can form
 * cycles. Text and nesting are limited, too.
 *
 * DWARF 2 to 5: type units by signature (.debug_types and DW_UT_type), references between units,
 * dwz's supplementary file, split units. Sources: DWARF 5 §5 (types), §3.3 (functions), §2.13.2
 * (declarations completed elsewhere). Strings live as long as the sections. Context: any thread,
 * one at a time. */
#ifndef SONDE_TYPES_H
#define SONDE_TYPES_H

#include <sonde/status.h>

#include "dwarf_split.h"

struct sonde__types;

struct sonde__types_source {
    const struct sonde__dwarf_sections *sections; /* must outlive the view */
    /* Find the split unit of a skeleton, false: not found; or null. The result must outlive the
     * view. */
    bool (*split)(void *ctx, const struct sonde__dwarf_unit *skeleton,
                  struct sonde__dwarf_split *ret_split);
    /* Find the type unit of a signature in a package of split units; or null. */
    bool (*split_type)(void *ctx, uint64_t signature, struct sonde__dwarf_split *ret_split);
    /* Get the signature in slot `index` of the package, 0: free slot; false: no more. Or null. */
    bool (*split_type_at)(void *ctx, uint32_t index, uint64_t *ret_signature);
    void *ctx;
};

/* Returns OK | ABSENT (no units) | LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__types_open(const struct sonde__types_source *source,
                                                    struct sonde__types **ret_types);
void sonde__types_close(struct sonde__types *types);

/* Start a query: refill the work budget. */
void sonde__types_refill(struct sonde__types *types);

/* A type, or a function: its DIE. die 0: none, which is `void` where a type is meant. */
struct sonde__type_ref {
    uint32_t unit;
    uint64_t die;
};

enum sonde__type_kind {
    SONDE__TYPE_VOID,
    SONDE__TYPE_BASE, /* also types with only a name, as decltype(nullptr) */
    SONDE__TYPE_STRUCT,
    SONDE__TYPE_CLASS,
    SONDE__TYPE_UNION,
    SONDE__TYPE_ENUM,
    SONDE__TYPE_TYPEDEF,
    SONDE__TYPE_POINTER,
    SONDE__TYPE_REFERENCE,
    SONDE__TYPE_RVALUE_REFERENCE,
    SONDE__TYPE_MEMBER_POINTER,
    SONDE__TYPE_CONST,
    SONDE__TYPE_VOLATILE,
    SONDE__TYPE_RESTRICT,
    SONDE__TYPE_ATOMIC,
    SONDE__TYPE_TRANSPARENT, /* a qualifier that C has no word for: packed, shared, ptrauth */
    SONDE__TYPE_ARRAY,
    SONDE__TYPE_FUNCTION,
    SONDE__TYPE_UNKNOWN, /* a tag that is no type, or a type of another language */
};

struct sonde__type {
    struct sonde__type_ref self;
    enum sonde__type_kind kind;
    const char *name;              /* null: none */
    struct sonde__type_ref target; /* type pointed to, aliased, returned, or of an element */
    struct sonde__type_ref holder; /* of a member pointer: the class */
    uint64_t size;                 /* in bytes, as in the DIE */
    uint64_t line;                 /* of its declaration; 0: unknown */
    uint8_t encoding;              /* DW_ATE_* of a base type */
    bool has_size;
    bool declared_only; /* incomplete: see sonde__type_complete() */
    bool is_plain;      /* C: the name needs struct, union or enum before it */
    bool is_vector;     /* an array type that is a vector */
    bool is_objc;       /* an Objective-C class */
};

/* Returns OK | CORRUPT | LIMIT | MEMORY. `ref.die` 0 gives VOID. */
SONDE_NODISCARD enum sonde_status
sonde__type_get(struct sonde__types *types, struct sonde__type_ref ref, struct sonde__type *ret);

/* The type without typedefs and qualifiers, and completed if possible. */
SONDE_NODISCARD enum sonde_status
sonde__type_strip(struct sonde__types *types, struct sonde__type_ref ref, struct sonde__type *ret);

/* Complete a type that is only declared: by its signature, else by the only definition of its name
 * in the file; if several definitions differ, by none. A complete `type` is returned unchanged.
 * Returns OK | ABSENT | AMBIGUOUS | CORRUPT | LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__type_complete(struct sonde__types *types,
                                                       const struct sonde__type *type,
                                                       struct sonde__type *ret);

/* Size of an object in bytes. False: unknown (void, a function, incomplete, an array of unknown or
 * variable length). */
bool sonde__type_size(struct sonde__types *types, struct sonde__type_ref ref, uint64_t *ret_size);

/* --- children in file order: members, base classes, enumerators, parameters --- */

struct sonde__type_cursor {
    struct sonde__type_ref parent;
    uint64_t at;    /* of the next child; 0: at the end */
    uint64_t outer; /* in a variant: the place to continue */
    bool in_variant;
};

/* Iterate over the children of a type or a function. */
SONDE_NODISCARD enum sonde_status sonde__type_children(struct sonde__types *types,
                                                       struct sonde__type_ref parent,
                                                       struct sonde__type_cursor *ret_cursor);

struct sonde__type_member {
    const char *name; /* null: anonymous */
    struct sonde__type_ref type;
    uint64_t bit_offset; /* from the start of the object, in bits */
    uint32_t bit_size;   /* 0: no bit-field */
    bool has_offset;     /* false: a virtual base class, whose offset is known at run time only */
    bool is_base;        /* a base class */
    bool is_virtual;     /* a virtual one */
    bool is_artificial;  /* made by the compiler: a vtable pointer */
    bool in_variant;     /* part of a Rust enum: exists only in its variant */
};

/* The next data member or base class; static members are skipped.
 * Returns OK | ABSENT (the end) | CORRUPT | LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__type_next_member(struct sonde__types *types,
                                                          struct sonde__type_cursor *cursor,
                                                          struct sonde__type_member *ret_member);

struct sonde__type_enumerator {
    const char *name;
    int64_t value;
};

SONDE_NODISCARD enum sonde_status sonde__type_next_enumerator(struct sonde__types *types,
                                                              struct sonde__type_cursor *cursor,
                                                              struct sonde__type_enumerator *ret);

/* Elements of one dimension of an array; SONDE__TYPE_UNBOUNDED: not given, or variable. */
#define SONDE__TYPE_UNBOUNDED UINT64_MAX
SONDE_NODISCARD enum sonde_status sonde__type_next_dimension(struct sonde__types *types,
                                                             struct sonde__type_cursor *cursor,
                                                             uint64_t *ret_count);

struct sonde__type_parameter {
    const char *name; /* null: none */
    struct sonde__type_ref type;
    uint64_t line;
    bool is_artificial; /* made by the compiler: `this` */
    bool is_rest;       /* "...": it has no type */
};

SONDE_NODISCARD enum sonde_status sonde__type_next_parameter(struct sonde__types *types,
                                                             struct sonde__type_cursor *cursor,
                                                             struct sonde__type_parameter *ret);

/* A variable of a function's outermost block. */
SONDE_NODISCARD enum sonde_status sonde__type_next_variable(struct sonde__types *types,
                                                            struct sonde__type_cursor *cursor,
                                                            struct sonde__type_parameter *ret);

/* --- text --- */

/* A declaration in C: "char *const name[3]", "int (*)(void)" without a name (null). NUL-terminated,
 * truncated to the buffer. Returns OK | LIMIT (truncated, or nested too deeply: shown as "...") |
 * CORRUPT | MEMORY; the text is what could be read. */
SONDE_NODISCARD enum sonde_status sonde__type_text(struct sonde__types *types,
                                                   struct sonde__type_ref ref, const char *name,
                                                   char *ret_text, size_t size);

/* The name of a type with its namespaces and classes ("ns::T"); "" for one without a name.
 * Truncated as above. */
SONDE_NODISCARD enum sonde_status sonde__type_qualified_name(struct sonde__types *types,
                                                             struct sonde__type_ref ref,
                                                             char *ret_text, size_t size);

/* DIRECTORY/FILE of the declaration of a type or function, and its line. False: unknown. */
bool sonde__type_declared_at(struct sonde__types *types, struct sonde__type_ref ref, char *ret_path,
                             size_t size, uint32_t *ret_line);

/* --- finding --- */

/* Called for each distinct definition of a name. False: stop. */
typedef bool sonde__types_found(void *ctx, const struct sonde__type *type);

/* Find the types of a name: "T", "struct T", "ns::T"; if no type has exactly this name, those with
 * it as the last part. Spaces do not matter. Returns OK | ABSENT | LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__types_find(struct sonde__types *types, const char *name,
                                                    sonde__types_found *found, void *ctx);

struct sonde__type_function {
    struct sonde__type_ref self;        /* the DIE with code */
    struct sonde__type_ref declaration; /* the DIE with the parameters */
    struct sonde__type_ref returns;
    const char *name;    /* null: none */
    const char *linkage; /* the mangled name; null: none */
    uint64_t low, high;  /* of its first range */
    bool is_prototyped;
};

/* The function with code at a vaddr; not an inlined one. */
SONDE_NODISCARD enum sonde_status sonde__types_function_at(struct sonde__types *types,
                                                           uint64_t vaddr,
                                                           struct sonde__type_function *ret);

/* Write its declaration, "int f(char *name, ...)". Returns as sonde__type_text(). */
SONDE_NODISCARD enum sonde_status
sonde__type_function_text(struct sonde__types *types, const struct sonde__type_function *function,
                          char *ret_text, size_t size);

#endif
