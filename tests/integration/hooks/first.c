// SPDX-License-Identifier: Apache-2.0
#include "api.h"
#include "linux_syscall.h"
#include "loading.h"

int first_is_chosen_constructed;

static __attribute__((constructor)) void construct(void)
{
    if (api_in_constructor != 0) {
        api_in_constructor(&first_is_chosen_constructed);
    }
}

static int add(int value)
{
    return value + 1;
}

/* Slots of this library may not be bound yet: system calls without libc. */
static __attribute__((used)) int (*resolve(void))(int)
{
    char byte = 0;
    (void)linux_call(SYS_write, RESOLVING_FD, &byte, 1, 0);
    (void)linux_call(SYS_read, RESOLVE_FD, &byte, 1, 0);
    return add;
}

#pragma GCC visibility push(default)
int first(int value) __attribute__((ifunc("resolve")));
extern int (*first_pointer)(int);
#pragma GCC visibility pop
int (*first_pointer)(int) = first; /* a relocation that asks the resolver */
