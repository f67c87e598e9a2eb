// SPDX-License-Identifier: Apache-2.0
/* Sorting by one number. Context: any thread. */
#ifndef SONDE_MEM_SORT_H
#define SONDE_MEM_SORT_H

#include <stddef.h>

/* Sort `count` elements of `size` bytes, each of which begins with an unsigned number of `key_size`
 * bytes (4 or 8), by that. `items` may be null where count is 0. */
void sonde__mem_sort(void *items, size_t count, size_t size, size_t key_size);

/* The same by a member, which must be the first. A macro, so that the compiler checks that. */
#define SONDE__SORT_BY(items, count, key)                                                          \
    do {                                                                                           \
        _Static_assert(offsetof(__typeof__(*(items)), key) == 0, "the key is not the first");      \
        sonde__mem_sort(items, count, sizeof *(items), sizeof(items)->key);                        \
    } while (0)

#endif
