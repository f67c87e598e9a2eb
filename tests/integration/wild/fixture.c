// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#define JOIN_(a, b, c)    a##b##c
#define JOIN(a, b, c)     JOIN_(a, b, c)
#define TEXT_(x)          #x
#define TEXT(x)           TEXT_(x)
#define BOUND(edge, name) JOIN(JOIN(edge, wild_, KIND), _, name)
#define PLACED(name)                                                                               \
    extern const char BOUND(__start_, name)[], BOUND(__stop_, name)[];                             \
    static __attribute__((noinline, section(TEXT(BOUND(, name)))))

#define AFTER(value) __asm__ volatile("" : "+r"(value))

PLACED(buggy) int buggy(uintptr_t target)
{
    char bytes[32];
    volatile char *byte = bytes;
    int (*function)(int) = (int (*)(int))target;
    byte[3] = (char)target;
    int result = function(3);
    return result + byte[3];
}

PLACED(jumping) int jumping(uintptr_t target)
{
    int (*function)(int) = (int (*)(int))target;
    return function(4);
}

PLACED(smashed) int smashed(uintptr_t target, void (*look)(void))
{
    uintptr_t *volatile record = __builtin_frame_address(0);
    record[1] = target;
    look();
    int result = 1;
    AFTER(result); /* clang would jump to `look` */
    return result;
}

PLACED(middle) int middle(uintptr_t target, int how, void (*look)(void))
{
    int result = how == 0 ? buggy(target) : how == 1 ? jumping(target) : smashed(target, look);
    AFTER(result);
    return result;
}

PLACED(outer) int outer(uintptr_t target, int how, void (*look)(void))
{
    int result = middle(target, how, look);
    AFTER(result);
    return result;
}

static int call(uintptr_t target)
{
    return outer(target, 0, 0);
}

static int jump(uintptr_t target)
{
    return outer(target, 1, 0);
}

static int smash(uintptr_t target, void (*look)(void))
{
    return outer(target, 2, look);
}

#define PLACE(name)                                                                                \
    {                                                                                              \
#        name, (uintptr_t)BOUND(__start_, name), (uintptr_t)BOUND(__stop_, name)                   \
    }
const struct wild_kind JOIN(wild, _, KIND) = {
    TEXT(KIND),
    call,
    jump,
    smash,
    {PLACE(buggy), PLACE(jumping), PLACE(smashed), PLACE(middle), PLACE(outer)},
};
