// SPDX-License-Identifier: Apache-2.0
/* Heap allocation, with overflow checks and failures on demand.
 *
 * All heap allocations of sonde go through these functions, so a test can make the n-th one fail
 * and prove that this gives a clean SONDE_MEMORY without a leak. Context: any thread. */
#ifndef SONDE_MEM_HEAP_H
#define SONDE_MEM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `size` bytes, or null. A size of 0 returns a pointer that can be freed. */
void *sonde__mem_alloc(size_t size) __attribute__((malloc, warn_unused_result));
/* Zeroed. */
void *sonde__mem_alloc_zeroed(size_t size) __attribute__((malloc, warn_unused_result));
/* An array of `count` elements; null also if the product overflows. */
void *sonde__mem_alloc_array(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
/* As realloc, for an array; on failure returns null and the old block is unchanged. */
void *sonde__mem_resize_array(void *block, size_t count, size_t size)
    __attribute__((warn_unused_result));
char *sonde__mem_copy_string(const char *text) __attribute__((malloc, warn_unused_result));
void sonde__mem_free(void *block);

/* Make room for one more element in *ret_array (`count` used of *ret_capacity elements of `size`
 * bytes); a full array is doubled. False: out of memory, nothing has changed. */
bool sonde__mem_grow(void *ret_array, size_t count, size_t *ret_capacity, size_t size)
    __attribute__((warn_unused_result));

/* Append a value, growing the array as above. False: out of memory. A macro, for elements of any
 * type; it evaluates array, count and capacity several times. */
#define SONDE__MEM_ADD(array, count, capacity, ...)                                                \
    (sonde__mem_grow(&(array), (count), &(capacity), sizeof *(array)) &&                           \
     ((array)[(count)++] = (__VA_ARGS__), true))

/* Tests: make allocation number `index` from now (0: the next) and all later ones fail, in the
 * whole process; UINT64_MAX: none. */
void sonde__mem_fail_from(uint64_t index);
/* Tests: make only that one fail. */
void sonde__mem_fail_once(uint64_t index);
/* Allocations requested since the last of these two calls. */
uint64_t sonde__mem_asked(void);

#endif
