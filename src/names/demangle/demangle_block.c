// SPDX-License-Identifier: Apache-2.0
/* Clang names a block's function after the enclosing function (CodeGen's mangling of blocks): `__`
 * NAME `_block_invoke` [`_` NUMBER]. An Objective-C method's NAME has its length in front. The
 * second block of a function has number 2. A block that initializes a variable of the file is named
 * after the variable, without `__`, and numbered per file; such a name is decoded only if it is an
 * encoded C++ name, because `my_block_invoke` may be an ordinary function. LLVM appends suffixes
 * for its clones.
 *
 *     __main_block_invoke           block in main
 *     __12-[C m]_block_invoke_2     block #2 in -[C m]
 *     ___ZN1C1mEv_block_invoke      block in C::m()
 *     _ZN1n1vE_block_invoke_2       block #2 of the file in n::v
 *     __main_block_invoke.cold.1    block in main [clone .cold.1]
 *     __14_i_Ctl__direct_block_invoke  block in -[Ctl direct]
 *
 * The last one is a method in GCC's and GNUstep's naming: `_i_` or `_c_`, class, category and
 * selector, separated by `_`, which also replaces each colon. If that is ambiguous (a class or
 * category with `_` in its name), it is not decoded. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

static const char suffix[] = "_block_invoke";

/* Number of digits at `text`; a name does not begin with a digit, so they are a length. */
static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Parse the text after the suffix: the block's number (1 if there is none), and the rest, which is
 * "" or begins with a dot. False: neither. */
static bool read_number(const char *after, unsigned *ret_number, const char **ret_clone)
{
    size_t length = *after == '_' ? digits(after + 1) : 0;
    unsigned number = 0;
    if (*after == '_' && (length == 0 || length > 6)) {
        return false;
    }
    for (size_t i = 1; i <= length; i++) {
        number = number * 10 + (unsigned)(after[i] - '0');
    }
    *ret_number = length != 0 ? number : 1;
    *ret_clone = after + (length != 0 ? length + 1 : 0);
    return *ret_number != 0 &&
           (**ret_clone == '\0' || (**ret_clone == '.' && (*ret_clone)[1] != '\0'));
}

/* The last occurrence, because the enclosing function may itself be a block's. */
static const char *find_suffix(const char *name)
{
    const char *end = NULL;
    for (const char *at = strstr(name, suffix); at != NULL; at = strstr(at + 1, suffix)) {
        end = at;
    }
    return end;
}

/* "_i_Ctl__direct", "_i_Ctl_Category_take_with_" -> "-[Ctl direct]", "-[Ctl(Category) take:with:]".
 * A selector with arguments ends with a colon; then each `_` counts as a colon. False: not a
 * method, or ambiguous. */
static bool decode_gnu_method(const char *name, char *buffer)
{
    const char *class = name + 3, *category, *selector;
    size_t length, begin;
    int used;
    if ((strncmp(name, "_i_", 3) != 0 && strncmp(name, "_c_", 3) != 0) || *class == '_' ||
        (category = strchr(class, '_')) == NULL || (selector = strchr(category + 1, '_')) == NULL) {
        return false;
    }
    category++;
    selector++;
    length = strlen(selector);
    if (length == 0 || *selector == '_' ||
        (*category != '_' && strcspn(selector, "_") + 1 < length)) {
        return false;
    }
    used = snprintf(buffer, SONDE__DEMANGLE_OUTPUT_MAX, "%c[%.*s%s%.*s%s %s]",
                    name[1] == 'i' ? '-' : '+', (int)(category - 1 - class), class,
                    *category == '_' ? "" : "(", (int)(selector - 1 - category), category,
                    *category == '_' ? "" : ")", selector);
    begin = (size_t)used - length - 1;
    for (size_t i = begin; selector[length - 1] == '_' && i < begin + length; i++) {
        buffer[i] = buffer[i] == '_' ? ':' : buffer[i];
    }
    return true;
}

bool sonde__demangle_block(const char *name, char *buffer)
{
    char outer[SONDE__DEMANGLE_INPUT_MAX + 1], decoded[SONDE__DEMANGLE_OUTPUT_MAX];
    char numbered[32] = "";
    bool of_file = strncmp(name, "_Z", 2) == 0;
    const char *begin = name + (of_file ? 0 : 2), *shown = outer;
    const char *end, *clone;
    unsigned number;
    int length;
    if ((!of_file && strncmp(name, "__", 2) != 0) || (end = find_suffix(begin)) == NULL ||
        end == begin || !read_number(end + sizeof suffix - 1, &number, &clone)) {
        return false;
    }
    if (digits(begin) > 0 && (begin[digits(begin)] == '-' || begin[digits(begin)] == '+')) {
        begin += digits(begin);
    } else if (digits(begin) > 0 && digits(begin) < 5 &&
               atoi(begin) == (int)(end - begin - (ptrdiff_t)digits(begin))) {
        begin += digits(begin);
    }
    memcpy(outer, begin, (size_t)(end - begin));
    outer[end - begin] = '\0';
    if (sonde__demangle_language(outer, decoded) || decode_gnu_method(outer, decoded)) {
        shown = decoded;
    } else if (of_file) {
        return false;
    }
    if (number != 1) {
        snprintf(numbered, sizeof numbered, " #%u%s", number, of_file ? " of the file" : "");
    }
    length = snprintf(buffer, SONDE__DEMANGLE_OUTPUT_MAX, "block%s in %s%s%s%s", numbered, shown,
                      *clone != '\0' ? " [clone " : "", clone, *clone != '\0' ? "]" : "");
    return length > 0 && (size_t)length < SONDE__DEMANGLE_OUTPUT_MAX;
}
