// SPDX-License-Identifier: Apache-2.0
/* Public structs that may grow: their first member is their size in bytes, as the caller's header
 * has it. Members are only ever added at the end, behind the padding, so a smaller struct is a
 * beginning of a larger one. The rule for callers is in docs/guide/library.md. Context: handler. */
#ifndef SONDE_BASE_SIZED_H
#define SONDE_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* Larger ones do not exist: a size that was never set. */
#define SONDE__SIZED_BYTES_MAX 4096u

/* Has a result a plausible size? False for null, too. */
bool sonde__base_sized_is_set(const void *result);

/* Copy options of a caller. Members that the caller's header lacks become zero, the default; so
 * does ret_known's size become its own.
 *
 * Returns false: null, no plausible size, or a member that this library does not know is not zero.
 */
bool sonde__base_sized_take(const void *given, void *ret_known, size_t known_bytes);

/* Fill a result of a caller, up to its size, which stays. What it has beyond `known` stays, too. */
void sonde__base_sized_give(void *ret_result, const void *known, size_t known_bytes);

/* The same for element i of an array: the size in the first one is that of all. */
void sonde__base_sized_give_at(void *results, size_t i, const void *known, size_t known_bytes);

#endif
