// SPDX-License-Identifier: Apache-2.0
/* Nodes by their formats: `%0` to `%3` a child; `%p0` a child, in parentheses unless it is simple;
 * `%?0` a child and a space, if there is one; `%t` the node's text; `%n` its number; `%*,` `%*.`
 * `%*` all children, with what is between them; `%e0` how a number says that there was an error. */
#include "swift_print.h"

#include <string.h>

static void put_error_flag(struct sonde__swift_out *out, swift_ref number)
{
    static const char *const texts[] = {"", " nonzero on error", " zero on error"};
    uint32_t flag = out->p->nodes[number].number;
    sonde__swift_put(out, flag < 3 ? texts[flag] : " <invalid error flag>");
}

/* After `%`. Returns the end of the directive. */
static const char *put_directive(struct sonde__swift_out *out, swift_ref ref, const char *at)
{
    swift_ref child;
    switch (*at) {
    case 't':
        sonde__swift_put_text(out, ref);
        return at + 1;
    case 'n':
        sonde__swift_put_number(out, out->p->nodes[ref].number);
        return at + 1;
    case '*':
        sonde__swift_put_children(out, ref, at[1] == ',' ? ", " : at[1] == '.' ? "." : "");
        return at + 1 + (at[1] == ',' || at[1] == '.');
    case 'p':
        sonde__swift_put_operand(out, sonde__swift_child(out->p, ref, (size_t)(at[1] - '0')));
        return at + 2;
    case 'e':
        put_error_flag(out, sonde__swift_child(out->p, ref, (size_t)(at[1] - '0')));
        return at + 2;
    case '?':
        child = sonde__swift_child(out->p, ref, (size_t)(at[1] - '0'));
        sonde__swift_put_child(out, ref, (size_t)(at[1] - '0'));
        sonde__swift_put(out, child != 0 ? " " : "");
        return at + 2;
    default:
        sonde__swift_put_child(out, ref, (size_t)(*at - '0'));
        return at + 1;
    }
}

static void put_format(struct sonde__swift_out *out, swift_ref ref, const char *format)
{
    while (*format != '\0' && !out->failed) {
        size_t length = strcspn(format, "%");
        sonde__swift_put_bytes(out, format, length);
        format += length;
        if (*format == '%') {
            format = put_directive(out, ref, format + 1);
        }
    }
}

/* --- nodes of whole names --- */

static void put_quoted(struct sonde__swift_out *out, const char *text, size_t length)
{
    static const char hex[] = "0123456789ABCDEF";
    sonde__swift_put(out, "\"");
    for (size_t i = 0; i < length && !out->failed; i++) {
        unsigned char c = (unsigned char)text[i];
        char escaped[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
        if (c == '\\' || c == '"') {
            sonde__swift_put(out, "\\");
        }
        if (c < 0x20 || c >= 0x7f) {
            sonde__swift_put_bytes(out, escaped, 4);
        } else {
            sonde__swift_put_bytes(out, text + i, 1);
        }
    }
    sonde__swift_put(out, "\"");
}

static void put_suffix(struct sonde__swift_out *out, swift_ref ref)
{
    const struct sonde__swift_node *node = sonde__swift_at(out->p, ref);
    if (!out->brief) {
        sonde__swift_put(out, " with unmangled suffix ");
        put_quoted(out, node->text, node->length);
    }
}

static void put_specialization(struct sonde__swift_out *out, swift_ref ref)
{
    if (out->brief) {
        sonde__swift_put(out, out->specialized ? "" : "specialized ");
        out->specialized = true;
    } else if (out->p->nodes[ref].length == 0) {
        sonde__swift_put(out, "representation changed of ");
    } else {
        put_format(out, ref, "%t <%*,> of ");
    }
}

static void put_private_name(struct sonde__swift_out *out, swift_ref ref)
{
    bool named = out->p->nodes[ref].count != 0;
    if (out->brief) {
        sonde__swift_put_child(out, ref, 0);
    } else {
        put_format(out, ref, named ? "(%0 in %t)" : "(in %t)");
    }
}

static void put_conformance(struct sonde__swift_out *out, swift_ref ref)
{
    bool behavior = out->p->nodes[ref].count == 4;
    put_format(out, ref,
               behavior     ? "property behavior storage of %2 in %0 : %1"
               : out->brief ? "%0"
                            : "%0 : %1 in %2");
}

static void put_concrete(struct sonde__swift_out *out, swift_ref ref)
{
    bool conditional = out->p->nodes[sonde__swift_child(out->p, ref, 2)].count != 0;
    put_format(out, ref,
               conditional ? "concrete protocol conformance %0 to %1 with conditional "
                             "requirements: (%2)"
                           : "concrete protocol conformance %0 to %1");
}

static void put_extension(struct sonde__swift_out *out, swift_ref ref)
{
    put_format(out, ref, out->brief ? "%1%2" : "(extension in %0):%1%2");
}

static void put_anonymous(struct sonde__swift_out *out, swift_ref ref)
{
    bool arguments = out->p->nodes[sonde__swift_child(out->p, ref, 2)].count != 0;
    if (!out->brief) {
        put_format(out, ref,
                   arguments ? "%1.(unknown context at %0)<%2>" : "%1.(unknown context at %0)");
    }
}

/* Nodes that neither a format nor a type prints. */
static void put_other(struct sonde__swift_out *out, swift_ref ref)
{
    switch (sonde__swift_kind_of(out->p, ref)) {
    case SWIFT_MODULE_NODE:
        if (!out->brief) {
            sonde__swift_put_text(out, ref);
        }
        return;
    case SWIFT_SUFFIX_NODE:
        put_suffix(out, ref);
        return;
    case SWIFT_SPECIALIZATION_NODE:
        put_specialization(out, ref);
        return;
    case SWIFT_PARTIAL_APPLY_NODE:
        sonde__swift_put_bytes(out, out->p->nodes[ref].text,
                               out->brief ? sizeof "partial apply" - 1 : out->p->nodes[ref].length);
        sonde__swift_put(out, out->p->nodes[ref].number != 0 ? " for " : "");
        return;
    case SWIFT_PRIVATE_NAME_NODE:
        put_private_name(out, ref);
        return;
    case SWIFT_CONFORMANCE_NODE:
        put_conformance(out, ref);
        return;
    case SWIFT_CONCRETE_NODE:
        put_concrete(out, ref);
        return;
    case SWIFT_EXTENSION_NODE:
        put_extension(out, ref);
        return;
    case SWIFT_ANONYMOUS_NODE:
        put_anonymous(out, ref);
        return;
    case SWIFT_DERIVATIVE_NODE:
        put_format(out, ref, out->brief ? "%0%1" : "%0%1%2");
        return;
    case SWIFT_ATTRIBUTE_NODE:
        sonde__swift_put_text(out, ref);
        return;
    default:
        return;
    }
}

static void put_known(struct sonde__swift_out *out, swift_ref ref)
{
    const struct sonde__swift_node *node = sonde__swift_at(out->p, ref);
    const struct sonde__swift_kind_row *row = &sonde__swift_kinds[node->kind];
    bool by_operator = node->length == 0 &&
                       (node->kind == SWIFT_FORMAT_NODE || node->kind == SWIFT_ATTRIBUTE_NODE ||
                        node->kind == SWIFT_TYPE_NODE || node->kind == SWIFT_TYPE_SIMPLE_NODE);
    if (row->format[0] != '\0') {
        put_format(out, ref, row->format);
    } else if (by_operator) {
        const struct sonde__swift_operator *op = &sonde__swift_operators[node->number];
        put_format(out, ref, out->brief && op->brief != NULL ? op->brief : op->full);
    } else if ((row->uses & SWIFT_ENTITY) != 0) {
        sonde__swift_put_entity(out, ref, false);
    } else if (!sonde__swift_put_type(out, ref)) {
        put_other(out, ref);
    }
}

bool sonde__swift_print(struct sonde__swift *p, swift_ref ref, enum sonde__swift_style style,
                        char *text, size_t size)
{
    struct sonde__swift_out out = {.p = p,
                                   .text = text,
                                   .size = size,
                                   .brief = style == SONDE__SWIFT_SHORT,
                                   .put_known = put_known};
    if (size == 0) {
        return false;
    }
    sonde__swift_put_node(&out, ref);
    text[out.used] = '\0';
    return !out.failed && out.used != 0;
}
