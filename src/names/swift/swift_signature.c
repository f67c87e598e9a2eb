// SPDX-License-Identifier: Apache-2.0
/* Copies of functions that were made for what is known of their arguments (Mangling.rst,
 * "Function signature specialization"). The letters of the arguments come last; their operands,
 * before them, are popped in reverse. */
#include <string.h>

#include "swift_specialization.h"

enum { PARTS_MAX = 128, ARGUMENTS_MAX = 64 };

/* One thing that is known of an argument. */
struct part {
    char code; /* c closure, f function, g global, k key path, S struct, s string; 0: ready */
    uint8_t argument;
    swift_ref ref; /* the ready part, or the string's encoding */
};

struct signature {
    struct part parts[PARTS_MAX];
    size_t count;
};

static void add_part(struct sonde__swift *p, struct signature *s, unsigned argument, char code,
                     swift_ref ref)
{
    if (s->count == PARTS_MAX) {
        sonde__swift_fail(p);
        return;
    }
    s->parts[s->count++] = (struct part){.code = code, .argument = (uint8_t)argument, .ref = ref};
}

static swift_ref bracketed(struct sonde__swift *p, const char *text, swift_ref ref)
{
    swift_ref parts[2] = {ref, sonde__swift_words(p, "]")};
    return sonde__swift_prefixed(p, text, 2, parts);
}

/* The digits here, as text. */
static swift_ref digits(struct sonde__swift *p)
{
    const char *begin = p->in;
    while (sonde__swift_peek(p) >= '0' && sonde__swift_peek(p) <= '9') {
        p->in++;
    }
    return p->in == begin
               ? sonde__swift_fail(p)
               : sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, begin, (size_t)(p->in - begin));
}

/* After `p`: constants. */
static void add_constants(struct sonde__swift *p, struct signature *s, unsigned argument)
{
    while (!p->failed) {
        char c = sonde__swift_peek(p);
        if (c == '\0' || strchr("Sfgidsk", c) == NULL) {
            return;
        }
        p->in++;
        if (c == 'i' || c == 'd') {
            add_part(p, s, argument, 0,
                     bracketed(p,
                               c == 'i' ? "[Constant Propagated Integer : "
                                        : "[Constant Propagated Float : ",
                               digits(p)));
        } else if (c == 's') {
            char encoding = sonde__swift_next(p);
            add_part(p, s, argument, 's',
                     encoding == 'b'   ? sonde__swift_words(p, "u8'")
                     : encoding == 'w' ? sonde__swift_words(p, "u16'")
                     : encoding == 'c' ? sonde__swift_words(p, "objc'")
                                       : sonde__swift_fail(p));
        } else {
            add_part(p, s, argument, c, 0);
        }
    }
}

/* `e`, `d`, `g`, `o`, `x`: a set of changes. */
static swift_ref changes(struct sonde__swift *p, char first)
{
    static const struct {
        char code;
        const char *text;
    } names[] = {{'e', "Existential To Protocol Constrained Generic"},
                 {'D', "Dead"},
                 {'G', "Owned To Guaranteed"},
                 {'O', "Guaranteed To Owned"},
                 {'X', "Exploded"}};
    swift_ref parts[10];
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char code = names[i].code;
        bool is = code == first || (first != 'e' && code == first - 'a' + 'A') ||
                  (code != 'e' && sonde__swift_skip(p, code));
        if (is) {
            if (count != 0) {
                parts[count++] = sonde__swift_words(p, " and ");
            }
            parts[count++] = sonde__swift_words(p, names[i].text);
        }
    }
    return sonde__swift_prefixed(p, "", count, parts);
}

/* The letters of one argument. */
static void add_argument(struct sonde__swift *p, struct signature *s, unsigned argument)
{
    char c = sonde__swift_next(p);
    switch (c) {
    case 'n':
        return;
    case 'c':
    case 'E':
        add_part(p, s, argument, 'c', 0);
        return;
    case 'C':
        add_part(p, s, argument, 0, bracketed(p, "[Same As Argument ", digits(p)));
        return;
    case 'p':
        add_constants(p, s, argument);
        return;
    case 'i':
        add_part(p, s, argument, 0, sonde__swift_words(p, "Value Promoted from Box"));
        return;
    case 's':
        add_part(p, s, argument, 0, sonde__swift_words(p, "Stack Promoted from Box"));
        return;
    case 'r':
        add_part(p, s, argument, 0, sonde__swift_words(p, "InOut Converted to Out"));
        return;
    default:
        if (c == '\0' || strchr("edgox", c) == NULL) {
            sonde__swift_fail(p);
            return;
        }
        add_part(p, s, argument, 0, changes(p, c));
    }
}

/* A popped identifier that may be an encoded name itself. */
static swift_ref pop_symbol(struct sonde__swift *p)
{
    swift_ref name = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    struct sonde__swift_node node = p->nodes[name];
    swift_ref decoded = name == 0 ? 0 : p->decode_nested(p, node.text, node.length);
    return decoded != 0 ? decoded : name;
}

static swift_ref closure(struct sonde__swift *p)
{
    swift_ref parts[SWIFT_LIST_MAX + 1], type;
    size_t begin = SWIFT_LIST_MAX;
    parts[SWIFT_LIST_MAX] = sonde__swift_words(p, "]");
    while (begin > 2 && (type = sonde__swift_pop_type(p)) != 0) {
        parts[--begin] = type;
    }
    parts[--begin] = sonde__swift_words(p, ", Argument Types : [");
    parts[--begin] = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    return sonde__swift_prefixed(p, "[Closure Propagated : ", SWIFT_LIST_MAX + 1 - begin,
                                 parts + begin);
}

static swift_ref key_path(struct sonde__swift *p)
{
    swift_ref parts[6];
    parts[4] = sonde__swift_words(p, ">]");
    parts[3] = sonde__swift_pop_type(p);
    parts[2] = sonde__swift_words(p, ",");
    parts[1] = sonde__swift_pop_type(p);
    swift_ref less = sonde__swift_words(p, "<");
    swift_ref name = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    memmove(parts + 2, parts + 1, 4 * sizeof *parts);
    parts[0] = name;
    parts[1] = less;
    return sonde__swift_prefixed(p, "[Constant Propagated KeyPath : ", 6, parts);
}

static swift_ref string(struct sonde__swift *p, swift_ref encoding)
{
    swift_ref name = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    struct sonde__swift_node node = p->nodes[name];
    bool escaped = node.length != 0 && node.text[0] == '_';
    swift_ref parts[3] = {encoding,
                          name == 0
                              ? 0
                              : sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, node.text + escaped,
                                                  (size_t)node.length - escaped),
                          sonde__swift_words(p, "']")};
    return sonde__swift_prefixed(p, "[Constant Propagated String : ", 3, parts);
}

static swift_ref finish_part(struct sonde__swift *p, const struct part *part)
{
    switch (part->code) {
    case 'c':
        return closure(p);
    case 'f':
        return bracketed(p, "[Constant Propagated Function : ", pop_symbol(p));
    case 'g':
        return bracketed(p, "[Constant Propagated Global : ", pop_symbol(p));
    case 'S':
        return bracketed(p, "[Constant Propagated Struct : ", sonde__swift_pop_type(p));
    case 'k':
        return key_path(p);
    case 's':
        return string(p, part->ref);
    default:
        return part->ref;
    }
}

/* The arguments of which something is known. */
static swift_ref finish(struct sonde__swift *p, struct signature *s, bool serialized,
                        unsigned returned)
{
    swift_ref arguments[ARGUMENTS_MAX + 2], parts[PARTS_MAX + 1];
    size_t count = 0;
    if (serialized) {
        arguments[count++] = sonde__swift_words(p, "serialized");
    }
    for (size_t i = s->count; i-- > 0;) {
        s->parts[i].ref = finish_part(p, &s->parts[i]);
    }
    for (size_t i = 0, used; i < s->count && !p->failed; i += used - 1) {
        unsigned argument = s->parts[i].argument;
        parts[0] = argument == returned ? sonde__swift_words(p, "Return = ")
                                        : sonde__swift_numbered(p, "Arg[%d] = ", (int32_t)argument);
        used = 1;
        for (size_t k = i; k < s->count && s->parts[k].argument == argument; k++) {
            parts[used++] = s->parts[k].ref;
        }
        arguments[count++] = sonde__swift_prefixed(p, "", used, parts);
    }
    return sonde__swift_specialized(p, "function signature specialization", count, arguments);
}

swift_ref sonde__swift_signature_specialization(struct sonde__swift *p)
{
    struct signature s;
    bool serialized, changed;
    unsigned argument = 0;
    s.count = 0;
    if (!sonde__swift_pass(p, &serialized, &changed)) {
        return sonde__swift_fail(p);
    }
    if (changed) {
        return sonde__swift_specialized(p, "", 0, NULL);
    }
    while (!p->failed && !sonde__swift_skip(p, '_')) {
        if (argument == ARGUMENTS_MAX) {
            return sonde__swift_fail(p);
        }
        add_argument(p, &s, argument++);
    }
    add_argument(p, &s, argument);
    return finish(p, &s, serialized, argument);
}
