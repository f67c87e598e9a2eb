// SPDX-License-Identifier: Apache-2.0
/* --tag and --build: the caller's description of a run. */
#include <stdlib.h>
#include <string.h>

#include "cli_report.h"
#include "watch_run.h"

enum { KEY_MAX = 64, VALUE_MAX = 256 };

static bool is_key(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool is_letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (!is_letter && !is_digit && strchr("_.-", text[i]) == NULL) {
            return false;
        }
    }
    return size > 0 && size <= KEY_MAX;
}

static bool is_value(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            return false;
        }
    }
    return strlen(text) <= VALUE_MAX;
}

/* The texts live until the program ends. */
static const char *put_tag(struct sonde__cli_origin *origin, const char *key, size_t key_size,
                           const char *value)
{
    uint32_t at = 0;
    while (at < origin->tag_count && (strlen(origin->tags[at].key) != key_size ||
                                      memcmp(origin->tags[at].key, key, key_size) != 0)) {
        at++;
    }
    size_t bytes = origin->tag_bytes + key_size + strlen(value) + 2;
    if (at == SONDE__REPORT_TAGS_MAX || bytes > SONDE__WATCH_TAGS_BYTES) {
        return "too many tags: 64 of them, or 4096 bytes in all, are the limit";
    }
    char *kept_key = strndup(key, key_size), *kept_value = strdup(value);
    if (kept_key == NULL || kept_value == NULL) {
        free(kept_key);
        free(kept_value);
        return "out of memory";
    }
    origin->tags[at] = (struct sonde__report_tag){kept_key, kept_value};
    origin->tag_count += at == origin->tag_count;
    origin->tag_bytes = bytes;
    return NULL;
}

const char *sonde__cli_take_tag(const struct sonde__cli_option *option, const char *value,
                                void *member)
{
    const char *equals = strchr(value, '=');
    (void)option;
    if (equals == NULL || !is_key(value, (size_t)(equals - value))) {
        return "not KEY=VALUE, whose key has up to 64 letters, digits, _ . and -";
    }
    if (!is_value(equals + 1)) {
        return "its value has more than 256 bytes, or control characters";
    }
    return put_tag(member, value, (size_t)(equals - value), equals + 1);
}

const char *sonde__cli_take_tags(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    char *text = strdup(value), *rest = NULL;
    const char *wrong = text == NULL ? "out of memory" : NULL;
    for (char *tag = text == NULL ? NULL : strtok_r(text, SONDE__WATCH_TAG_END, &rest);
         tag != NULL && wrong == NULL; tag = strtok_r(NULL, SONDE__WATCH_TAG_END, &rest)) {
        wrong = sonde__cli_take_tag(option, tag, member);
    }
    free(text);
    return wrong;
}

const char *sonde__cli_take_name(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    if (*value == '\0' || !is_value(value)) {
        return "not 1 to 256 bytes without control characters";
    }
    return sonde__cli_take_text(option, value, member);
}
