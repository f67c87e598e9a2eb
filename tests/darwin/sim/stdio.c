// SPDX-License-Identifier: Apache-2.0
/* Formatted text, by the host's formats: those of both systems are the same, except for long
 * double. Output is not buffered. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

enum { LINE_MAX_BYTES = 1 << 16 };

static FILE out = {._file = STDOUT_FILENO}, err = {._file = STDERR_FILENO};
FILE *__stdoutp = &out, *__stderrp = &err;

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
    char text[LINE_MAX_BYTES];
    int length = vsnprintf(text, sizeof text, format, arguments);
    if (length >= LINE_MAX_BYTES) {
        host_exit(125);
    }
    host_write(file->_file, text, (uint64_t)length);
    return length;
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

/* Compilers turn some calls of printf() into the next ones. */
int fputs(const char *restrict text, FILE *restrict file)
{
    host_write(file->_file, text, strlen(text));
    return 0;
}

int puts(const char *text)
{
    return printf("%s\n", text) > 0 ? 0 : EOF;
}

int fputc(int c, FILE *file)
{
    char byte = (char)c;
    host_write(file->_file, &byte, 1);
    return c;
}

int putchar(int c)
{
    return fputc(c, stdout);
}

size_t fwrite(const void *restrict bytes, size_t size, size_t count, FILE *restrict file)
{
    host_write(file->_file, bytes, size * count);
    return count;
}

int fflush(FILE *file)
{
    (void)file;
    return 0;
}
