// SPDX-License-Identifier: Apache-2.0
#include "base_mem.h"

#include <stdint.h>

/* Compilers must not turn the word loops into calls to these same functions: the module is compiled
 * with -ffreestanding, with gcc also -fno-tree-loop-distribute-patterns. */
typedef uint64_t __attribute__((may_alias, aligned(1))) word;

#if defined(__clang__)
#    define BARRIER() __asm__ volatile("" ::: "memory")
#else
#    define BARRIER() ((void)0)
#endif

void *sonde__base_mem_copy(void *restrict to, const void *restrict from, size_t size)
{
    return sonde__base_mem_move(to, from, size);
}

void *sonde__base_mem_move(void *to, const void *from, size_t size)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= size) { /* forward is safe */
        while (size >= sizeof(word)) {
            *(word *)t = *(const word *)f;
            BARRIER();
            t += sizeof(word);
            f += sizeof(word);
            size -= sizeof(word);
        }
        while (size > 0) {
            *t++ = *f++;
            BARRIER();
            size--;
        }
    } else {
        while (size > 0) {
            size--;
            t[size] = f[size];
            BARRIER();
        }
    }
    return to;
}

void *sonde__base_mem_set(void *to, int byte, size_t size)
{
    unsigned char *t = to;
    word pattern = 0x0101010101010101u * (unsigned char)byte;
    while (size >= sizeof(word)) {
        *(word *)t = pattern;
        BARRIER();
        t += sizeof(word);
        size -= sizeof(word);
    }
    while (size > 0) {
        *t++ = (unsigned char)byte;
        BARRIER();
        size--;
    }
    return to;
}

int sonde__base_mem_compare(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    for (size_t i = 0; i < size; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

size_t sonde__base_str_length(const char *s)
{
    size_t n = 0;
    while (s[n] != '\0') {
        n++;
    }
    return n;
}

int sonde__base_str_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (int)(unsigned char)*a - (int)(unsigned char)*b;
}
