// SPDX-License-Identifier: Apache-2.0
#include "base_sized.h"

#include <stdint.h>

#include "base_mem.h"

static size_t size_of(const void *sized)
{
    return *(const size_t *)sized;
}

bool sonde__base_sized_is_set(const void *result)
{
    size_t size = result != NULL ? size_of(result) : 0;
    return size >= sizeof size && size <= SONDE__SIZED_BYTES_MAX && size % sizeof size == 0;
}

bool sonde__base_sized_take(const void *given, void *ret_known, size_t known_bytes)
{
    if (!sonde__base_sized_is_set(given)) {
        return false;
    }
    const size_t size = size_of(given);
    for (size_t i = known_bytes; i < size; i++) {
        if (((const uint8_t *)given)[i] != 0) {
            return false;
        }
    }
    sonde__base_mem_set(ret_known, 0, known_bytes);
    sonde__base_mem_copy(ret_known, given, size < known_bytes ? size : known_bytes);
    *(size_t *)ret_known = known_bytes;
    return true;
}

void sonde__base_sized_give(void *ret_result, const void *known, size_t known_bytes)
{
    const size_t size = size_of(ret_result);
    sonde__base_mem_copy(ret_result, known, size < known_bytes ? size : known_bytes);
    *(size_t *)ret_result = size;
}

void sonde__base_sized_give_at(void *results, size_t i, const void *known, size_t known_bytes)
{
    const size_t size = size_of(results);
    void *result = (uint8_t *)results + i * size;
    *(size_t *)result = size;
    sonde__base_sized_give(result, known, known_bytes);
}
