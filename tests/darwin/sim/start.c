// SPDX-License-Identifier: Apache-2.0
/* Program start, strings and output: the part of libSystem that every program uses. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

/* The first function of the program: it has no caller, as dyld's `start` has none. */
_Noreturn void sim_start(int argc, char **argv, char **envp,
                         int (*program)(int argc, char **argv, char **envp));
_Noreturn void sim_start(int argc, char **argv, char **envp,
                         int (*program)(int argc, char **argv, char **envp))
{
    exit(program(argc, argv, envp));
}

void exit(int status)
{
    host_exit(status);
}

void abort(void)
{
    host_exit(134);
}

/* The thunk in descriptors of thread-local variables, until the loader replaces it. */
void _tlv_bootstrap(void);
void _tlv_bootstrap(void)
{
    abort();
}

/* Functions that the compiler calls, which no header declares. */
extern void *__stack_chk_guard;
_Noreturn void __stack_chk_fail(void);

/* Called by lazy pointers; the loader leaves none. */
void bind_lazily(void) __asm__("dyld_stub_binder");
void bind_lazily(void)
{
    abort();
}

void *__stack_chk_guard = (void *)0xa5000000ff0a;

void __stack_chk_fail(void)
{
    abort();
}

size_t strlen(const char *s)
{
    size_t length = 0;
    while (s[length] != '\0') {
        length++;
    }
    return length;
}

int strcmp(const char *a, const char *b)
{
    while (*a == *b && *a != '\0') {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    return (ssize_t)host_write(fd, bytes, size);
}

/* One thread, one errno; a failed close is EBADF. */
int *__error(void)
{
    static int value;
    return &value;
}

int close(int fd)
{
    int result = host_close(fd);
    if (result != 0) {
        errno = EBADF;
    }
    return result;
}

uid_t getuid(void)
{
    return host_getuid();
}

static void put_number(uint64_t value, unsigned base)
{
    char digits[32];
    unsigned at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    host_write(STDOUT_FILENO, digits + at, sizeof digits - at);
}

/* Compilers turn some calls of printf() into this. */
int puts(const char *text)
{
    host_write(STDOUT_FILENO, text, strlen(text));
    host_write(STDOUT_FILENO, "\n", 1);
    return 0;
}

/* Not buffered. Supports %s, %c, %d, %u and %x, with or without l. Any other conversion ends the
 * program. */
int printf(const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (; *format != '\0'; format++) {
        if (*format != '%') {
            host_write(STDOUT_FILENO, format, 1);
            continue;
        }
        format++;
        _Bool is_long = *format == 'l';
        while (*format == 'l') {
            format++;
        }
        if (*format == 's') {
            const char *text = va_arg(arguments, const char *);
            host_write(STDOUT_FILENO, text, strlen(text));
        } else if (*format == 'c') {
            char c = (char)va_arg(arguments, int);
            host_write(STDOUT_FILENO, &c, 1);
        } else if (*format == 'd') {
            int64_t value = is_long ? va_arg(arguments, long) : va_arg(arguments, int);
            host_write(STDOUT_FILENO, "-", value < 0);
            put_number(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
        } else if (*format == 'u' || *format == 'x') {
            uint64_t value =
                is_long ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned);
            put_number(value, *format == 'u' ? 10 : 16);
        } else {
            host_write(STDERR_FILENO, "printf: conversion\n", 19);
            host_exit(125);
        }
    }
    va_end(arguments);
    return 0;
}
