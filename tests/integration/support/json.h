// SPDX-License-Identifier: Apache-2.0
/* JSON as a tree, for tests that read what sonde prints. Text that is not JSON fails the test,
 * which checks the writer. */
#ifndef SONDE_TEST_JSON_H
#define SONDE_TEST_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } kind;
    char *text; /* of a string, a number or a bool as it stands */
    char *key;  /* in an object */
    struct json *first, *next;
    size_t count; /* members of an array or object */
};

/* Free with json_free(). */
struct json *json_parse(const char *text);
struct json *json_read(const char *path);
void json_free(struct json *node);
/* A member of an object, or null; node may be null. */
const struct json *json_get(const struct json *node, const char *key);
/* The same, but fails the test when it is missing. */
const struct json *json_need(const struct json *node, const char *key);
/* 0 when the member is missing. */
int64_t json_int(const struct json *node, const char *key);
bool json_bool(const struct json *node, const char *key);
/* "" when the member is missing or null. */
const char *json_text(const struct json *node, const char *key);

#define JSON_EACH(item, array)                                                                     \
    for (const struct json *item = (array) != NULL ? (array)->first : NULL; item != NULL;          \
         item = item->next)

#endif
