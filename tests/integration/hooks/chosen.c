// SPDX-License-Identifier: Apache-2.0
#include "loading.h"

static __attribute__((constructor)) void construct(void)
{
    first_is_chosen_constructed = 1;
}

static int add(int value)
{
    return value + CHOSEN;
}

static int add_too_much(int value)
{
    return value + UNRELOCATED;
}

static int here;
static int *volatile relocated = &here;

static __attribute__((used)) int (*resolve(void))(int)
{
    return relocated == &here ? add : add_too_much;
}

int chosen(int value) __attribute__((ifunc("resolve")));
