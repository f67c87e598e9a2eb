// SPDX-License-Identifier: Apache-2.0
/* Tail calls that a debugger and sonde look at: main -> top -> mid1 => mid2 => leaf. */
#include <stdio.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone))

ALONE long leaf(long x);
ALONE long mid2(long x);
ALONE long mid1(long x);
ALONE long side(long x);
ALONE long either(long x);
ALONE long top(long x);
ALONE long fork_top(long x);

long leaf(long x)
{
    pause();
    return x + 1;
}

long mid2(long x)
{
    return leaf(x * 2);
}

long mid1(long x)
{
    return mid2(x + 3);
}

long side(long x)
{
    return leaf(x + 2);
}

long either(long x)
{
    return x > 5 ? side(x) : mid1(x);
}

long top(long x)
{
    return mid1(x) + 1;
}

long fork_top(long x)
{
    return either(x) * 3 + 1;
}

int main(int count, char **arguments)
{
    (void)arguments;
    printf("ready\n");
    fflush(stdout);
    return (int)(count > 1 ? fork_top(count) : top(count));
}
