// SPDX-License-Identifier: Apache-2.0
/* C++ and Rust by GNU libiberty, in the variant that passes pieces to a callback without the heap
 * (its stack depends on the bounded input). A short hostile name can expand exponentially through
 * substitutions, so the first byte over the limit aborts with longjmp, which leaks nothing. */
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "demangler.h"

const bool sonde__cli_has_iberty = true;

struct text {
    char *bytes;
    size_t size, used;
    jmp_buf full;
};

static void append(const char *piece, size_t size, void *opaque)
{
    struct text *text = opaque;
    if (size >= text->size - text->used) {
        longjmp(text->full, 1);
    }
    memcpy(text->bytes + text->used, piece, size);
    text->used += size;
}

typedef int decoder(const char *, int, demangle_callbackref, void *);

static bool decode(decoder *decode_name, const char *name, char *bytes, size_t size)
{
    struct text text = {.bytes = bytes, .size = size};
    if (setjmp(text.full) != 0 || decode_name(name, DMGL_PARAMS | DMGL_ANSI, append, &text) == 0 ||
        text.used == 0) {
        return false;
    }
    bytes[text.used] = '\0';
    return true;
}

/* libiberty prints clang's qualifier for blocks literally: "void (block_pointer)(int)" must be
 * "void (^)(int)". */
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

bool sonde__cli_demangle_iberty(const char *name, char *text, size_t size)
{
    if (!decode(cplus_demangle_v3_callback, name, text, size)) {
        return false;
    }
    if (strstr(name, "U13block_pointer") != NULL) {
        write_blocks(text);
    }
    return true;
}

bool sonde__cli_demangle_rust(const char *name, char *text, size_t size)
{
    return decode(rust_demangle_callback, name, text, size);
}
