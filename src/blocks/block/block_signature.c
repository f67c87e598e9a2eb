// SPDX-License-Identifier: Apache-2.0
/* The C type of a block from its encoding.
 *
 * C writes types from the inside out (`void (^(^f)(int))(char)`), encodings go from the outside in.
 * So a type is written around a declarator: the name, or what refers to it. Depth and length of
 * declarators bound the work. Sources: "Type Encodings" of the Objective-C Runtime Programming
 * Guide; clang's ASTContext::getObjCEncodingForTypeImpl. */
#include <string.h>

#include "base_text.h"
#include "block.h"

/* Nesting of types; the most met is 5. */
#define DEPTH_MAX 24u
/* Types written for one signature. Those in blocks that return blocks are read twice. */
#define TYPES_MAX 8192u
#define FRAME_MAX 100000000u
/* The parameters of a block that returns a block are a part of its declarator. */
#define DECLARATOR_MAX 600u

struct parser {
    const char *at, *end;
    struct sonde__text *out;
    unsigned depth;
    unsigned *types_left;
    uint32_t frame; /* bytes of the arguments */
};

static bool write_type(struct parser *p, const char *declarator);

static char peek(const struct parser *p)
{
    char c = p->at < p->end ? *p->at : '\0';
    return c == 1 ? '@' : c;
}

static bool take_char(struct parser *p, char c)
{
    if (peek(p) != c || c == '\0') {
        return false;
    }
    p->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skip the frame size after the result, and the offsets of arguments. Saturates. */
static uint32_t skip_number(struct parser *p)
{
    uint32_t number = 0;
    while (peek(p) == '-' || peek(p) == '+') {
        p->at++;
    }
    for (; is_digit(peek(p)); p->at++) {
        number = number < FRAME_MAX ? number * 10 + (uint32_t)(*p->at - '0') : FRAME_MAX;
    }
    return number;
}

/* `base declarator`, with a blank where needed. */
static void declare(struct parser *p, const char *base, size_t size, const char *declarator)
{
    sonde__base_text_bytes(p->out, base, size);
    if (declarator[0] != '\0') {
        if (size == 0 || base[size - 1] != '*' || declarator[0] != '*') {
            sonde__base_text_char(p->out, ' ');
        }
        sonde__base_text_str(p->out, declarator);
    }
}

static bool declare_word(struct parser *p, const char *word, const char *declarator)
{
    declare(p, word, strlen(word), declarator);
    return true;
}

static const char *simple(char c)
{
    static const struct {
        char code;
        const char *name;
    } types[] = {
        {'c', "char"},         {'C', "unsigned char"},
        {'s', "short"},        {'S', "unsigned short"},
        {'i', "int"},          {'I', "unsigned int"},
        {'l', "int"},          {'L', "unsigned int"}, /* l is 32 bits wide */
        {'q', "long"},         {'Q', "unsigned long"},
        {'t', "__int128"},     {'T', "unsigned __int128"},
        {'f', "float"},        {'d', "double"},
        {'D', "long double"},  {'B', "bool"},
        {'v', "void"},         {'*', "char *"},
        {'#', "Class"},        {':', "SEL"},
        {'%', "const char *"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].code == c) {
            return types[i].name;
        }
    }
    return NULL;
}

/* Skip one type. */
static bool skip_type(struct parser *p)
{
    struct parser quiet = *p;
    char nothing[1];
    struct sonde__text text;
    sonde__base_text_init(&text, nothing, sizeof nothing);
    quiet.out = &text;
    if (!write_type(&quiet, "")) {
        return false;
    }
    p->at = quiet.at;
    return true;
}

/* Characters of names of structs and objects: printable, and nothing that a terminal or a reader
 * could misread. */
static bool is_printable(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] == 127) { /* bytes of UTF-8 are negative or above */
            if ((unsigned char)text[i] < 128) {
                return false;
            }
        }
    }
    return true;
}

/* {name=...}, (name=...): skips the parts, up to the matching brace. */
static bool aggregate(struct parser *p, char open, char close, const char *word,
                      const char *declarator)
{
    const char *name = ++p->at;
    size_t size;
    unsigned nesting = 1;
    bool is_quoted = false;
    while (p->at < p->end && *p->at != '=' && *p->at != close) {
        p->at++;
    }
    size = (size_t)(p->at - name);
    for (; p->at < p->end; p->at++) {
        char c = *p->at;
        is_quoted ^= c == '"';
        if (is_quoted) {
            continue;
        }
        nesting += c == open;
        if (c == close && --nesting == 0) {
            break;
        }
    }
    if (!take_char(p, close) || !is_printable(name, size)) {
        return false;
    }
    sonde__base_text_str(p->out, word);
    if (size == 0 || (size == 1 && *name == '?')) {
        declare(p, " {...}", 6, declarator);
    } else {
        sonde__base_text_char(p->out, ' ');
        declare(p, name, size, declarator);
    }
    return true;
}

/* The parameters of a block: types until `close`, or to the end of the text when that is NUL. */
static bool parameters(struct parser *p, char close)
{
    unsigned count = 0;
    while (p->at < p->end && peek(p) != close) {
        const char *before = p->at;
        if (count++ > 0) {
            sonde__base_text_str(p->out, ", ");
        }
        /* clang omits vectors, for which there is no code */
        if (is_digit(peek(p))) {
            sonde__base_text_str(p->out, "/* not encoded */");
        } else if (!write_type(p, "")) {
            return false;
        }
        if (close == '\0' && skip_number(p) >= p->frame) { /* "i8" "16" */
            sonde__base_text_str(p->out, ", /* not encoded */");
        }
        if (p->at == before) {
            return false;
        }
    }
    if (count == 0) {
        sonde__base_text_str(p->out, "void");
    }
    return close == '\0' || take_char(p, close);
}

/* After the result type, at the parameter of the block itself. */
static bool own_parameter(struct parser *p, char close)
{
    if (!take_char(p, '@') || !take_char(p, '?')) {
        return false;
    }
    if (close == '\0') {
        (void)skip_number(p);
    }
    return true;
}

/* Does the type at the cursor, after pointers and qualifiers, wrap around a declarator? */
static bool is_inside_out(const struct parser *p)
{
    const char *at = p->at;
    while (at < p->end && strchr("^rnNoORVAj", *at) != NULL) {
        at++;
    }
    return at < p->end && (*at == '[' || (p->end - at > 2 && (*at == '@' || *at == 1) &&
                                          at[1] == '?' && at[2] == '<'));
}

/* result, self, parameters: `result (^declarator)(parameters)`. */
static bool function(struct parser *p, const char *declarator, char close)
{
    char text[DECLARATOR_MAX];
    struct sonde__text inner, *out = p->out;
    struct parser result = *p;
    bool is_known;
    if (!is_inside_out(p)) {
        if (!write_type(p, "")) {
            return false;
        }
        if (close == '\0') {
            p->frame = skip_number(p);
        }
        sonde__base_text_str(out, " (^");
        sonde__base_text_str(out, declarator);
        sonde__base_text_str(out, ")(");
        if (!own_parameter(p, close) || !parameters(p, close)) {
            return false;
        }
        sonde__base_text_char(out, ')');
        return true;
    }
    /* the result wraps around the parameters, which follow */
    if (!skip_type(p)) {
        return false;
    }
    if (close == '\0') {
        p->frame = skip_number(p);
    }
    sonde__base_text_init(&inner, text, sizeof text);
    sonde__base_text_str(&inner, "(^");
    sonde__base_text_str(&inner, declarator);
    sonde__base_text_str(&inner, ")(");
    p->out = &inner;
    is_known = own_parameter(p, close) && parameters(p, close);
    p->out = out;
    if (!is_known) {
        return false;
    }
    sonde__base_text_char(&inner, ')');
    return !inner.cut && write_type(&result, text);
}

/* "Name", "<P>", "Name<P>" behind '@'. */
static bool object(struct parser *p, const char *declarator)
{
    const char *name;
    size_t size;
    if (take_char(p, '?')) {
        return take_char(p, '<') ? function(p, declarator, '>')
                                 : declare_word(p, "id /* block */", declarator);
    }
    if (!take_char(p, '"')) {
        return declare_word(p, "id", declarator);
    }
    name = p->at;
    while (p->at < p->end && *p->at != '"') {
        p->at++;
    }
    size = (size_t)(p->at - name);
    if (!take_char(p, '"') || size == 0 || !is_printable(name, size)) {
        return false;
    }
    if (*name == '<') {
        sonde__base_text_str(p->out, "id");
        declare(p, name, size, declarator);
    } else {
        sonde__base_text_bytes(p->out, name, size);
        declare(p, " *", 2, declarator);
    }
    return true;
}

/* The declarator for the pointee or element type: "*d" of a pointer, "d[3]" of an array. */
static bool derived(struct parser *p, const char *before, const char *declarator, const char *after,
                    size_t after_size)
{
    char text[DECLARATOR_MAX];
    struct sonde__text inner;
    bool is_grouped = after_size != 0 && declarator[0] == '*';
    sonde__base_text_init(&inner, text, sizeof text);
    sonde__base_text_str(&inner, before);
    sonde__base_text_str(&inner, is_grouped ? "(" : "");
    sonde__base_text_str(&inner, declarator);
    sonde__base_text_str(&inner, is_grouped ? ")" : "");
    sonde__base_text_bytes(&inner, after, after_size);
    return !inner.cut && write_type(p, text);
}

/* [12type] */
static bool array(struct parser *p, const char *declarator)
{
    char bounds[24];
    struct sonde__text text;
    unsigned digits = 0;
    sonde__base_text_init(&text, bounds, sizeof bounds);
    sonde__base_text_char(&text, '[');
    for (; is_digit(peek(p)); p->at++, digits++) {
        sonde__base_text_char(&text, *p->at);
    }
    sonde__base_text_char(&text, ']');
    if (text.cut) {
        return false;
    }
    if (take_char(p, ']')) { /* the element type is unknown */
        sonde__base_text_str(p->out, "/* not encoded */");
        declare(p, "", 0, declarator);
        sonde__base_text_bytes(p->out, bounds, text.length);
        return true;
    }
    return derived(p, "", declarator, bounds, text.length) && take_char(p, ']');
}

static bool qualifier(struct parser *p, const char *word, const char *declarator)
{
    sonde__base_text_str(p->out, word);
    return write_type(p, declarator);
}

static bool pointer(struct parser *p, const char *declarator)
{
    if (take_char(p, '?')) {
        return declare_word(p, "void * /* function */", declarator);
    }
    /* the pointee may have no code */
    if (p->at == p->end || is_digit(peek(p)) || peek(p) == '>' || peek(p) == '}') {
        return declare_word(p, "void *", declarator);
    }
    return derived(p, "*", declarator, "", 0);
}

static bool write_coded(struct parser *p, const char *declarator)
{
    char c = peek(p);
    const char *word = simple(c);
    if (word != NULL) {
        p->at++;
        return declare_word(p, word, declarator);
    }
    switch (c) {
    case '{':
        return aggregate(p, '{', '}', "struct", declarator);
    case '(':
        return aggregate(p, '(', ')', "union", declarator);
    default:
        break;
    }
    if (c == '\0') {
        return false;
    }
    p->at++;
    switch (c) {
    case '@':
        return object(p, declarator);
    case '^':
        return pointer(p, declarator);
    case '[':
        return array(p, declarator);
    case 'r':
        return qualifier(p, "const ", declarator);
    case 'A':
        return qualifier(p, "_Atomic ", declarator);
    case 'j':
        return qualifier(p, "_Complex ", declarator);
    case 'n':
        return qualifier(p, "in ", declarator);
    case 'N':
        return qualifier(p, "inout ", declarator);
    case 'o':
        return qualifier(p, "out ", declarator);
    case 'O':
        return qualifier(p, "bycopy ", declarator);
    case 'R':
        return qualifier(p, "byref ", declarator);
    case 'V':
        return qualifier(p, "oneway ", declarator);
    case '?':
        return declare_word(p, "/* not encoded */", declarator);
    default:
        return false;
    }
}

static bool write_type(struct parser *p, const char *declarator)
{
    bool is_known;
    if (p->depth >= DEPTH_MAX || *p->types_left == 0) {
        return false;
    }
    --*p->types_left;
    p->depth++;
    is_known = write_coded(p, declarator);
    p->depth--;
    return is_known;
}

bool sonde__block_signature(const char *encoding, size_t size, const char *name,
                            struct sonde__text *out)
{
    struct sonde__text before = *out;
    unsigned types_left = TYPES_MAX;
    struct parser p = {
        .at = encoding, .end = encoding + size, .out = out, .types_left = &types_left};
    if (size <= SONDE__BLOCK_TEXT_MAX && function(&p, name != NULL ? name : "", '\0') &&
        p.at == p.end) {
        return true;
    }
    *out = before;
    out->data[out->length] = '\0';
    return false;
}
