// SPDX-License-Identifier: Apache-2.0
/* Functions on bytes: the host's, which have the same parameters. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim.h"

#define FORWARD(type, name, parameters, arguments)                                                 \
    type name parameters                                                                           \
    {                                                                                              \
        return host_##name arguments;                                                              \
    }

FORWARD(void *, memcpy, (void *to, const void *from, size_t size), (to, from, size))
FORWARD(void *, memmove, (void *to, const void *from, size_t size), (to, from, size))
FORWARD(void *, memset, (void *to, int value, size_t size), (to, value, size))
FORWARD(int, memcmp, (const void *a, const void *b, size_t size), (a, b, size))
FORWARD(void *, memchr, (const void *in, int value, size_t size), (in, value, size))
FORWARD(void *, memmem, (const void *in, size_t size, const void *part, size_t part_size),
        (in, size, part, part_size))
FORWARD(char *, strchr, (const char *in, int c), (in, c))
FORWARD(char *, strrchr, (const char *in, int c), (in, c))
FORWARD(char *, strstr, (const char *in, const char *part), (in, part))
FORWARD(int, strncmp, (const char *a, const char *b, size_t size), (a, b, size))
FORWARD(int, strncasecmp, (const char *a, const char *b, size_t size), (a, b, size))
FORWARD(int, strcasecmp, (const char *a, const char *b), (a, b))
FORWARD(size_t, strspn, (const char *in, const char *set), (in, set))
FORWARD(size_t, strcspn, (const char *in, const char *set), (in, set))
FORWARD(char *, strcpy, (char *to, const char *from), (to, from))
FORWARD(char *, strncpy, (char *to, const char *from, size_t size), (to, from, size))
FORWARD(char *, stpcpy, (char *to, const char *from), (to, from))
FORWARD(char *, strtok_r, (char *in, const char *set, char **at), (in, set, at))
FORWARD(size_t, strnlen, (const char *s, size_t size), (s, size))
FORWARD(long, strtol, (const char *s, char **end, int base), (s, end, base))
FORWARD(unsigned long, strtoul, (const char *s, char **end, int base), (s, end, base))

unsigned long long strtoull(const char *s, char **end, int base)
{
    return host_strtoul(s, end, base);
}

char *strdup(const char *s)
{
    char *copy = malloc(strlen(s) + 1);
    return copy != 0 ? strcpy(copy, s) : 0;
}

int atoi(const char *s)
{
    return (int)host_strtol(s, 0, 10);
}

/* What compilers make of calls of these. The sizes are the compiler's, so that a check has nothing
 * to find. */
void __bzero(void *to, size_t size);
void __bzero(void *to, size_t size)
{
    memset(to, 0, size);
}

#undef bzero
void bzero(void *to, size_t size)
{
    memset(to, 0, size);
}

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memcpy_chk(void *to, const void *from, size_t size, size_t room)
{
    return size <= room ? memcpy(to, from, size) : (abort(), to);
}

void *__memmove_chk(void *to, const void *from, size_t size, size_t room);
void *__memmove_chk(void *to, const void *from, size_t size, size_t room)
{
    return size <= room ? memmove(to, from, size) : (abort(), to);
}

void *__memset_chk(void *to, int value, size_t size, size_t room);
void *__memset_chk(void *to, int value, size_t size, size_t room)
{
    return size <= room ? memset(to, value, size) : (abort(), to);
}

char *__strcpy_chk(char *to, const char *from, size_t room);
char *__strcpy_chk(char *to, const char *from, size_t room)
{
    return strlen(from) < room ? strcpy(to, from) : (abort(), to);
}

void *bsearch(const void *key, const void *base, size_t count, size_t size,
              int (*compare)(const void *a, const void *b))
{
    const char *items = base;
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        int order = compare(key, items + middle * size);
        if (order == 0) {
            return (void *)(uintptr_t)(items + middle * size);
        }
        *(order > 0 ? &low : &count) = order > 0 ? middle + 1 : middle;
    }
    return 0;
}

static void exchange(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char held = a[i];
        a[i] = b[i];
        b[i] = held;
    }
}

/* Sorts by a heap, without memory. */
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
    char *items = base;
    size_t top = count / 2, end = count;
    while (end > 1) {
        if (top > 0) {
            top--;
        } else {
            exchange(items, items + --end * size, size);
        }
        for (size_t at = top, child; (child = 2 * at + 1) < end; at = child) {
            child +=
                child + 1 < end && compare(items + child * size, items + (child + 1) * size) < 0;
            if (compare(items + at * size, items + child * size) >= 0) {
                break;
            }
            exchange(items + at * size, items + child * size, size);
        }
    }
}

char *strsep(char **at, const char *set)
{
    char *part = *at;
    if (part != 0) {
        char *end = part + strcspn(part, set);
        *at = *end != '\0' ? end + 1 : 0;
        *end = '\0';
    }
    return part;
}

size_t strlcpy(char *to, const char *from, size_t size)
{
    size_t length = strlen(from);
    size_t kept = length < size ? length : size - 1;
    if (size != 0) {
        memcpy(to, from, kept);
        to[kept] = '\0';
    }
    return length;
}
