// SPDX-License-Identifier: Apache-2.0
/* memcpy and the like for Mach-O, where a compiler's calls to them cannot be renamed
 * (base_freestanding.h): hidden functions of these names, which the linker prefers to libSystem's
 * for the library's calls. The rest of the program does not see a dylib's hidden functions.
 * Optimizing, clang clears structs with bzero (__bzero on x86-64) and fills arrays with
 * memset_pattern16. Context: handler. */
#include "base_mem.h"

#pragma GCC visibility push(hidden)
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void bzero(void *to, size_t size);
void __bzero(void *to, size_t size);
void memset_pattern16(void *to, const void *pattern, size_t size);
#pragma GCC visibility pop

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    return sonde__base_mem_copy(to, from, size);
}

void *memmove(void *to, const void *from, size_t size)
{
    return sonde__base_mem_move(to, from, size);
}

void *memset(void *to, int byte, size_t size)
{
    return sonde__base_mem_set(to, byte, size);
}

int memcmp(const void *a, const void *b, size_t size)
{
    return sonde__base_mem_compare(a, b, size);
}

void bzero(void *to, size_t size)
{
    (void)sonde__base_mem_set(to, 0, size);
}

void __bzero(void *to, size_t size)
{
    (void)sonde__base_mem_set(to, 0, size);
}

/* The last repetition may be a part. */
void memset_pattern16(void *to, const void *pattern, size_t size)
{
    for (size_t done = 0; done < size; done += 16) {
        size_t part = size - done < 16 ? size - done : 16;
        sonde__base_mem_copy((char *)to + done, pattern, part);
    }
}
