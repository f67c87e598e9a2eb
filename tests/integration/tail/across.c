// SPDX-License-Identifier: Apache-2.0
/* A program and two libraries whose functions leave for each other by jumps. */
#define ALONE __attribute__((noinline))

long a1(long x);
long a2(long x);
long either(long x);
long b1(long x);
long b2(long x);
long leaf(long x);

#if defined(IMAGE_B)
long b1(long x)
{
#    if defined(OTHER)
    x = leaf(x);
#    endif
    return a2(x * 2);
}

long b2(long x)
{
    return leaf(x - 1);
}
#elif defined(IMAGE_A)
long a1(long x)
{
    return b1(x + 3);
}

long either(long x)
{
    return x > 5 ? b2(x + 1) : b1(x + 3);
}

long a2(long x)
{
    return leaf(x + 1);
}
#else
#    include <stdio.h>
#    include <unistd.h>

long leaf(long x)
{
    pause();
    return x + 1;
}

ALONE long top(long x)
{
    return a1(x) + 1;
}

ALONE long either_top(long x)
{
    return either(x) * 3 + 1;
}

int main(int count, char **arguments)
{
    (void)arguments;
    printf("ready\n");
    fflush(stdout);
    return (int)(count > 1 ? either_top(count) : top(count));
}
#endif
