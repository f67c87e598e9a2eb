// SPDX-License-Identifier: Apache-2.0
/* The loop over the operators of a name. An operator is decoded by a function, if its first letters
 * say so, and else by its row in swift_table.c. */
#include <string.h>

#include "swift_node.h"

enum { POPS_MAX = 4 };

static swift_ref pop_operand(struct sonde__swift *p, char what)
{
    int32_t index;
    switch (what) {
    case 'T':
        return sonde__swift_pop_type(p);
    case 'E':
        return sonde__swift_pop_use(p, SWIFT_TYPE | SWIFT_CONTEXT);
    case 'C':
        return sonde__swift_pop_conformance(p);
    case 'P':
        return sonde__swift_pop_protocol(p);
    case 'N':
        return sonde__swift_pop_any(p);
    case 'A':
        return sonde__swift_pop_path(p);
    case 'a':
        return sonde__swift_pop_associated(p);
    case 'g':
        return sonde__swift_pop_use(p, SWIFT_GENERIC);
    case 'X':
        return sonde__swift_pop_context(p);
    case 'M':
        return sonde__swift_pop_module(p);
    case 'D':
        return sonde__swift_pop_use(p, SWIFT_DECL);
    case 'I':
        index = sonde__swift_index(p);
        return index < 0 ? 0 : sonde__swift_number(p, SWIFT_NUMBER_NODE, (uint32_t)index);
    default:
        return 0;
    }
}

/* The node's number is the operator's row. */
static swift_ref by_row(struct sonde__swift *p)
{
    const struct sonde__swift_operator *row = sonde__swift_find_operator(p);
    swift_ref children[POPS_MAX];
    size_t count = 0;
    if (row == NULL) {
        return sonde__swift_fail(p);
    }
    for (; row->pops[count] != '\0'; count++) {
        bool optional = row->pops[count] == 'G';
        children[count] =
            optional ? sonde__swift_pop(p, SWIFT_SIGNATURE_NODE) : pop_operand(p, row->pops[count]);
        if (children[count] == 0 && !optional) {
            return sonde__swift_fail(p);
        }
    }
    swift_ref ref = sonde__swift_make(p, (enum sonde__swift_kind)row->kind, count, children);
    sonde__swift_at(p, ref)->number = (uint32_t)(row - sonde__swift_operators);
    return ref;
}

static swift_ref generic_type(struct sonde__swift *p)
{
    swift_ref children[2] = {sonde__swift_pop(p, SWIFT_SIGNATURE_NODE)};
    children[1] = sonde__swift_pop_type(p);
    return sonde__swift_make_all(p, SWIFT_GENERIC_TYPE_NODE, 2, children);
}

/* `D`: the name of a type for debuggers; labels, if there are any, are not shown. */
static swift_ref type_of_debugger(struct sonde__swift *p)
{
    swift_ref type = sonde__swift_pop_type(p);
    return type != 0 ? type : sonde__swift_fail(p);
}

static swift_ref integer(struct sonde__swift *p)
{
    bool negative = sonde__swift_skip(p, 'n');
    int32_t index = sonde__swift_index(p);
    swift_ref ref = index < 0 ? sonde__swift_fail(p)
                              : sonde__swift_number(p, SWIFT_INTEGER_NODE, (uint32_t)index);
    sonde__swift_at(p, ref)->text = "-";
    sonde__swift_at(p, ref)->length = negative && index != 0;
    return ref;
}

/* The rest of the name, which a linker or compiler appended. */
static swift_ref suffix(struct sonde__swift *p)
{
    const char *begin = p->in - 1;
    p->in = p->end;
    return sonde__swift_leaf(p, SWIFT_SUFFIX_NODE, begin, (size_t)(p->end - begin));
}

static swift_ref single(struct sonde__swift *p, char c)
{
    switch (c) {
    case 'C':
        return sonde__swift_nominal(p, SWIFT_CLASS_NODE);
    case 'O':
        return sonde__swift_nominal(p, SWIFT_ENUM_NODE);
    case 'P':
        return sonde__swift_nominal(p, SWIFT_PROTOCOL_NODE);
    case 'V':
        return sonde__swift_nominal(p, SWIFT_STRUCT_NODE);
    case 'a':
        return sonde__swift_nominal(p, SWIFT_ALIAS_NODE);
    case 'c':
        return sonde__swift_function_type(p, " ");
    case 'l':
        return sonde__swift_signature(p, false);
    case 'q':
        return sonde__swift_parameter_index(p);
    case 'r':
        return sonde__swift_signature(p, true);
    case 's':
        return sonde__swift_word_leaf(p, SWIFT_MODULE_NODE, "Swift");
    case 'x':
        return sonde__swift_parameter(p, 0, 0);
    case '.':
        return suffix(p);
    default:
        return 0;
    }
}

typedef swift_ref operator_function(struct sonde__swift *);

static operator_function *const functions[128] = {
    ['$'] = integer,
    ['A'] = sonde__swift_multi_substitution,
    ['D'] = type_of_debugger,
    ['E'] = sonde__swift_extension,
    ['F'] = sonde__swift_function,
    ['G'] = sonde__swift_bound,
    ['I'] = sonde__swift_impl_function,
    ['L'] = sonde__swift_local_name,
    ['R'] = sonde__swift_requirement,
    ['S'] = sonde__swift_standard,
    ['f'] = sonde__swift_function_entity,
    ['g'] = sonde__swift_retroactive,
    ['i'] = sonde__swift_subscript,
    ['o'] = sonde__swift_operator_name,
    ['p'] = sonde__swift_protocols,
    ['t'] = sonde__swift_tuple,
    ['u'] = generic_type,
    ['v'] = sonde__swift_variable,
    ['w'] = sonde__swift_value_witness,
};

/* Of letters that begin operators of both kinds: those that a function decodes; else 0, and
 * nothing was read. */
static swift_ref mixed(struct sonde__swift *p, char c)
{
    const char *begin = p->in;
    swift_ref ref = 0;
    switch (c) {
    case 'B':
        if (sonde__swift_peek(p) != 'T' && sonde__swift_peek(p) != 'V') {
            return sonde__swift_builtin(p);
        }
        break;
    case 'H':
        ref = sonde__swift_conformance(p, sonde__swift_next(p));
        break;
    case 'Q':
        return sonde__swift_archetype(p);
    case 'T':
    case 'W':
        ref = sonde__swift_thunk(p);
        break;
    case 'X':
        return sonde__swift_skip(p, 'Y') ? sonde__swift_nominal(p, SWIFT_OTHER_NODE)
                                         : sonde__swift_special_type(p);
    case 'Y':
        return sonde__swift_annotation(p);
    default:
        break;
    }
    if (ref == 0 && !p->failed) {
        p->in = begin;
    }
    return ref;
}

static swift_ref one_operator(struct sonde__swift *p)
{
    char c = sonde__swift_peek(p);
    if (c >= '0' && c <= '9') {
        return sonde__swift_identifier(p);
    }
    p->in++;
    if ((unsigned char)c < sizeof functions / sizeof functions[0] &&
        functions[(unsigned char)c] != NULL) {
        return functions[(unsigned char)c](p);
    }
    swift_ref ref = single(p, c);
    if (ref == 0 && !p->failed) {
        ref = mixed(p, c);
    }
    if (ref == 0 && !p->failed) {
        p->in--;
        ref = by_row(p);
    }
    return ref;
}

bool sonde__swift_run(struct sonde__swift *p)
{
    while (p->in < p->end && !p->failed) {
        sonde__swift_push(p, one_operator(p));
    }
    return !p->failed;
}
