// SPDX-License-Identifier: Apache-2.0
/* The tree of a name while it is decoded, and its memory.
 *
 * An encoded name is a program for a stack machine: each operator pops nodes and pushes one. A
 * substitution pushes a node that exists, so the tree is a graph without cycles: a node is complete
 * when it is pushed, and refers to older ones only. Nodes are numbers; 0 is none, and the result of
 * every failure. Once `failed` is set, nothing is decoded any more. */
#ifndef SONDE_SWIFT_NODE_H
#define SONDE_SWIFT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "swift.h"
#include "swift_kinds.h"

enum {
    SWIFT_NODES_MAX = 3072,
    SWIFT_CHILDREN_MAX = 6144,
    SWIFT_STACK_MAX = 768,
    SWIFT_SUBSTITUTIONS_MAX = 768,
    SWIFT_TEXTS_MAX = 8192, /* of identifiers that are put together */
    SWIFT_WORDS_MAX = 26,   /* Mangling.rst, "Identifiers" */
    SWIFT_REPEAT_MAX = 256, /* of a substitution */
    SWIFT_LIST_MAX = 256,   /* elements of a tuple or list */
    SWIFT_NESTED_MAX = 3,   /* encoded names in an encoded name */
};

#define SWIFT_KIND_NAME(name, uses, format) SWIFT_##name##_NODE,
enum sonde__swift_kind { SWIFT_KINDS(SWIFT_KIND_NAME) SWIFT_KIND_COUNT };
#undef SWIFT_KIND_NAME

struct sonde__swift_kind_row {
    uint16_t uses;
    const char *format;
};
extern const struct sonde__swift_kind_row sonde__swift_kinds[SWIFT_KIND_COUNT];

typedef uint16_t swift_ref; /* a node; 0: none */

struct sonde__swift_node {
    const char *text; /* not NUL-terminated */
    uint32_t number;
    uint16_t length; /* of the text */
    uint16_t first;  /* of its children */
    uint16_t count;
    uint8_t kind;
};

struct sonde__swift_word {
    const char *text;
    size_t length;
};

struct sonde__swift {
    const char *in, *end; /* what is left of the name */
    bool failed;
    /* Decode the name that `text` is, if it is one; else none. */
    swift_ref (*decode_nested)(struct sonde__swift *p, const char *text, size_t length);
    bool old_functions; /* labels are part of the types of parameters (Swift 4.0) */
    uint8_t nested;
    uint16_t node_count, child_count, stack_count, substitution_count, word_count;
    uint16_t bottom, substitution_first; /* of a nested name */
    size_t text_count;
    swift_ref stack[SWIFT_STACK_MAX];
    swift_ref substitutions[SWIFT_SUBSTITUTIONS_MAX];
    swift_ref children[SWIFT_CHILDREN_MAX];
    struct sonde__swift_word words[SWIFT_WORDS_MAX];
    struct sonde__swift_node nodes[SWIFT_NODES_MAX];
    char texts[SWIFT_TEXTS_MAX];
};

/* An operator that pops `pops` and pushes a node of `kind`, which is printed by its formats. */
struct sonde__swift_operator {
    const char *code, *pops;
    uint8_t kind;
    const char *full, *brief; /* brief null: as full */
};
/* The operator at the beginning of `p->in`, which is then skipped; null: none. */
const struct sonde__swift_operator *sonde__swift_find_operator(struct sonde__swift *p);
extern const struct sonde__swift_operator sonde__swift_operators[];

/* --- nodes --- */

/* Set `failed`. Returns 0. */
swift_ref sonde__swift_fail(struct sonde__swift *p);
swift_ref sonde__swift_make(struct sonde__swift *p, enum sonde__swift_kind kind, size_t count,
                            const swift_ref *children);
/* As sonde__swift_make(); fails if a child is none. */
swift_ref sonde__swift_make_all(struct sonde__swift *p, enum sonde__swift_kind kind, size_t count,
                                const swift_ref *children);
/* A node with text; the text must stay. */
swift_ref sonde__swift_leaf(struct sonde__swift *p, enum sonde__swift_kind kind, const char *text,
                            size_t length);
swift_ref sonde__swift_word_leaf(struct sonde__swift *p, enum sonde__swift_kind kind,
                                 const char *text);
swift_ref sonde__swift_number(struct sonde__swift *p, enum sonde__swift_kind kind, uint32_t number);

static inline struct sonde__swift_node *sonde__swift_at(struct sonde__swift *p, swift_ref ref)
{
    return &p->nodes[ref];
}

static inline enum sonde__swift_kind sonde__swift_kind_of(const struct sonde__swift *p,
                                                          swift_ref ref)
{
    return (enum sonde__swift_kind)p->nodes[ref].kind;
}

static inline bool sonde__swift_is(const struct sonde__swift *p, swift_ref ref, unsigned uses)
{
    return (sonde__swift_kinds[p->nodes[ref].kind].uses & uses) != 0;
}

/* A child; none if there is no such child. */
static inline swift_ref sonde__swift_child(const struct sonde__swift *p, swift_ref ref,
                                           size_t index)
{
    const struct sonde__swift_node *node = &p->nodes[ref];
    return index < node->count ? p->children[node->first + index] : 0;
}

/* --- the stack; pops return none, and pop nothing, if the top is of another kind --- */

void sonde__swift_push(struct sonde__swift *p, swift_ref ref);
swift_ref sonde__swift_pop_any(struct sonde__swift *p);
swift_ref sonde__swift_pop(struct sonde__swift *p, enum sonde__swift_kind kind);
swift_ref sonde__swift_pop_use(struct sonde__swift *p, unsigned uses);
swift_ref sonde__swift_pop_module(struct sonde__swift *p);
swift_ref sonde__swift_pop_context(struct sonde__swift *p);
swift_ref sonde__swift_pop_protocol(struct sonde__swift *p);
/* A list that `pop_element` pops, up to the first-element marker or an empty-list operator. */
swift_ref sonde__swift_pop_list(struct sonde__swift *p, enum sonde__swift_kind kind,
                                swift_ref (*pop_element)(struct sonde__swift *));
swift_ref sonde__swift_pop_type(struct sonde__swift *p);
swift_ref sonde__swift_substitutable(struct sonde__swift *p, swift_ref ref);

/* --- the name --- */

static inline char sonde__swift_peek(const struct sonde__swift *p)
{
    return p->in < p->end ? *p->in : '\0';
}

static inline char sonde__swift_next(struct sonde__swift *p)
{
    return p->in < p->end ? *p->in++ : '\0';
}

static inline bool sonde__swift_skip(struct sonde__swift *p, char c)
{
    bool is = p->in < p->end && *p->in == c;
    p->in += is;
    return is;
}

/* A number without sign; < 0: none, or too large. */
int32_t sonde__swift_natural(struct sonde__swift *p);
/* `_` is 0, `N_` is N + 1; < 0: none. */
int32_t sonde__swift_index(struct sonde__swift *p);
/* Text of `length` bytes for an identifier; null: none left. */
char *sonde__swift_text(struct sonde__swift *p, size_t length);
/* Decode Punycode of at most 256 bytes; `out` has room for 4 bytes for each of `in`. False:
 * malformed. */
bool sonde__swift_punycode(const char *in, size_t length, char *out, size_t *ret_length);

/* --- operators (after their first letters) --- */

/* Decode all operators up to the end. */
bool sonde__swift_run(struct sonde__swift *p);
/* The nodes on the stack as one. */
swift_ref sonde__swift_collect(struct sonde__swift *p);
swift_ref sonde__swift_identifier(struct sonde__swift *p);
swift_ref sonde__swift_operator_name(struct sonde__swift *p);
swift_ref sonde__swift_local_name(struct sonde__swift *p);
swift_ref sonde__swift_multi_substitution(struct sonde__swift *p);
swift_ref sonde__swift_standard(struct sonde__swift *p);
swift_ref sonde__swift_optional(struct sonde__swift *p);
swift_ref sonde__swift_builtin(struct sonde__swift *p);
swift_ref sonde__swift_function_type(struct sonde__swift *p, const char *prefix);
swift_ref sonde__swift_special_type(struct sonde__swift *p);
swift_ref sonde__swift_annotation(struct sonde__swift *p);
swift_ref sonde__swift_tuple(struct sonde__swift *p);
swift_ref sonde__swift_bound(struct sonde__swift *p);
/* Pop `y T* (_ T*)*`: lists of arguments, innermost first. False: malformed. */
bool sonde__swift_pop_arguments(struct sonde__swift *p, swift_ref *lists, size_t *count);
swift_ref sonde__swift_archetype(struct sonde__swift *p);
swift_ref sonde__swift_protocols(struct sonde__swift *p);
swift_ref sonde__swift_parameter(struct sonde__swift *p, int32_t depth, int32_t index);
swift_ref sonde__swift_parameter_index(struct sonde__swift *p);
swift_ref sonde__swift_pop_associated(struct sonde__swift *p);
swift_ref sonde__swift_pop_path(struct sonde__swift *p);
swift_ref sonde__swift_member(struct sonde__swift *p, swift_ref base);
swift_ref sonde__swift_member_path(struct sonde__swift *p, swift_ref base);
swift_ref sonde__swift_signature(struct sonde__swift *p, bool counts);
swift_ref sonde__swift_requirement(struct sonde__swift *p);
swift_ref sonde__swift_pop_conformance(struct sonde__swift *p);
swift_ref sonde__swift_conformance(struct sonde__swift *p, char code);
swift_ref sonde__swift_retroactive(struct sonde__swift *p);
swift_ref sonde__swift_impl_function(struct sonde__swift *p);
swift_ref sonde__swift_nominal(struct sonde__swift *p, enum sonde__swift_kind kind);
swift_ref sonde__swift_extension(struct sonde__swift *p);
swift_ref sonde__swift_function(struct sonde__swift *p);
swift_ref sonde__swift_variable(struct sonde__swift *p);
swift_ref sonde__swift_subscript(struct sonde__swift *p);
swift_ref sonde__swift_function_entity(struct sonde__swift *p);
swift_ref sonde__swift_macro_expansion(struct sonde__swift *p);
/* T and W: thunks, specializations, witnesses that no table row describes. 0 without `failed`: not
 * this kind; nothing was read. */
swift_ref sonde__swift_thunk(struct sonde__swift *p);
swift_ref sonde__swift_specialization(struct sonde__swift *p);
swift_ref sonde__swift_derivative(struct sonde__swift *p);
swift_ref sonde__swift_differentiability(struct sonde__swift *p);
swift_ref sonde__swift_value_witness(struct sonde__swift *p);
/* A node whose text is printed as it is, and then its children. */
swift_ref sonde__swift_prefixed(struct sonde__swift *p, const char *text, size_t count,
                                const swift_ref *children);
/* A class or protocol name of the old form, after "_Tt". */
swift_ref sonde__swift_old_type(struct sonde__swift *p);

/* The children of an entity. */
enum { SWIFT_OF_CONTEXT, SWIFT_OF_NAME, SWIFT_OF_LABELS, SWIFT_OF_TYPE, SWIFT_OF_PRIVATE };

#endif
