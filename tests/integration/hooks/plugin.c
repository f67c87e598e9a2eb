// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#if defined(PLUGIN)
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
