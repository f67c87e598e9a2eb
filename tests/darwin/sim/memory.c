// SPDX-License-Identifier: Apache-2.0
/* The heap and functions on bytes: the host's, which have the same parameters. */
#include <malloc/malloc.h>
#include <stdint.h>
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

/* Before each block is what malloc_size() is asked for, and where the host's block begins. */
struct head {
    void *block;
    uint64_t size, address, unused;
};

static void *begin(char *block, size_t before, size_t size)
{
    struct head *head = (struct head *)(void *)(block + before) - 1;
    if (block == 0) {
        return 0;
    }
    *head = (struct head){block, size, (uint64_t)(head + 1), 0};
    return head + 1;
}

void *malloc(size_t size)
{
    note_heap();
    return size > SIZE_MAX / 2
               ? 0
               : begin(host_malloc(size + sizeof(struct head)), sizeof(struct head), size);
}

void *calloc(size_t count, size_t size)
{
    size_t all;
    void *block = __builtin_mul_overflow(count, size, &all) ? 0 : malloc(all);
    return block != 0 ? memset(block, 0, all) : 0;
}

void free(void *block)
{
    note_heap();
    if (block != 0) {
        struct head *head = (struct head *)block - 1;
        head->address = 0;
        host_free(head->block);
    }
}

void *realloc(void *block, size_t size)
{
    void *larger = malloc(size);
    if (block != 0 && larger != 0) {
        size_t before = ((struct head *)block - 1)->size;
        memcpy(larger, block, before < size ? before : size);
        free(block);
    }
    return larger;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    size_t before = alignment > sizeof(struct head) ? alignment : sizeof(struct head);
    note_heap();
    return begin(host_aligned_alloc(alignment, (before + size + alignment - 1) & ~(alignment - 1)),
                 before, size);
}

/* Takes any address, as Apple's. */
size_t malloc_size(const void *block)
{
    struct head head;
    return host_read_memory((uint64_t)block - sizeof head, &head, sizeof head) != 0 &&
                   head.address == (uint64_t)block
               ? head.size
               : 0;
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
