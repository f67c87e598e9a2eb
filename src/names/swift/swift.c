// SPDX-License-Identifier: Apache-2.0
/* A name from its prefix to its text. */
#include "swift.h"

#include <string.h>

#include "mem_heap.h"
#include "swift_node.h"
#include "swift_print.h"

/* Length of the prefix; 0: not a Swift name. */
static size_t prefix(const char *name, size_t length)
{
    static const char *const prefixes[] = {"$s", "_$s", "$S", "_$S", "$e", "_$e", "_T0", "_Tt"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t size = strlen(prefixes[i]);
        if (length > size && strncmp(name, prefixes[i], size) == 0) {
            return size;
        }
    }
    return 0;
}

bool sonde__swift_is_encoded(const char *name)
{
    return (name[0] == '_' || name[0] == '$') && prefix(name, strnlen(name, 4)) != 0;
}

/* What a whole name may be. */
static bool may_be_whole(const struct sonde__swift *p, swift_ref ref)
{
    enum sonde__swift_kind kind = sonde__swift_kind_of(p, ref);
    return sonde__swift_is(p, ref, SWIFT_TYPE | SWIFT_CONTEXT) || kind == SWIFT_FORMAT_NODE ||
           kind == SWIFT_PREFIXED_NODE;
}

/* Attributes are the last operators, and are printed first. */
swift_ref sonde__swift_collect(struct sonde__swift *p)
{
    swift_ref parts[SWIFT_LIST_MAX];
    size_t count = 0;
    swift_ref suffix = sonde__swift_pop(p, SWIFT_SUFFIX_NODE), ref;
    while (count + 3 < SWIFT_LIST_MAX && (ref = sonde__swift_pop_use(p, SWIFT_ATTRIBUTE)) != 0) {
        parts[count++] = ref;
    }
    swift_ref whole = sonde__swift_pop_any(p);
    if (p->stack_count != p->bottom || (whole == 0 ? count == 0 : !may_be_whole(p, whole))) {
        return sonde__swift_fail(p);
    }
    for (size_t i = 0; i < count; i++) {
        p->nodes[parts[i]].number |=
            p->nodes[parts[i]].kind == SWIFT_PARTIAL_APPLY_NODE && (whole != 0 || i + 1 < count);
    }
    if (whole != 0) {
        parts[count++] = whole;
    }
    if (suffix != 0) {
        parts[count++] = suffix;
    }
    return sonde__swift_make_all(p, SWIFT_GLOBAL_NODE, count, parts);
}

static swift_ref decode(struct sonde__swift *p, const char *name, size_t length)
{
    size_t skipped = prefix(name, length);
    p->in = name + skipped;
    p->end = name + length;
    p->word_count = 0;
    p->old_functions = strncmp(name, "_T", 2) == 0;
    if (skipped == 0) {
        return sonde__swift_fail(p);
    }
    if (strncmp(name, "_Tt", 3) == 0) {
        return sonde__swift_old_type(p);
    }
    return sonde__swift_run(p) ? sonde__swift_collect(p) : 0;
}

/* The names that a name contains use the same memory. */
static swift_ref decode_nested(struct sonde__swift *p, const char *text, size_t length)
{
    const char *in = p->in, *end = p->end;
    struct sonde__swift_word words[SWIFT_WORDS_MAX];
    uint16_t word_count = p->word_count, bottom = p->bottom, first = p->substitution_first;
    uint16_t stack_count = p->stack_count, substitution_count = p->substitution_count;
    bool old_functions = p->old_functions;
    if (p->failed || p->nested == SWIFT_NESTED_MAX || prefix(text, length) == 0) {
        return 0;
    }
    memcpy(words, p->words, sizeof words);
    p->nested++;
    p->bottom = p->stack_count;
    p->substitution_first = p->substitution_count;
    swift_ref ref = decode(p, text, length);
    p->nested--;
    p->failed = false;
    p->in = in;
    p->end = end;
    p->bottom = bottom;
    p->stack_count = stack_count;
    p->substitution_first = first;
    p->substitution_count = substitution_count;
    p->word_count = word_count;
    p->old_functions = old_functions;
    memcpy(p->words, words, sizeof words);
    return ref;
}

bool sonde__swift_decode(const char *name, enum sonde__swift_style style, char *text, size_t size)
{
    size_t length = strnlen(name, SONDE__SWIFT_INPUT_MAX + 1);
    if (length > SONDE__SWIFT_INPUT_MAX || !sonde__swift_is_encoded(name)) {
        return false;
    }
    struct sonde__swift *p = sonde__mem_alloc(sizeof *p); /* too large for a small stack */
    if (p == NULL) {
        return false;
    }
    memset(p, 0, offsetof(struct sonde__swift, stack));
    p->nodes[0] = (struct sonde__swift_node){.text = ""};
    p->node_count = 1;
    p->decode_nested = decode_nested;
    swift_ref ref = decode(p, name, length);
    bool is_decoded = ref != 0 && !p->failed && sonde__swift_print(p, ref, style, text, size);
    sonde__mem_free(p);
    return is_decoded;
}
