// SPDX-License-Identifier: Apache-2.0
/* Functions whose frames need each kind of encoding of __unwind_info. */
void observe(void *p);
long use(long a, long b, long c, long d, long e, long f);

/* All saved registers. */
long many(long a, long b, long c, long d, long e, long f);
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f)
{
    long r = use(a, b, c, d, e, f);
    r += use(r, a, b, c, d, e);
    return r + a + b + c + d + e + f;
}

long few(long a, long b);
__attribute__((noinline)) long few(long a, long b)
{
    return use(a, b, 1, 2, 3, 4) + a * b;
}

/* Too large for the size to be in the encoding. */
long big(long a);
__attribute__((noinline)) long big(long a)
{
    char x[70000];
    observe(x);
    return x[a];
}

long small(long a);
__attribute__((noinline)) long small(long a)
{
    char x[40];
    observe(x);
    return x[a];
}

long leaf(long a);
__attribute__((noinline)) long leaf(long a)
{
    volatile long x[8];
    x[a & 7] = a;
    return x[3];
}

/* A frame pointer, whatever the option. */
long dynamic(long a);
__attribute__((noinline)) long dynamic(long a)
{
    char x[a];
    observe(x);
    return x[0];
}
