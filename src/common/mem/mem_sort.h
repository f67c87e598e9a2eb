// SPDX-License-Identifier: Apache-2.0
/* Sorting by one number; comparison of two structs, for qsort(). Context: any thread. */
#ifndef SONDE_MEM_SORT_H
#define SONDE_MEM_SORT_H

#include <stddef.h>

/* Sort `count` elements of `size` bytes by the unsigned number of `key_size` bytes (4 or 8) with
 * which each begins. `items` may be null if count is 0. */
void sonde__mem_sort(void *items, size_t count, size_t size, size_t key_size);

/* Sort by a member, which must be the first; the macro checks that at compile time. */
#define SONDE__SORT_BY(items, count, key)                                                          \
    do {                                                                                           \
        _Static_assert(offsetof(__typeof__(*(items)), key) == 0, "the key is not the first");      \
        sonde__mem_sort(items, count, sizeof *(items), sizeof(items)->key);                        \
    } while (0)

/* Compare *x and *y by a member, or by the first of several that differs: less than, equal to or
 * greater than 0. */
#define SONDE__ORDER(x, y, member) (((x)->member > (y)->member) - ((x)->member < (y)->member))
#define SONDE__ORDER2(x, y, first, second)                                                         \
    ((x)->first != (y)->first ? SONDE__ORDER(x, y, first) : SONDE__ORDER(x, y, second))
#define SONDE__ORDER3(x, y, first, second, third)                                                  \
    ((x)->first != (y)->first ? SONDE__ORDER(x, y, first) : SONDE__ORDER2(x, y, second, third))

#endif
