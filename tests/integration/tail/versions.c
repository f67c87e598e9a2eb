// SPDX-License-Identifier: Apache-2.0
/* A library with two versions of one function, and a program that is bound to one of them. */
long leaf(long x);

#if defined(LIBRARY)
__asm__(".symver f_old, f@OLD\n.symver f_new, f@@NEW");

long f_old(long x)
{
    return leaf(x + 3);
}

long f_new(long x)
{
    return leaf(x + 4);
}
#else
#    include <stdio.h>
#    include <unistd.h>

#    if defined(OLD)
__asm__(".symver f, f@OLD");
#    endif
long f(long x);

long leaf(long x)
{
    pause();
    return x + 1;
}

__attribute__((noinline)) int top(int x)
{
    return (int)f(x) + 1;
}

int main(int count, char **arguments)
{
    (void)arguments;
    printf("ready\n");
    fflush(stdout);
    return top(count);
}
#endif
