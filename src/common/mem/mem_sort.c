// SPDX-License-Identifier: Apache-2.0
#include "mem_sort.h"

#include <stdint.h>
#include <stdlib.h>

static int by_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void sonde__mem_sort(void *items, size_t count, size_t size, size_t key_size)
{
    if (count > 1) {
        qsort(items, count, size, key_size == sizeof(uint64_t) ? by_u64 : by_u32);
    }
}
