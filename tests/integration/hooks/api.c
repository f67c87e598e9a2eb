// SPDX-License-Identifier: Apache-2.0
/* A library with a hooked function, like libc's: with an alias, and called inside by its own
 * linkage table and directly. */
#include "api.h"

void (*api_in_constructor)(const int *is_chosen_constructed);

int api_open(int value)
{
    return value + 1;
}
extern __typeof__(api_open) api_open64 __attribute__((alias("api_open")));
static __typeof__(api_open) api_hidden __attribute__((alias("api_open")));

int api_by_table(int value)
{
    return api_open(value);
}

int api_by_hidden(int value)
{
    return api_hidden(value);
}
