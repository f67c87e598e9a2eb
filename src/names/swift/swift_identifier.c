// SPDX-License-Identifier: Apache-2.0
/* Identifiers (Mangling.rst, "Identifiers"): a length and text; words of earlier identifiers by
 * letter (`0` first); or Punycode (`00` first) with `_` as delimiter and A-J for the digits 0-9. */
#include <string.h>

#include "swift_node.h"

enum { IDENTIFIER_MAX = 1024 /* bytes of one that is put together */ };

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static swift_ref punycode(struct sonde__swift *p)
{
    char *out;
    size_t used;
    int32_t length = sonde__swift_natural(p);
    sonde__swift_skip(p, '_');
    if (length <= 0 || length > p->end - p->in || length > IDENTIFIER_MAX / 4 ||
        (out = sonde__swift_text(p, (size_t)length * 4)) == NULL ||
        !sonde__swift_punycode(p->in, (size_t)length, out, &used)) {
        return sonde__swift_fail(p);
    }
    p->in += length;
    p->text_count -= (size_t)length * 4 - used;
    return sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, out, used);
}

/* --- words --- */

static bool begins_word(char c)
{
    return !is_digit(c) && c != '_' && c != '\0';
}

static bool ends_word(char c, char before)
{
    return c == '_' || c == '\0' || (!is_upper(before) && is_upper(c));
}

/* Remember the words of a part of an identifier. */
static void add_words(struct sonde__swift *p, const char *text, size_t length)
{
    size_t begin = length;
    for (size_t i = 0; i <= length; i++) {
        char c = i < length ? text[i] : '\0';
        if (begin < i && ends_word(c, text[i - 1])) {
            if (i - begin >= 2 && p->word_count < SWIFT_WORDS_MAX) {
                p->words[p->word_count++] =
                    (struct sonde__swift_word){.text = text + begin, .length = i - begin};
            }
            begin = length;
        }
        if (begin == length && begins_word(c)) {
            begin = i;
        }
    }
}

struct built {
    char text[IDENTIFIER_MAX];
    size_t length;
};

static bool append(struct built *built, const char *text, size_t length)
{
    if (length > sizeof built->text - built->length) {
        return false;
    }
    memcpy(built->text + built->length, text, length);
    built->length += length;
    return true;
}

/* Append words up to a literal part. *ret_last: the last one, an upper-case letter, was there. */
static bool append_words(struct sonde__swift *p, struct built *built, bool *ret_last)
{
    while (!*ret_last && (is_lower(sonde__swift_peek(p)) || is_upper(sonde__swift_peek(p)))) {
        char c = sonde__swift_next(p);
        size_t index = (size_t)(c - (is_upper(c) ? 'A' : 'a'));
        *ret_last = is_upper(c);
        if (index >= p->word_count ||
            !append(built, p->words[index].text, p->words[index].length)) {
            return false;
        }
    }
    return true;
}

/* A literal part: its length, its text. */
static bool literal(struct sonde__swift *p, const char **ret_text, size_t *ret_length)
{
    int32_t length = sonde__swift_natural(p);
    if (length <= 0 || length > p->end - p->in) {
        return false;
    }
    *ret_text = p->in;
    *ret_length = (size_t)length;
    add_words(p, p->in, (size_t)length);
    p->in += length;
    return true;
}

static swift_ref keep(struct sonde__swift *p, const struct built *built)
{
    char *text = sonde__swift_text(p, built->length);
    if (text == NULL || built->length == 0) {
        return sonde__swift_fail(p);
    }
    memcpy(text, built->text, built->length);
    return sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, text, built->length);
}

static swift_ref identifier_of_words(struct sonde__swift *p)
{
    struct built built;
    const char *text;
    size_t length;
    bool last = false;
    built.length = 0;
    while (!last) {
        if (!append_words(p, &built, &last)) {
            return sonde__swift_fail(p);
        }
        if (sonde__swift_skip(p, '0')) {
            break;
        }
        if (!literal(p, &text, &length) || !append(&built, text, length)) {
            return sonde__swift_fail(p);
        }
    }
    return keep(p, &built);
}

swift_ref sonde__swift_identifier(struct sonde__swift *p)
{
    const char *text;
    size_t length;
    swift_ref ref;
    if (sonde__swift_skip(p, '0')) {
        ref = sonde__swift_skip(p, '0') ? punycode(p) : identifier_of_words(p);
    } else if (literal(p, &text, &length)) {
        ref = sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, text, length);
    } else {
        return sonde__swift_fail(p);
    }
    return sonde__swift_substitutable(p, ref);
}

/* --- names made of identifiers --- */

swift_ref sonde__swift_operator_name(struct sonde__swift *p)
{
    static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
    swift_ref name = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    struct sonde__swift_node node = p->nodes[name];
    char *text = sonde__swift_text(p, node.length);
    char fixity = sonde__swift_next(p);
    enum sonde__swift_kind kind = fixity == 'i'   ? SWIFT_INFIX_NODE
                                  : fixity == 'p' ? SWIFT_PREFIX_NODE
                                                  : SWIFT_POSTFIX_NODE;
    if (name == 0 || text == NULL || (kind == SWIFT_POSTFIX_NODE && fixity != 'P')) {
        return sonde__swift_fail(p);
    }
    for (size_t i = 0; i < node.length; i++) {
        text[i] = is_lower(node.text[i]) ? characters[node.text[i] - 'a'] : node.text[i];
        if (text[i] == ' ' || (!is_lower(node.text[i]) && (unsigned char)node.text[i] < 0x80)) {
            return sonde__swift_fail(p);
        }
    }
    return sonde__swift_leaf(p, kind, text, node.length);
}

/* Private to a file; the discriminator is the node's text. */
static swift_ref private_name(struct sonde__swift *p, bool named)
{
    swift_ref discriminator = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    swift_ref name = named ? sonde__swift_pop_use(p, SWIFT_DECL) : 0;
    if (discriminator == 0 || (named && name == 0)) {
        return sonde__swift_fail(p);
    }
    swift_ref ref = sonde__swift_make(p, SWIFT_PRIVATE_NAME_NODE, named ? 1 : 0, &name);
    sonde__swift_at(p, ref)->text = p->nodes[discriminator].text;
    sonde__swift_at(p, ref)->length = p->nodes[discriminator].length;
    return ref;
}

swift_ref sonde__swift_local_name(struct sonde__swift *p)
{
    const char *at = p->in;
    char c = sonde__swift_peek(p);
    bool related = (c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J');
    int32_t index = 0;
    if (sonde__swift_skip(p, 'L')) {
        return private_name(p, true);
    }
    if (sonde__swift_skip(p, 'l')) {
        return private_name(p, false);
    }
    if (related) {
        p->in++;
    } else if ((index = sonde__swift_index(p)) < 0) {
        return sonde__swift_fail(p);
    }
    swift_ref name = sonde__swift_pop_use(p, SWIFT_DECL);
    swift_ref ref = sonde__swift_make_all(
        p, related ? SWIFT_RELATED_NAME_NODE : SWIFT_LOCAL_NAME_NODE, 1, &name);
    sonde__swift_at(p, ref)->text = at;
    sonde__swift_at(p, ref)->length = related;
    sonde__swift_at(p, ref)->number = (uint32_t)index + 1;
    return ref;
}
