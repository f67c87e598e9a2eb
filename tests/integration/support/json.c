// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

struct parser {
    const char *at;
    const char *begin;
    unsigned depth;
};

static struct json *parse_value(struct parser *p);

static void skip_space(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

static void expect(struct parser *p, char c)
{
    skip_space(p);
    if (*p->at != c) {
        FAIL("not JSON at byte %zu: '%c' expected in: %.60s", (size_t)(p->at - p->begin), c, p->at);
    }
    p->at++;
}

/* Write a code point of at most 0xffff as UTF-8; surrogate pairs stay two, which no test
 * compares. */
static char *put_code(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Bytes up to the quote that ends a string. */
static size_t string_size(const char *text)
{
    size_t size = strcspn(text, "\"\\");
    while (text[size] == '\\' && text[size + 1] != '\0') {
        size += 2 + strcspn(text + size + 2, "\"\\");
    }
    return size;
}

static char *parse_string(struct parser *p)
{
    static const char escapes[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    expect(p, '"');
    char *text = malloc(string_size(p->at) + 1);
    char *to = text;
    while (*p->at != '"') {
        unsigned code;
        const char *escape;
        if ((unsigned char)*p->at < 0x20) {
            FAIL("not JSON: a control character in a string: %.60s", p->at);
        }
        if (*p->at != '\\') {
            *to++ = *p->at++;
        } else if (p->at[1] == 'u' && sscanf(p->at + 2, "%4x", &code) == 1) {
            to = put_code(to, code);
            p->at += 6;
        } else if (p->at[1] != '\0' && (escape = strchr(escapes, p->at[1])) != NULL) {
            *to++ = meanings[escape - escapes];
            p->at += 2;
        } else {
            FAIL("not JSON: bad escape: %.60s", p->at);
        }
    }
    *to = '\0';
    p->at++;
    return text;
}

static void parse_members(struct parser *p, struct json *node, char end)
{
    struct json **link = &node->first;
    expect(p, end == '}' ? '{' : '[');
    skip_space(p);
    if (*p->at == end) {
        p->at++;
        return;
    }
    for (;;) {
        char *key = NULL;
        if (end == '}') {
            skip_space(p);
            key = parse_string(p);
            expect(p, ':');
        }
        *link = parse_value(p);
        (*link)->key = key;
        link = &(*link)->next;
        node->count++;
        skip_space(p);
        if (*p->at == end) {
            p->at++;
            return;
        }
        expect(p, ',');
    }
}

static struct json *parse_value(struct parser *p)
{
    struct json *node = calloc(1, sizeof *node);
    if (node == NULL || ++p->depth > 100) {
        FAIL("JSON nested deeper than 100");
    }
    skip_space(p);
    if (*p->at == '{' || *p->at == '[') {
        node->kind = *p->at == '{' ? JSON_OBJECT : JSON_ARRAY;
        parse_members(p, node, *p->at == '{' ? '}' : ']');
    } else if (*p->at == '"') {
        node->kind = JSON_STRING;
        node->text = parse_string(p);
    } else {
        size_t size = strcspn(p->at, ",]} \t\r\n");
        node->text = strndup(p->at, size);
        if (strcmp(node->text, "null") == 0) {
            node->kind = JSON_NULL;
        } else if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0) {
            node->kind = JSON_BOOL;
        } else if (size > 0 && strspn(node->text, "0123456789+-.eE") == size) {
            node->kind = JSON_NUMBER;
        } else {
            FAIL("not JSON at byte %zu: %.60s", (size_t)(p->at - p->begin), p->at);
        }
        p->at += size;
    }
    p->depth--;
    return node;
}

struct json *json_parse(const char *text)
{
    struct parser p = {text, text, 0};
    struct json *node = parse_value(&p);
    skip_space(&p);
    if (*p.at != '\0') {
        FAIL("text after the JSON: %.60s", p.at);
    }
    return node;
}

struct json *json_read(const char *path)
{
    size_t size;
    char *text = test_read_file(path, &size);
    struct json *node = json_parse(text);
    free(text);
    return node;
}

void json_free(struct json *node)
{
    while (node != NULL) {
        struct json *next = node->next;
        json_free(node->first);
        free(node->text);
        free(node->key);
        free(node);
        node = next;
    }
}

const struct json *json_get(const struct json *node, const char *key)
{
    JSON_EACH(member, node)
    {
        if (member->key != NULL && strcmp(member->key, key) == 0) {
            return member;
        }
    }
    return NULL;
}

const struct json *json_need(const struct json *node, const char *key)
{
    const struct json *member = json_get(node, key);
    if (member == NULL) {
        FAIL("JSON has no \"%s\"", key);
    }
    return member;
}

int64_t json_int(const struct json *node, const char *key)
{
    const struct json *member = json_get(node, key);
    return member != NULL && member->text != NULL ? strtoll(member->text, NULL, 0) : 0;
}

bool json_bool(const struct json *node, const char *key)
{
    const struct json *member = json_get(node, key);
    return member != NULL && member->kind == JSON_BOOL && member->text[0] == 't';
}

const char *json_text(const struct json *node, const char *key)
{
    const struct json *member = json_get(node, key);
    return member != NULL && member->kind != JSON_NULL && member->text != NULL ? member->text : "";
}
