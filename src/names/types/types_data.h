// SPDX-License-Identifier: Apache-2.0
/* Shared by this folder: units of all files of a view, DIEs, text. */
#ifndef SONDE_TYPES_DATA_H
#define SONDE_TYPES_DATA_H

#include "dwarf_line.h"
#include "dwarf_plan.h"
#include "mem_arena.h"
#include "mem_table.h"
#include "types.h"

/* Longer chains of typedefs, origins and specifications are cycles. */
#define TYPES_HOPS_MAX 64
/* Nesting of declarations: types in types in text, and structures in structures. */
#define TYPES_DEPTH_MAX 48

#define TYPES_NO_UNIT UINT32_MAX

/* A section with units: the file's own, .debug_types, dwz's file, each split file. */
struct types_space {
    struct sonde__dwarf_sections sections; /* `info` contains the units */
    uint32_t first, count;                 /* its units in the table */
    uint32_t main;                         /* the space that DW_FORM_ref_addr refers to */
    uint32_t common;                       /* of dwz's file; own index: none */
    bool split;                            /* its type units' files are not in `line` */
    bool old_types;                        /* .debug_types: its headers are longer */
};

/* A range of DIEs whose names get a prefix: a namespace or class. Sorted by `begin`. */
struct types_scope {
    uint64_t begin, end;
    uint32_t outer;   /* enclosing scope: index; UINT32_MAX: the unit */
    uint32_t parent;  /* scope for names; differs from `outer` if it was declared elsewhere */
    const char *name; /* "" : transparent (a function) */
};

struct types_unit {
    struct sonde__dwarf_unit head;
    uint32_t space;
    enum { TYPES_UNIT_NEW, TYPES_UNIT_READY, TYPES_UNIT_BAD } state;
    bool is_type, named; /* a type unit; its names are in the index */
    bool split_tried;
    uint64_t signature, type_die; /* of a type unit */
    uint32_t split;               /* of a skeleton: its split unit; TYPES_NO_UNIT */
    uint32_t skeleton; /* of a split unit: its skeleton, which has the line table; TYPES_NO_UNIT */
    uint32_t table;    /* slot of its abbreviations; valid if `table_stamp` is the slot's */
    uint64_t table_stamp;
    struct types_scope *scopes;
    size_t scope_count;
    bool scopes_tried;
};

/* Recently used abbreviation tables. */
enum { TYPES_TABLES = 32 };
struct types_table {
    struct sonde__dwarf_abbrevs abbrevs;
    struct sonde__dwarf_plans plans; /* plans that only skip */
    uint64_t stamp, used;
};

struct types_names;

/* Growing text, truncated at TYPES_TEXT_MAX. */
#define TYPES_TEXT_MAX ((size_t)64 << 10)
struct types_text {
    char *data; /* null: empty */
    size_t length, capacity;
    enum sonde_status status; /* MEMORY or LIMIT: something is missing */
};
void types_text_add(struct types_text *text, const char *more);
void types_text_insert(struct types_text *text, const char *more);
static inline const char *types_text_string(const struct types_text *text)
{
    return text->data != NULL ? text->data : "";
}
void types_text_done(struct types_text *text);

struct sonde__types {
    struct sonde__types_source source;
    struct types_space *spaces;
    size_t space_count, space_capacity;
    struct types_unit *units;
    size_t unit_count, unit_capacity;
    struct sonde__mem_table signatures; /* units by signature */
    struct types_table tables[TYPES_TABLES];
    uint64_t stamp;
    struct types_names *names; /* null: not made yet */
    struct sonde__arena arena;
    uint64_t work_left;
    struct { /* the line table used last */
        uint32_t unit;
        bool valid;
        struct sonde__dwarf_lines lines;
    } files;
    uint8_t address_size;
};

/* Spend work from the budget. False: not enough left. */
bool types_spend(struct sonde__types *t, uint64_t amount);

/* The work of reading all units once. */
uint64_t types_work_of_all(const struct sonde__types *t);

/* --- types_units.c --- */

/* Read the headers of all units of the source. Returns OK | ABSENT | LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status types_open_units(struct sonde__types *t);

struct types_unit *types_unit(struct sonde__types *t, uint32_t unit);
const struct sonde__dwarf_sections *types_sections(const struct sonde__types *t, uint32_t unit);
/* Read the unit's own DIE. Pointers to units and tables are valid until the next unit is loaded. */
SONDE_NODISCARD enum sonde_status types_ready(struct sonde__types *t, uint32_t unit);
SONDE_NODISCARD enum sonde_status types_abbrevs(struct sonde__types *t, uint32_t unit,
                                                const struct types_table **ret_table);
/* The unit at an offset of the section, TYPES_NO_UNIT: none. */
uint32_t types_unit_at(const struct sonde__types *t, uint32_t space, uint64_t offset);
/* The type of a signature; die 0: not found. */
struct sonde__type_ref types_by_signature(struct sonde__types *t, uint64_t signature);
/* The unit with the DIEs: a skeleton's split unit (TYPES_NO_UNIT: not found), else the unit
 * itself. */
uint32_t types_body(struct sonde__types *t, uint32_t unit);
bool types_is_c(struct sonde__types *t, uint32_t unit);

/* --- types_die.c --- */

struct types_die {
    struct sonde__type_ref self;
    uint64_t next; /* after its attributes: its first child, if it has any */
    uint64_t sibling;
    uint16_t tag;
    bool children, declaration, external, artificial, prototyped, is_virtual, runtime_class, vector;
    bool apple_block;      /* clang's structure for the type of a block */
    bool dynamic_location; /* an expression that must be evaluated at run time */
    const char *name, *linkage;
    struct sonde__type_ref type, origin, specification, holder, imported;
    struct sonde__dwarf_value low, high, ranges, count, upper, lower;
    uint64_t signature, location, data_bit_offset, file, line, value;
    uint64_t size, bit_size, bit_offset;
    uint32_t line_unit; /* the unit whose line table `file` refers to */
    uint8_t encoding;
    bool has_size, has_bit_size, has_bit_offset, has_data_bit_offset, has_location, has_value,
        has_signature;
};

/* Returns OK | ABSENT (a null entry, or the end of the unit) | CORRUPT | LIMIT | MEMORY. */
SONDE_NODISCARD enum sonde_status types_die(struct sonde__types *t, struct sonde__type_ref ref,
                                            struct types_die *ret_die);
/* The DIE after this one and its descendants; 0: the end. */
SONDE_NODISCARD enum sonde_status types_after(struct sonde__types *t, const struct types_die *die,
                                              uint64_t *ret_offset);
/* Add missing attributes from a DIE's origin and specification; for a DIE with a signature, the
 * name. */
SONDE_NODISCARD enum sonde_status types_whole(struct sonde__types *t, struct types_die *die);

/* Read the tag of the DIE at *offset and advance *offset to the next DIE. Returns as types_die(); a
 * null entry gives OK and tag 0. */
SONDE_NODISCARD enum sonde_status types_step(struct sonde__types *t, uint32_t unit,
                                             uint64_t *offset, uint16_t *ret_tag,
                                             bool *ret_children);

/* --- types_scopes.c --- */

/* The innermost scope of a DIE, UINT32_MAX: the unit. */
SONDE_NODISCARD enum sonde_status types_scope_of(struct sonde__types *t, struct sonde__type_ref ref,
                                                 uint32_t *ret_scope);

/* --- types_hash.c --- */

/* Hash a name after a prefix; and a name in a scope, "SCOPE::NAME". */
uint64_t types_hash_text(uint64_t hash, const char *text, size_t size);
uint64_t types_hash_below(uint64_t prefix, const char *name);

/* --- types_names.c --- */

/* The unique definition for a declaration. Returns OK | ABSENT | AMBIGUOUS … */
SONDE_NODISCARD enum sonde_status types_definition(struct sonde__types *t,
                                                   const struct sonde__type *type,
                                                   struct sonde__type_ref *ret_ref);
void types_names_done(struct types_names *names);

/* --- types_text.c --- */

/* Write "(char *name, ...)" for the children of a function or function type. method: skip
 * `this`. */
void types_add_parameters(struct sonde__types *t, struct sonde__type_ref function, bool prototyped,
                          bool method, unsigned depth, struct types_text *text);

/* --- types_type.c --- */

enum sonde__type_kind types_kind(unsigned tag);

#endif
