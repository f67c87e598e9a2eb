// SPDX-License-Identifier: Apache-2.0
/* Memory of a name's tree, and the stack of the decoder. */
#include "swift_node.h"

#include <string.h>

#define SWIFT_KIND_ROW(name, uses, format) {uses, format},
const struct sonde__swift_kind_row sonde__swift_kinds[SWIFT_KIND_COUNT] = {
    SWIFT_KINDS(SWIFT_KIND_ROW)};

swift_ref sonde__swift_fail(struct sonde__swift *p)
{
    p->failed = true;
    p->in = p->end;
    return 0;
}

swift_ref sonde__swift_make(struct sonde__swift *p, enum sonde__swift_kind kind, size_t count,
                            const swift_ref *children)
{
    struct sonde__swift_node *node = &p->nodes[p->node_count];
    if (p->failed || p->node_count == SWIFT_NODES_MAX ||
        count > (size_t)(SWIFT_CHILDREN_MAX - p->child_count)) {
        return sonde__swift_fail(p);
    }
    *node = (struct sonde__swift_node){
        .text = "", .first = p->child_count, .count = (uint16_t)count, .kind = (uint8_t)kind};
    if (count != 0) {
        memcpy(p->children + p->child_count, children, count * sizeof *children);
    }
    p->child_count = (uint16_t)(p->child_count + count);
    return p->node_count++;
}

swift_ref sonde__swift_make_all(struct sonde__swift *p, enum sonde__swift_kind kind, size_t count,
                                const swift_ref *children)
{
    for (size_t i = 0; i < count; i++) {
        if (children[i] == 0) {
            return sonde__swift_fail(p);
        }
    }
    return sonde__swift_make(p, kind, count, children);
}

swift_ref sonde__swift_leaf(struct sonde__swift *p, enum sonde__swift_kind kind, const char *text,
                            size_t length)
{
    swift_ref ref = sonde__swift_make(p, kind, 0, NULL);
    if (ref != 0) {
        p->nodes[ref].text = text;
        p->nodes[ref].length = (uint16_t)length;
    }
    return ref;
}

swift_ref sonde__swift_word_leaf(struct sonde__swift *p, enum sonde__swift_kind kind,
                                 const char *text)
{
    return sonde__swift_leaf(p, kind, text, strlen(text));
}

swift_ref sonde__swift_number(struct sonde__swift *p, enum sonde__swift_kind kind, uint32_t number)
{
    swift_ref ref = sonde__swift_make(p, kind, 0, NULL);
    if (ref != 0) {
        p->nodes[ref].number = number;
    }
    return ref;
}

swift_ref sonde__swift_prefixed(struct sonde__swift *p, const char *text, size_t count,
                                const swift_ref *children)
{
    swift_ref ref = sonde__swift_make_all(p, SWIFT_PREFIXED_NODE, count, children);
    if (ref != 0) {
        p->nodes[ref].text = text;
        p->nodes[ref].length = (uint16_t)strlen(text);
    }
    return ref;
}

char *sonde__swift_text(struct sonde__swift *p, size_t length)
{
    char *text = p->texts + p->text_count;
    if (length > SWIFT_TEXTS_MAX - p->text_count) {
        sonde__swift_fail(p);
        return NULL;
    }
    p->text_count += length;
    return text;
}

/* --- the stack --- */

void sonde__swift_push(struct sonde__swift *p, swift_ref ref)
{
    if (ref == 0 || p->stack_count == SWIFT_STACK_MAX) {
        sonde__swift_fail(p);
        return;
    }
    p->stack[p->stack_count++] = ref;
}

static swift_ref top(const struct sonde__swift *p)
{
    return p->stack_count > p->bottom ? p->stack[p->stack_count - 1] : 0;
}

swift_ref sonde__swift_pop_any(struct sonde__swift *p)
{
    swift_ref ref = top(p);
    p->stack_count = (uint16_t)(p->stack_count - (ref != 0));
    return ref;
}

swift_ref sonde__swift_pop(struct sonde__swift *p, enum sonde__swift_kind kind)
{
    return sonde__swift_kind_of(p, top(p)) == kind ? sonde__swift_pop_any(p) : 0;
}

swift_ref sonde__swift_pop_use(struct sonde__swift *p, unsigned uses)
{
    return sonde__swift_is(p, top(p), uses) ? sonde__swift_pop_any(p) : 0;
}

swift_ref sonde__swift_pop_type(struct sonde__swift *p)
{
    return sonde__swift_pop_use(p, SWIFT_TYPE);
}

/* An identifier in the place of a module is its name. */
swift_ref sonde__swift_pop_module(struct sonde__swift *p)
{
    swift_ref name = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    if (name == 0) {
        return sonde__swift_pop(p, SWIFT_MODULE_NODE);
    }
    return sonde__swift_leaf(p, SWIFT_MODULE_NODE, p->nodes[name].text, p->nodes[name].length);
}

swift_ref sonde__swift_pop_context(struct sonde__swift *p)
{
    swift_ref module = sonde__swift_pop_module(p);
    return module != 0 ? module : sonde__swift_pop_use(p, SWIFT_CONTEXT);
}

swift_ref sonde__swift_pop_protocol(struct sonde__swift *p)
{
    swift_ref children[5] = {0};
    if (sonde__swift_is(p, top(p), SWIFT_TYPE)) {
        return sonde__swift_pop(p, SWIFT_PROTOCOL_NODE);
    }
    children[SWIFT_OF_NAME] = sonde__swift_pop_use(p, SWIFT_DECL);
    children[SWIFT_OF_CONTEXT] = sonde__swift_pop_context(p);
    return children[SWIFT_OF_NAME] == 0 || children[SWIFT_OF_CONTEXT] == 0
               ? 0
               : sonde__swift_make(p, SWIFT_PROTOCOL_NODE, 5, children);
}

swift_ref sonde__swift_pop_list(struct sonde__swift *p, enum sonde__swift_kind kind,
                                swift_ref (*pop_element)(struct sonde__swift *))
{
    swift_ref elements[SWIFT_LIST_MAX];
    size_t begin = SWIFT_LIST_MAX;
    bool first = sonde__swift_pop(p, SWIFT_EMPTY_LIST_NODE) != 0;
    while (!first) {
        first = sonde__swift_pop(p, SWIFT_FIRST_NODE) != 0;
        if (begin == 0 || (elements[--begin] = pop_element(p)) == 0) {
            return sonde__swift_fail(p);
        }
    }
    return sonde__swift_make(p, kind, SWIFT_LIST_MAX - begin, elements + begin);
}

swift_ref sonde__swift_substitutable(struct sonde__swift *p, swift_ref ref)
{
    if (ref == 0 || p->substitution_count == SWIFT_SUBSTITUTIONS_MAX) {
        return sonde__swift_fail(p);
    }
    p->substitutions[p->substitution_count++] = ref;
    return ref;
}

/* --- numbers --- */

int32_t sonde__swift_natural(struct sonde__swift *p)
{
    int32_t number = 0;
    const char *begin = p->in;
    while (p->in < p->end && *p->in >= '0' && *p->in <= '9') {
        if (number > 99999999) {
            return -1;
        }
        number = number * 10 + (*p->in++ - '0');
    }
    return p->in == begin ? -1 : number;
}

int32_t sonde__swift_index(struct sonde__swift *p)
{
    int32_t number;
    if (sonde__swift_skip(p, '_')) {
        return 0;
    }
    number = sonde__swift_natural(p);
    return number >= 0 && sonde__swift_skip(p, '_') ? number + 1 : -1;
}
