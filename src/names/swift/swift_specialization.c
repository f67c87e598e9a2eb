// SPDX-License-Identifier: Apache-2.0
/* Specialized copies of functions (Mangling.rst, "Function Specializations"). The letters of the
 * arguments come last; their operands, before them, are popped in reverse. */
#include <stdio.h>
#include <string.h>

#include "swift_specialization.h"

/* The letters in front of the pass. *ret_serialized: `q`. False: malformed. */
bool sonde__swift_pass(struct sonde__swift *p, bool *ret_serialized, bool *ret_changed)
{
    sonde__swift_skip(p, 'm');
    *ret_serialized = sonde__swift_skip(p, 'q');
    sonde__swift_skip(p, 'a');
    *ret_changed = sonde__swift_skip(p, 'r');
    char pass = sonde__swift_next(p);
    return pass >= '0' && pass <= '9';
}

/* The node's text is what kind of specialization it is; its children are the arguments. */
swift_ref sonde__swift_specialized(struct sonde__swift *p, const char *text, size_t count,
                                   const swift_ref *children)
{
    swift_ref ref = sonde__swift_make_all(p, SWIFT_SPECIALIZATION_NODE, count, children);
    if (ref != 0) {
        p->nodes[ref].text = text;
        p->nodes[ref].length = (uint16_t)strlen(text);
    }
    return ref;
}

swift_ref sonde__swift_words(struct sonde__swift *p, const char *text)
{
    return sonde__swift_word_leaf(p, SWIFT_IDENTIFIER_NODE, text);
}

swift_ref sonde__swift_numbered(struct sonde__swift *p, const char *format, int32_t number)
{
    char text[32];
    int length = snprintf(text, sizeof text, format, (int)number);
    char *kept = sonde__swift_text(p, (size_t)length);
    if (kept == NULL) {
        return 0;
    }
    memcpy(kept, text, (size_t)length);
    return sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, kept, (size_t)length);
}

/* `Tp`, `TP`: the type of the specialized function */
static swift_ref partial(struct sonde__swift *p, const char *text)
{
    swift_ref parts[2];
    bool serialized, changed;
    if (!sonde__swift_pass(p, &serialized, &changed)) {
        return sonde__swift_fail(p);
    }
    parts[0] = serialized ? sonde__swift_words(p, "serialized") : 0;
    swift_ref type = sonde__swift_pop_type(p);
    parts[serialized] = sonde__swift_prefixed(p, "Signature = ", 1, &type);
    return sonde__swift_specialized(p, text, serialized + 1u, parts);
}

static swift_ref generic(struct sonde__swift *p, const char *text)
{
    swift_ref parts[SWIFT_LIST_MAX];
    bool serialized, changed;
    size_t count = 0;
    if (!sonde__swift_pass(p, &serialized, &changed)) {
        return sonde__swift_fail(p);
    }
    if (serialized) {
        parts[count++] = sonde__swift_words(p, "serialized");
    }
    swift_ref list = sonde__swift_pop_list(p, SWIFT_LIST_NODE, sonde__swift_pop_type);
    for (size_t i = 0; i < p->nodes[list].count; i++) {
        if (count == SWIFT_LIST_MAX) {
            return sonde__swift_fail(p);
        }
        parts[count++] = sonde__swift_child(p, list, i);
    }
    return sonde__swift_specialized(p, text, count, parts);
}

/* `Tt`: arguments that were dropped, which is not shown; then the letter of a generic
 * specialization
 */
static swift_ref with_dropped(struct sonde__swift *p)
{
    p->in--;
    while (sonde__swift_skip(p, 't')) {
        (void)sonde__swift_natural(p);
    }
    char c = sonde__swift_next(p);
    return c == 'g' || c == 'B' ? generic(p, "generic specialization")
           : c == 'G'           ? generic(p, "generic not re-abstracted specialization")
                                : sonde__swift_fail(p);
}

/* p->in is behind the letter after `T`. */
swift_ref sonde__swift_specialization(struct sonde__swift *p)
{
    switch (p->in[-1]) {
    case 'g':
    case 'B':
        return generic(p, "generic specialization");
    case 'G':
        return generic(p, "generic not re-abstracted specialization");
    case 's':
        return generic(p, "generic pre-specialization");
    case 'i':
        return generic(p, "inlined generic function");
    case 't':
        return with_dropped(p);
    case 'p':
        return partial(p, "generic partial specialization");
    default:
        return partial(p, "generic not-reabstracted partial specialization");
    }
}
