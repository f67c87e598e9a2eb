// SPDX-License-Identifier: Apache-2.0
/* What a block does is a function of its own; Clang names it after the function around it
 * (CodeGen's mangling of blocks): `__` NAME `_block_invoke` [`_` NUMBER], NAME with its length in
 * front where it is a method of Objective-C. The second block of a function has number 2.
 *
 *     __main_block_invoke           block in main
 *     __12-[C m]_block_invoke_2     block #2 in -[C m]
 *     ___ZN1C1mEv_block_invoke      block in C::m()
 */
#include <stdio.h>
#include <string.h>

#include "demangle.h"

static const char suffix[] = "_block_invoke";

/* Length of the digits at `text`; a name does not begin with a digit, so these are a count. */
static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* The number of the block: 1 when none is given, 0: what follows is no number. */
static unsigned number_of(const char *after)
{
    unsigned number = 0;
    if (*after == '\0') {
        return 1;
    }
    if (*after != '_' && *after != '.') { /* ".2": two of the same name, made unique by LLVM */
        return 0;
    }
    after++;
    if (digits(after) == 0 || digits(after) > 6 || after[digits(after)] != '\0') {
        return 0;
    }
    for (; *after != '\0'; after++) {
        number = number * 10 + (unsigned)(*after - '0');
    }
    return number;
}

bool sonde__demangle_block(const char *name, char *buffer)
{
    char outer[SONDE__DEMANGLE_INPUT_MAX + 1], decoded[SONDE__DEMANGLE_OUTPUT_MAX];
    const char *begin = name + 2, *end = NULL, *shown = outer;
    unsigned number;
    int length;
    if (strncmp(name, "__", 2) != 0) {
        return false;
    }
    for (const char *at = strstr(begin, suffix); at != NULL; at = strstr(at + 1, suffix)) {
        end = at; /* the last: the function around it may be that of a block, too */
    }
    if (end == NULL || end == begin) {
        return false;
    }
    number = number_of(end + sizeof suffix - 1);
    if (number == 0) {
        return false;
    }
    if (digits(begin) > 0 && (begin[digits(begin)] == '-' || begin[digits(begin)] == '+')) {
        begin += digits(begin);
    }
    memcpy(outer, begin, (size_t)(end - begin));
    outer[end - begin] = '\0';
    if (sonde__demangle_language(outer, decoded)) {
        shown = decoded;
    }
    length = number == 1
                 ? snprintf(buffer, SONDE__DEMANGLE_OUTPUT_MAX, "block in %s", shown)
                 : snprintf(buffer, SONDE__DEMANGLE_OUTPUT_MAX, "block #%u in %s", number, shown);
    return length > 0 && (size_t)length < SONDE__DEMANGLE_OUTPUT_MAX;
}
