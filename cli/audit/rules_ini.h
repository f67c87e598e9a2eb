// SPDX-License-Identifier: Apache-2.0
/* Lines of a rules file, in the syntax of git-config(1): [section "name"], key = value, ; and #
 * comments, "quoted text", \" \\ \n \t, and \ at the end of a line that goes on.
 *
 * Unlike git, a key without = is an error, and so is a control character. After an error the
 * reader continues with the next line. Sans I/O; reads inside [text, text + size) only. */
#ifndef SONDE_RULES_INI_H
#define SONDE_RULES_INI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__INI_WORD_MAX = 64, SONDE__INI_VALUE_MAX = 4096 };

enum sonde__ini_kind { SONDE__INI_SECTION, SONDE__INI_KEY, SONDE__INI_WRONG };

struct sonde__ini_item {
    enum sonde__ini_kind kind;
    bool is_section;                    /* of what is wrong: the line begins a section */
    const char *expected;               /* of what is wrong: what was expected at `offset` */
    uint32_t offset;                    /* in the text, where it begins or is wrong */
    char word[SONDE__INI_WORD_MAX + 1]; /* section or key, in lower case */
    /* The section's name ("": none), or the key's value: its bytes, and where in the text each of
     * them is, and its end. */
    char value[SONDE__INI_VALUE_MAX + 1];
    uint32_t at[SONDE__INI_VALUE_MAX + 1];
    uint32_t size;
};

/* Line and column, both from 0 here; a column is a character (UTF-8). */
struct sonde__ini_place {
    uint32_t offset, line, column;
};

/* Begin with text and size. */
struct sonde__ini {
    const char *text;
    uint32_t size, at;
    struct sonde__ini_place last; /* that was asked for: the next one is mostly behind it */
};

/* The next item; false: the text ends. */
bool sonde__ini_next(struct sonde__ini *ini, struct sonde__ini_item *ret_item);

struct sonde__ini_place sonde__ini_place(struct sonde__ini *ini, uint32_t offset);

#endif
