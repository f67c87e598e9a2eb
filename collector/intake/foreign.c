// SPDX-License-Identifier: Apache-2.0
#include "foreign.h"

#include <string.h>

#include "journal.h"
#include "symbolize_apple.h"

/* Lines in which a crash log of text has to begin. */
enum { LOOK = 4096 };

static bool has_any(const char *text, size_t size, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (memmem(text, size, *words, strlen(*words)) != NULL) {
            return true;
        }
    }
    return false;
}

static uint32_t form_of_json(const char *text, size_t size)
{
    static const char *const metrics[] = {"\"callStackTree\"", "\"timeStampEnd\"", NULL};
    static const char *const ips[] = {"\"usedImages\"", "\"bug_type\"", NULL};
    return has_any(text, size, metrics) ? JOURNAL_METRICS
           : has_any(text, size, ips)   ? JOURNAL_IPS
                                        : 0;
}

static bool is_crash_log(const char *text, size_t size)
{
    size = size < LOOK ? size : LOOK;
    for (const char *line = text, *end = text + size; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *next = newline != NULL ? newline + 1 : end;
        if (symbolize_apple_begins(line, (size_t)(next - line)) == SYMBOLIZE_APPLE_YES) {
            return true;
        }
        line = next;
    }
    return false;
}

uint32_t foreign_form(const void *bytes, size_t size)
{
    const char *text = bytes;
    size_t at = 0;
    if (size == 0) {
        return 0;
    }
    while (at < size && strchr(" \t\r\n\xef\xbb\xbf", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    if (at < size && text[at] == '{') {
        return form_of_json(text + at, size - at);
    }
    return is_crash_log(text + at, size - at) ? JOURNAL_CRASH : 0;
}
