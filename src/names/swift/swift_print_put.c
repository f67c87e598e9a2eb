// SPDX-License-Identifier: Apache-2.0
/* Appends to the text of a name, and counts depth and steps. What a node's text is, is decided in
 * swift_print.c. */
#include <string.h>

#include "swift_print.h"

void sonde__swift_put_bytes(struct sonde__swift_out *out, const char *text, size_t length)
{
    if (length >= out->size - out->used) {
        out->failed = true;
        return;
    }
    memcpy(out->text + out->used, text, length);
    out->used += length;
}

void sonde__swift_put(struct sonde__swift_out *out, const char *text)
{
    sonde__swift_put_bytes(out, text, strlen(text));
}

void sonde__swift_put_number(struct sonde__swift_out *out, uint32_t number)
{
    char digits[10];
    size_t begin = sizeof digits;
    do {
        digits[--begin] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    sonde__swift_put_bytes(out, digits + begin, sizeof digits - begin);
}

void sonde__swift_put_text(struct sonde__swift_out *out, swift_ref ref)
{
    sonde__swift_put_bytes(out, out->p->nodes[ref].text, out->p->nodes[ref].length);
}

void sonde__swift_put_child(struct sonde__swift_out *out, swift_ref ref, size_t index)
{
    swift_ref child = sonde__swift_child(out->p, ref, index);
    if (child != 0) {
        sonde__swift_put_node(out, child);
    }
}

void sonde__swift_put_children(struct sonde__swift_out *out, swift_ref ref, const char *separator)
{
    for (size_t i = 0; i < out->p->nodes[ref].count && !out->failed; i++) {
        if (i != 0) {
            sonde__swift_put(out, separator);
        }
        sonde__swift_put_child(out, ref, i);
    }
}

static bool is_simple(const struct sonde__swift *p, swift_ref ref)
{
    switch (sonde__swift_kind_of(p, ref)) {
    case SWIFT_PROTOCOLS_NODE:
        return p->nodes[ref].count <= 1;
    case SWIFT_PROTOCOLS_ANYOBJECT_NODE:
        return p->nodes[sonde__swift_child(p, ref, 0)].count == 0;
    default:
        return sonde__swift_is(p, ref, SWIFT_SIMPLE);
    }
}

void sonde__swift_put_operand(struct sonde__swift_out *out, swift_ref ref)
{
    bool simple = is_simple(out->p, ref);
    sonde__swift_put(out, simple ? "" : "(");
    sonde__swift_put_node(out, ref);
    sonde__swift_put(out, simple ? "" : ")");
}

void sonde__swift_put_node(struct sonde__swift_out *out, swift_ref ref)
{
    if (out->failed || out->depth == SWIFT_DEPTH_MAX || out->steps == SWIFT_STEPS_MAX) {
        out->failed = true;
        return;
    }
    out->steps++;
    out->depth++;
    out->put_known(out, ref);
    out->depth--;
}
