// SPDX-License-Identifier: Apache-2.0
/* Public structs that may grow: the first member is the struct's size in bytes by the caller's
 * header. Members are only added at the end, after the padding, so a smaller struct is a prefix of
 * a larger one. The rule for callers is in docs/guide/library.md. Context: handler. */
#ifndef SONDE_BASE_SIZED_H
#define SONDE_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* No struct is larger; a larger size was never set. */
#define SONDE__SIZED_BYTES_MAX 4096u

/* Does the result have a plausible size? Also false for null. */
bool sonde__base_sized_is_set(const void *result);

/* Copy a caller's options. Members that the caller's header lacks become zero, the default;
 * ret_known's size member gets its own size.
 *
 * False: null, implausible size, or a member unknown to this library is not zero. */
bool sonde__base_sized_take(const void *given, void *ret_known, size_t known_bytes);

/* Fill a caller's result up to its size. The size, and members beyond `known`, stay unchanged. */
void sonde__base_sized_give(void *ret_result, const void *known, size_t known_bytes);

/* Fill element i of an array; the first element has the size of all. */
void sonde__base_sized_give_at(void *results, size_t i, const void *known, size_t known_bytes);

/* The place of element i to fill it without a copy; null if the caller's struct is smaller. The
 * element's size member must be set again. */
static inline void *sonde__base_sized_place(void *results, size_t i, size_t known_bytes)
{
    const size_t size = *(const size_t *)results;
    return size >= known_bytes ? (char *)results + i * size : NULL;
}

#endif
