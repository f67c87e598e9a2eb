// SPDX-License-Identifier: Apache-2.0
/* Streams of stdio. Output is not buffered; input is, as the number of calls would count. Only the
 * members of FILE that are named here are used. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

enum { INPUT_BYTES = 1 << 14 };

static FILE in = {._file = STDIN_FILENO}, out = {._file = STDOUT_FILENO},
            err = {._file = STDERR_FILENO};
FILE *__stdinp = &in, *__stdoutp = &out, *__stderrp = &err;

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    int flags =
        mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND);
    FILE *file = 0;
    int fd = -1;
    if (strpbrk(mode, "+x") != 0) {
        errno = ENOTSUP;
    } else if ((fd = open(path, flags, 0666)) >= 0) {
        file = calloc(1, sizeof *file);
        file->_file = (short)fd;
    }
    return file;
}

FILE *funopen(const void *cookie, int (*read_it)(void *, char *, int),
              int (*write_it)(void *, const char *, int), fpos_t (*seek_it)(void *, fpos_t, int),
              int (*close_it)(void *))
{
    FILE *file = read_it == 0 && seek_it == 0 ? calloc(1, sizeof *file) : 0;
    if (file == 0) {
        errno = ENOTSUP;
        return 0;
    }
    file->_file = -1;
    file->_cookie = (void *)(uintptr_t)cookie;
    file->_write = write_it;
    file->_close = close_it;
    return file;
}

int fclose(FILE *file)
{
    int failed = file->_file >= 0    ? close(file->_file)
                 : file->_close != 0 ? file->_close(file->_cookie)
                                     : 0;
    if (file == &in || file == &out || file == &err) {
        file->_file = -1;
        return failed;
    }
    free(file->_bf._base);
    free(file);
    return failed;
}

size_t fwrite(const void *restrict bytes, size_t size, size_t count, FILE *restrict file)
{
    const char *at = bytes;
    size_t left = size * count;
    while (left > 0) {
        int part = left < (1 << 20) ? (int)left : 1 << 20;
        ssize_t n = file->_write != 0 ? file->_write(file->_cookie, at, part)
                                      : write(file->_file, at, (size_t)part);
        if (n <= 0) {
            file->_flags |= __SERR;
            return size != 0 ? (size * count - left) / size : 0;
        }
        at += n;
        left -= (size_t)n;
    }
    return count;
}

/* Fill the buffer. Returns 0 at the end or if it fails. */
static int fill(FILE *file)
{
    if (file->_bf._base == 0) {
        file->_bf._base = malloc(INPUT_BYTES);
    }
    ssize_t n = read(file->_file, file->_bf._base, INPUT_BYTES);
    if (n <= 0) {
        file->_flags |= n == 0 ? __SEOF : __SERR;
        return 0;
    }
    file->_p = file->_bf._base;
    file->_r = (int)n;
    return 1;
}

size_t fread(void *restrict bytes, size_t size, size_t count, FILE *restrict file)
{
    char *at = bytes;
    size_t left = size * count;
    while (left > 0 && (file->_r > 0 || fill(file))) {
        size_t part = left < (size_t)file->_r ? left : (size_t)file->_r;
        memcpy(at, file->_p, part);
        at += part;
        file->_p += part;
        file->_r -= (int)part;
        left -= part;
    }
    return size != 0 ? (size * count - left) / size : 0;
}

int getchar(void)
{
    unsigned char byte;
    return fread(&byte, 1, 1, stdin) == 1 ? byte : EOF;
}

int fileno(FILE *file)
{
    return file->_file >= 0 ? file->_file : (errno = EBADF, -1);
}

int ferror(FILE *file)
{
    return (file->_flags & __SERR) != 0;
}

void clearerr(FILE *file)
{
    file->_flags = (short)(file->_flags & ~(__SERR | __SEOF));
}

int fflush(FILE *file)
{
    (void)file;
    return 0;
}

int fputs(const char *restrict text, FILE *restrict file)
{
    size_t length = strlen(text);
    return fwrite(text, 1, length, file) == length ? 0 : EOF;
}

int puts(const char *text)
{
    return printf("%s\n", text) > 0 ? 0 : EOF;
}

int fputc(int c, FILE *file)
{
    char byte = (char)c;
    return fwrite(&byte, 1, 1, file) == 1 ? (unsigned char)byte : EOF;
}

int putchar(int c)
{
    return fputc(c, stdout);
}
