// SPDX-License-Identifier: Apache-2.0
/* C++ and Rust by GNU libiberty, in its form that calls back with pieces of text and allocates
 * nothing (on the stack by the input's length only, which is bounded). That is what lets us leave
 * in the middle: substitutions can make the result of a short hostile name grow exponentially, so
 * the first byte over the limit ends the work by longjmp. */
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "demangle.h"

struct text {
    char *bytes;
    size_t used;
    jmp_buf full;
};

static void append(const char *piece, size_t size, void *opaque)
{
    struct text *text = opaque;
    if (size >= SONDE__DEMANGLE_OUTPUT_MAX - text->used) {
        longjmp(text->full, 1);
    }
    memcpy(text->bytes + text->used, piece, size);
    text->used += size;
}

static bool decode(const char *name, char *buffer)
{
    const int options = DMGL_PARAMS | DMGL_ANSI;
    struct text text = {.bytes = buffer};
    if (setjmp(text.full) != 0) {
        return false;
    }
    /* Rust first: its legacy form is valid C++, with a hash for the last name */
    if (rust_demangle_callback(name, options, append, &text) == 0) {
        text.used = 0;
        if (strncmp(name, "_Z", 2) != 0 ||
            cplus_demangle_v3_callback(name, options, append, &text) == 0) {
            return false;
        }
    }
    buffer[text.used] = '\0';
    return text.used > 0;
}

/* To clang a block is a function with a qualifier of its own, and libiberty writes that as it
 * stands: "void ( block_pointer)(int)". In the language it is "void (^)(int)". */
static void write_blocks(char *text)
{
    static const char qualifier[] = "( block_pointer";
    const char *from = text, *next;
    char *to = text;
    while ((next = strstr(from, qualifier)) != NULL) {
        memmove(to, from, (size_t)(next - from));
        to += next - from;
        *to++ = '(';
        *to++ = '^';
        from = next + sizeof qualifier - 1;
        from += strncmp(from, " (", 2) == 0 ? 1 : 0;
    }
    memmove(to, from, strlen(from) + 1);
}

bool sonde__demangle_language(const char *name, char *buffer)
{
    if (!decode(name, buffer)) {
        return false;
    }
    if (strstr(name, "U13block_pointer") != NULL) {
        write_blocks(buffer);
    }
    return true;
}
