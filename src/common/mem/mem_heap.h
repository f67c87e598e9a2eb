// SPDX-License-Identifier: Apache-2.0
/* The heap, with overflow-checked sizes and failures on demand.
 *
 * All heap use of sonde goes through here, so that a test can make the n-th allocation fail and
 * prove that each failure is a clean SONDE_MEMORY without a leak. Context: any thread. */
#ifndef SONDE_MEM_HEAP_H
#define SONDE_MEM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `size` bytes, or null. A size of 0 gives a pointer that can be freed. */
void *sonde__mem_alloc(size_t size) __attribute__((malloc, warn_unused_result));
/* Zeroed. */
void *sonde__mem_alloc_zeroed(size_t size) __attribute__((malloc, warn_unused_result));
/* An array of `count` elements; null also when the product overflows. */
void *sonde__mem_alloc_array(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
/* As realloc, for an array; on failure the old block stays as it is and null is returned. */
void *sonde__mem_resize_array(void *block, size_t count, size_t size)
    __attribute__((warn_unused_result));
char *sonde__mem_copy_string(const char *text) __attribute__((malloc, warn_unused_result));
void sonde__mem_free(void *block);

/* Make room for one element more in a growing array: *ret_array (of `size`-byte elements, count
 * used, *ret_capacity there) is doubled when full. False: out of memory, nothing has changed. */
bool sonde__mem_grow(void *ret_array, size_t count, size_t *ret_capacity, size_t size)
    __attribute__((warn_unused_result));

/* Append a value: make room for it as above, store and count it. False: out of memory. A macro, for
 * elements of any type; it uses array, count and capacity several times. */
#define SONDE__MEM_ADD(array, count, capacity, ...)                                                \
    (sonde__mem_grow(&(array), (count), &(capacity), sizeof *(array)) &&                           \
     ((array)[(count)++] = (__VA_ARGS__), true))

/* Tests: let the allocation number `index` from now (0: the next) fail, and each one after it;
 * UINT64_MAX: none. Concerns the whole process. */
void sonde__mem_fail_from(uint64_t index);
/* Tests: let only that one fail. */
void sonde__mem_fail_once(uint64_t index);
/* Allocations asked for since the last of these two calls. */
uint64_t sonde__mem_asked(void);

#endif
