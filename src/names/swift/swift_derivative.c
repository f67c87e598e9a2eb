// SPDX-License-Identifier: Apache-2.0
/* Functions that the compiler derives from differentiable ones (Mangling.rst, "Differentiable
 * programming"): after `TJ` and `WJ`. Operands are all nodes in front. */
#include <stdio.h>
#include <string.h>

#include "swift_specialization.h"

enum { INDICES_MAX = 64 };

/* Pop all operands, in their order. Returns the last one. */
static swift_ref pop_all(struct sonde__swift *p, size_t *ret_count, swift_ref *parts)
{
    size_t begin = SWIFT_LIST_MAX;
    while (begin > 0 && p->stack_count > p->bottom) {
        parts[--begin] = sonde__swift_pop_any(p);
    }
    *ret_count = SWIFT_LIST_MAX - begin;
    memmove(parts, parts + begin, *ret_count * sizeof *parts);
    return *ret_count == 0 ? sonde__swift_fail(p) : parts[*ret_count - 1];
}

static const char *function_kind(struct sonde__swift *p)
{
    switch (sonde__swift_next(p)) {
    case 'f':
        return "forward-mode derivative";
    case 'r':
        return "reverse-mode derivative";
    case 'd':
        return "differential";
    case 'p':
        return "pullback";
    default:
        (void)sonde__swift_fail(p);
        return "";
    }
}

/* `SUS`: 0 and 2; then the letter that ends them. Appends "what {0, 2}". */
static void indices(struct sonde__swift *p, const char *what, char end, char *text, size_t size)
{
    size_t used = strlen(text);
    const char *comma = "";
    used += (size_t)snprintf(text + used, size - used, "%s{", what);
    for (unsigned i = 0; i < INDICES_MAX; i++) {
        if (sonde__swift_skip(p, 'S')) {
            used += (size_t)snprintf(text + used, size - used, "%s%u", comma, i);
            comma = ", ";
        } else if (!sonde__swift_skip(p, 'U')) {
            break;
        }
    }
    snprintf(text + used, size - used, "}");
    if (!sonde__swift_skip(p, end)) {
        (void)sonde__swift_fail(p);
    }
}

static swift_ref kept(struct sonde__swift *p, const char *text)
{
    size_t length = strlen(text);
    char *copy = sonde__swift_text(p, length + 1);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, text, length + 1);
    return sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, copy, length);
}

/* `of`: what it is derived from. `more`: only printed in full; or none. */
static swift_ref derived(struct sonde__swift *p, const char *text, swift_ref of, swift_ref detail,
                         const char *before_more, swift_ref more)
{
    const swift_ref tail[2] = {detail,
                               more == 0 ? 0 : sonde__swift_prefixed(p, before_more, 1, &more)};
    const swift_ref parts[3] = {kept(p, text), of,
                                sonde__swift_prefixed(p, "", more == 0 ? 1 : 2, tail)};
    return sonde__swift_make_all(p, SWIFT_DERIVATIVE_NODE, 3, parts);
}

enum { TEXT_BYTES = 3 * 4 * INDICES_MAX + 200 };

/* text: what it is. The signature, if there is one, is the last operand. */
static swift_ref derivative(struct sonde__swift *p, const char *text)
{
    swift_ref parts[SWIFT_LIST_MAX];
    char detail[TEXT_BYTES] = "";
    size_t count;
    swift_ref last = pop_all(p, &count, parts);
    bool is_generic = count > 1 && sonde__swift_kind_of(p, last) == SWIFT_SIGNATURE_NODE;
    indices(p, " with respect to parameters ", 'p', detail, sizeof detail);
    indices(p, " and results ", 'r', detail, sizeof detail);
    return derived(p, text, sonde__swift_prefixed(p, "", count - is_generic, parts),
                   kept(p, detail), " with ", is_generic ? last : 0);
}

/* `TJS`: from one set of parameters to another; of a type, or of a function and its type */
static swift_ref subset_thunk(struct sonde__swift *p)
{
    swift_ref parts[SWIFT_LIST_MAX];
    char text[TEXT_BYTES], detail[TEXT_BYTES] = "";
    size_t count;
    swift_ref last = pop_all(p, &count, parts);
    snprintf(text, sizeof text, "autodiff subset parameters thunk for %s from ", function_kind(p));
    indices(p, " with respect to parameters ", 'p', detail, sizeof detail);
    indices(p, " and results ", 'r', detail, sizeof detail);
    indices(p, " to parameters ", 'P', detail, sizeof detail);
    return derived(p, text, sonde__swift_prefixed(p, "", count > 1 ? count - 1 : 1, parts),
                   kept(p, detail), " of type ", count > 1 ? last : 0);
}

/* `TJO` */
static swift_ref reordering_thunk(struct sonde__swift *p)
{
    char text[TEXT_BYTES];
    swift_ref to = sonde__swift_pop_type(p), from = sonde__swift_pop_type(p);
    snprintf(text, sizeof text, "autodiff self-reordering reabstraction thunk for %s from ",
             function_kind(p));
    return from == 0 ? sonde__swift_fail(p) : derived(p, text, from, kept(p, " to "), "", to);
}

swift_ref sonde__swift_derivative(struct sonde__swift *p)
{
    char text[TEXT_BYTES];
    if (sonde__swift_skip(p, 'S')) {
        return subset_thunk(p);
    }
    if (sonde__swift_skip(p, 'O')) {
        return reordering_thunk(p);
    }
    bool is_of_table = sonde__swift_skip(p, 'V');
    snprintf(text, sizeof text, "%s%s of ", is_of_table ? "vtable thunk for " : "",
             function_kind(p));
    return derivative(p, text);
}

swift_ref sonde__swift_differentiability(struct sonde__swift *p)
{
    switch (sonde__swift_next(p)) {
    case 'f':
        return derivative(p, "forward-mode differentiability witness for ");
    case 'r':
        return derivative(p, "reverse-mode differentiability witness for ");
    case 'd':
        return derivative(p, "normal differentiability witness for ");
    case 'l':
        return derivative(p, "linear differentiability witness for ");
    default:
        return sonde__swift_fail(p);
    }
}
