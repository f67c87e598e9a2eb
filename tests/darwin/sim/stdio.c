// SPDX-License-Identifier: Apache-2.0
/* Formatted text, by the host's formats: those of both systems are the same, except for long
 * double. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { LINE_MAX_BYTES = 1 << 16, LINE_BYTES = 4096 };

int vsnprintf(char *restrict text, size_t size, const char *restrict format, va_list arguments)
{
    return host_vsnprintf(text, size, format, (void *)arguments);
}

int snprintf(char *restrict text, size_t size, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}

int __snprintf_chk(char *restrict text, size_t size, int flags, size_t room,
                   const char *restrict format, ...);
int __snprintf_chk(char *restrict text, size_t size, int flags, size_t room,
                   const char *restrict format, ...)
{
    va_list arguments;
    (void)flags;
    va_start(arguments, format);
    int length = vsnprintf(text, size < room ? size : room, format, arguments);
    va_end(arguments);
    return length;
}

int __vsnprintf_chk(char *restrict text, size_t size, int flags, size_t room,
                    const char *restrict format, va_list arguments);
int __vsnprintf_chk(char *restrict text, size_t size, int flags, size_t room,
                    const char *restrict format, va_list arguments)
{
    (void)flags;
    return vsnprintf(text, size < room ? size : room, format, arguments);
}

int sprintf(char *restrict text, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, LINE_MAX_BYTES, format, arguments);
    va_end(arguments);
    return length;
}

int sscanf(const char *restrict text, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = host_vsscanf(text, format, (void *)arguments);
    va_end(arguments);
    return count;
}

/* Without a limit by the caller: the compiler knows the room. */
int __sprintf_chk(char *restrict text, int flags, size_t room, const char *restrict format, ...);
int __sprintf_chk(char *restrict text, int flags, size_t room, const char *restrict format, ...)
{
    va_list arguments;
    (void)flags;
    va_start(arguments, format);
    int length = vsnprintf(text, room < LINE_MAX_BYTES ? room : LINE_MAX_BYTES, format, arguments);
    va_end(arguments);
    return length;
}

int vfprintf(FILE *restrict file, const char *restrict format, va_list arguments)
{
    char text[LINE_BYTES], *longer = 0;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, arguments);
    if (length >= LINE_BYTES) {
        longer = malloc((size_t)length + 1);
        vsnprintf(longer, (size_t)length + 1, format, again);
    }
    va_end(again);
    size_t written = fwrite(longer != 0 ? longer : text, 1, (size_t)length, file);
    free(longer);
    return written == (size_t)length ? length : -1;
}

int vprintf(const char *restrict format, va_list arguments)
{
    return vfprintf(stdout, format, arguments);
}

int printf(const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vprintf(format, arguments);
    va_end(arguments);
    return length;
}

int fprintf(FILE *restrict file, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vfprintf(file, format, arguments);
    va_end(arguments);
    return length;
}

int asprintf(char **ret_text, const char *restrict format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(0, 0, format, arguments);
    *ret_text = malloc((size_t)length + 1);
    vsnprintf(*ret_text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return length;
}
