// SPDX-License-Identifier: Apache-2.0
#include "sift.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *word; /* with "=": a pattern follows */
    enum sift_kind kind;
} kinds[] = {
    {"idle", SIFT_IDLE}, {"system", SIFT_SYSTEM}, {"build=", SIFT_BUILD}, {"sdk=", SIFT_SDK}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* One line, with "*" only at its end. */
static bool is_pattern(const char *text)
{
    size_t size = strlen(text);
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            return false;
        }
    }
    return size != 0 && size <= SIFT_PATTERN_MAX && strcspn(text, "*") + 1 >= size;
}

bool sift_parse(const char *text, struct sift *ret_sift)
{
    for (size_t i = 0; i < KINDS; i++) {
        size_t size = strlen(kinds[i].word);
        bool has_pattern = kinds[i].word[size - 1] == '=';
        if (strncmp(text, kinds[i].word, size) != 0 ||
            (has_pattern ? !is_pattern(text + size) : text[size] != '\0')) {
            continue;
        }
        *ret_sift = (struct sift){.kind = kinds[i].kind};
        snprintf(ret_sift->pattern, sizeof ret_sift->pattern, "%s", text + size);
        return true;
    }
    return false;
}

void sift_text(const struct sift *sift, char ret_text[SIFT_TEXT])
{
    ret_text[0] = '\0';
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i].kind == sift->kind) {
            snprintf(ret_text, SIFT_TEXT, "%s%s", kinds[i].word, sift->pattern);
        }
    }
}

static bool is_like(const char *pattern, const char *text)
{
    size_t size = strlen(pattern);
    return size != 0 && pattern[size - 1] == '*' ? strncmp(text, pattern, size - 1) == 0
                                                 : strcmp(text, pattern) == 0;
}

/* A name that is not known is like no pattern. */
static bool is_of(const char *pattern, const char *text)
{
    return text != NULL && *text != '\0' && is_like(pattern, text);
}

bool sift_drops(const struct sift *sift, const char *build, const struct digest_event *event)
{
    switch (sift->kind) {
    case SIFT_IDLE:
        return event->is_idle;
    case SIFT_SYSTEM:
        return event->is_system;
    case SIFT_BUILD:
        return is_of(sift->pattern, build);
    case SIFT_SDK:
        return is_of(sift->pattern, event->call != NULL ? event->call->sdk : event->image);
    default: /* of a newer program */
        return false;
    }
}
