// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#if defined(PLUGIN)
const int plugin_build = PLUGIN; /* two builds have the same code at the same places */

int plugin_by_table(int value)
{
    int result = api_by_table(value);
    __asm__ volatile("# no tail call" : "+r"(result));
    return result;
}

int plugin_by_alias(int value)
{
    int result = api_open64(value);
    __asm__ volatile("# no tail call" : "+r"(result));
    return result;
}

/* Defined by a library that comes later. */
int plugin_later(int value)
{
    int result = api_later(value);
    __asm__ volatile("# no tail call" : "+r"(result));
    return result;
}

static int in_constructor;
static __attribute__((constructor)) void construct(void)
{
    in_constructor = api_open(0);
}
int plugin_call(int value)
{
    return api_open(value) + in_constructor - 1;
}
#else
int no_plt_call(int value)
{
    return api_open(value);
}
#endif
