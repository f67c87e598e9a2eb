// SPDX-License-Identifier: Apache-2.0
#include "hook_callees.h"

#include "test.h"

long callee_longs(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
                  long k, long l)
{
    CHECK(a == 1 && b == -2 && c == 3 && d == -4 && e == 5 && f == -6);
    CHECK(g == 7 && h == -8 && i == 9 && j == -10 && k == 11 && l == -12);
    return 0x1122334455667788;
}

double callee_doubles(double a, double b, double c, double d, double e, double f, double g,
                      double h, double i, double j)
{
    CHECK(a == 1.5 && b == 2.5 && c == 3.5 && d == 4.5 && e == 5.5);
    CHECK(f == 6.5 && g == 7.5 && h == 8.5 && i == 9.5 && j == 10.5);
    return -0.125;
}

double callee_mixed(int a, float b, long c, double d, char e, float f, short g, double h, void *i,
                    float j, long k, long l, long m)
{
    CHECK(a == -1 && b == 2.25f && c == 3L << 40 && d == 4e100 && e == 'e' && f == 6.5f);
    CHECK(g == -7 && h == 8e-100 && i == (void *)9 && j == 10.75f && k == 11 && l == 12 && m == 13);
    return 14.5;
}

double callee_va_list(const char *kinds, va_list list)
{
    double sum = 0;
    for (; *kinds != '\0'; kinds++) {
        sum *= 3;
        switch (*kinds) {
        case 'd':
            sum += va_arg(list, double);
            break;
        case 'i':
            sum += va_arg(list, int);
            break;
        case 'l':
            sum += (double)va_arg(list, long);
            break;
        default:
            sum += (double)va_arg(list, long double);
            break;
        }
    }
    return sum;
}

double callee_varargs(const char *kinds, ...)
{
    va_list list;
    va_start(list, kinds);
    double sum = callee_va_list(kinds, list);
    va_end(list);
    return sum;
}

long double callee_long_double(long double a, int b, long double c)
{
    CHECK(a == 1.0L / 3 && b == 77 && c == -1e4000L);
    return 2.0L / 3;
}

__int128 callee_int128(__int128 a, long b, __int128 c, unsigned __int128 d)
{
    CHECK(a == -((__int128)1 << 100) && b == 5 && c == ((__int128)7 << 90) + 9);
    CHECK(d == ~(unsigned __int128)0 - 3);
    return ((__int128)0x0123456789abcdef << 64) + 0x1edcba9876543210;
}

double complex callee_complex(double complex a, float complex b)
{
    CHECK(creal(a) == 1.25 && cimag(a) == -2.5 && crealf(b) == 3.5f && cimagf(b) == -4.5f);
    return 5.75 + 6.25 * I;
}

long double complex callee_long_complex(long double complex a)
{
    CHECK(creall(a) == 1.0L / 3 && cimagl(a) == 2.0L / 3);
    return 4.0L / 3 + 5.0L / 3 * I;
}

struct small_mixed callee_small_mixed(struct small_mixed a, struct small_longs b)
{
    CHECK(a.whole == 11 && a.part == 0.375 && b.a == 12 && b.b == 13);
    return (struct small_mixed){14, 0.625};
}

struct small_longs callee_small_longs(long a, long b)
{
    return (struct small_longs){b, a};
}

struct four_doubles callee_four_doubles(struct four_doubles a, struct three_floats b)
{
    CHECK(a.a == 1 && a.b == 2 && a.c == 3 && a.d == 4 && b.a == 5 && b.b == 6 && b.c == 7);
    return (struct four_doubles){8, 9, 10, 11};
}

struct big callee_big(struct big a, long b, struct big c)
{
    struct big sum;
    CHECK(b == 42);
    for (int i = 0; i < 9; i++) {
        CHECK(a.words[i] == i && c.words[i] == 100 + i);
        sum.words[i] = 1000 + i;
    }
    return sum;
}

#define IS_ALL(vector, value, count) is_all((const double *)&(vector), value, count)
static int is_all(const double *lanes, double value, int count)
{
    for (int i = 0; i < count; i++) {
        if (lanes[i] != value + i) {
            return 0;
        }
    }
    return 1;
}

vector16 callee_vector16(vector16 a, vector16 b, vector16 c, vector16 d, vector16 e, vector16 f,
                         vector16 g, vector16 h, vector16 i)
{
    CHECK(IS_ALL(a, 10, 2) && IS_ALL(b, 20, 2) && IS_ALL(c, 30, 2) && IS_ALL(d, 40, 2));
    CHECK(IS_ALL(e, 50, 2) && IS_ALL(f, 60, 2) && IS_ALL(g, 70, 2) && IS_ALL(h, 80, 2));
    CHECK(IS_ALL(i, 90, 2));
    return a + i;
}

#if defined(__x86_64__)
vector32 callee_vector32(vector32 a, vector32 b, vector32 c, vector32 d, vector32 e, vector32 f,
                         vector32 g, vector32 h)
{
    CHECK(IS_ALL(a, 10, 4) && IS_ALL(b, 20, 4) && IS_ALL(c, 30, 4) && IS_ALL(d, 40, 4));
    CHECK(IS_ALL(e, 50, 4) && IS_ALL(f, 60, 4) && IS_ALL(g, 70, 4) && IS_ALL(h, 80, 4));
    return a + h;
}

vector64 callee_vector64(vector64 a, vector64 b, vector64 c, vector64 d, vector64 e, vector64 f,
                         vector64 g, vector64 h)
{
    CHECK(IS_ALL(a, 10, 8) && IS_ALL(b, 20, 8) && IS_ALL(c, 30, 8) && IS_ALL(d, 40, 8));
    CHECK(IS_ALL(e, 50, 8) && IS_ALL(f, 60, 8) && IS_ALL(g, 70, 8) && IS_ALL(h, 80, 8));
    return a + h;
}
#endif

long callee_callback(long (*callback)(long), long value)
{
    return callback(value + 1) + 1;
}

void callee_jumps(jmp_buf where, int value)
{
    longjmp(where, value);
}

void *callee_caller(void)
{
    return __builtin_return_address(0);
}

/* Registers as they are at the first instruction. */
#if defined(__x86_64__)
__asm__(".text\n\t.globl callee_chain, callee_vectors\n"
        "callee_chain: endbr64\n\tmovq %r10, %rax\n\tret\n"
        "callee_vectors: endbr64\n\tmovzbl %al, %eax\n\tret\n");
#else
__asm__(".text\n\t.globl callee_chain\ncallee_chain: hint 34\n\tmov x0, x18\n\tret\n");
#endif

void callee_throws(void (*thrower)(void))
{
    thrower();
    FAIL("the thrower came back");
}
