// SPDX-License-Identifier: Apache-2.0
/* The heap and functions on bytes: the host's, which have the same parameters. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim.h"

/* Heap calls while a thread is suspended: it may hold the heap's lock. */
extern uint32_t sim_suspended;
uint64_t sim_allocations_while_suspended;

static void note_heap(void)
{
    sim_allocations_while_suspended += sim_suspended > 0;
}

void *malloc(size_t size)
{
    note_heap();
    return host_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    note_heap();
    return host_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    note_heap();
    return host_realloc(block, size);
}

void free(void *block)
{
    note_heap();
    host_free(block);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    note_heap();
    return host_aligned_alloc(alignment, size);
}

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
FORWARD(char *, strcat, (char *to, const char *from), (to, from))
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

long long strtoll(const char *s, char **end, int base)
{
    return host_strtol(s, end, base);
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

/* Sorts by insertion: the programs here sort little. */
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
    char *items = base;
    char held[512];
    if (size > sizeof held) {
        abort();
    }
    for (size_t i = 1; i < count; i++) {
        size_t at = i;
        memcpy(held, items + i * size, size);
        for (; at > 0 && compare(items + (at - 1) * size, held) > 0; at--) {
            memcpy(items + at * size, items + (at - 1) * size, size);
        }
        memcpy(items + at * size, held, size);
    }
}
