// SPDX-License-Identifier: Apache-2.0
/* A library that hooks.c loads: it calls when it is initialised, and later. */
#include "hooked.h"

POINTERS(later);

extern int later_calls;
int later_calls;

__attribute__((constructor)) static void begin(void)
{
    later_calls += getpid() != 0;
}

int call_later(pid_t pid);
int call_later(pid_t pid)
{
    return CALL_ALL(later, pid);
}
