// SPDX-License-Identifier: Apache-2.0
/* Asks for variables of the environment through functions that compilers change: inline, split,
 * clone, and leave by tail calls. UNRELATED adds a function that calls one of them, so that it is
 * inlined no longer; ADDED a call of getenv() from a new function. */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;
static volatile int never;

/* Called once: inlined at -O2. */
static int inlined(const char *name)
{
    return getenv(name) != NULL;
}

/* Always the same second argument: cloned. */
static NOINLINE int cloned(const char *name, int times)
{
    int found = 0;
    for (int i = 0; i < times; i++) {
        found += getenv(name) != NULL;
    }
    return found;
}

/* The part after the test is split off. */
static int split(const char *name)
{
    if (name == NULL) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        sink += getenv(name) != NULL;
        sink += cloned(name, 3);
        sink ^= 3;
        sink += i;
    }
    return sink;
}

/* Its last call is a jump at -O2. */
static NOINLINE int left(const char *name)
{
    sink++;
    return cloned(name, 3);
}

__attribute__((cold)) static NOINLINE void complain(const char *name)
{
    sink += getenv(name) != NULL;
}

/* The branch that calls a cold function is moved to .cold. */
static NOINLINE int has_cold_branch(int value)
{
    if (value > 0) {
        complain("COLD");
        sink += 2;
        return 2;
    }
    sink++;
    return 1;
}

static NOINLINE int first(int argc)
{
    return inlined("INLINED") + split(argc > 100 ? NULL : "SPLIT");
}

static NOINLINE int second(int argc)
{
    return split(argc > 200 ? NULL : "SPLIT") + has_cold_branch(argc);
}

#ifdef UNRELATED
static NOINLINE int unrelated(int argc)
{
    return argc > 300 ? inlined("UNRELATED") + inlined("UNRELATED 2") + cloned("UNRELATED", 4) : 1;
}
#endif

#ifdef ADDED
static NOINLINE int added(void)
{
    sink++;
    return inlined("ADDED") + 1;
}
#endif

int main(int argc, char **argv)
{
    (void)argv;
    sink += first(argc) + second(argc) + left("LEFT");
#ifdef UNRELATED
    sink += unrelated(argc);
#endif
#ifdef ADDED
    sink += added();
#endif
    return never;
}
