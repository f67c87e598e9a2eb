// SPDX-License-Identifier: Apache-2.0
/* Functions of every kind of signature, in a file of their own so that calls are real calls. Each
 * fails the test when an argument did not arrive, and returns what the caller can check. */
#ifndef TEST_HOOK_CALLEES_H
#define TEST_HOOK_CALLEES_H

#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

struct small_mixed {
    long whole;
    double part;
};
struct small_longs {
    long a, b;
};
struct four_doubles { /* one value per vector register on aarch64 */
    double a, b, c, d;
};
struct three_floats {
    float a, b, c;
};
struct big {
    long words[9];
};
typedef double vector16 __attribute__((vector_size(16)));
typedef double vector32 __attribute__((vector_size(32)));
typedef double vector64 __attribute__((vector_size(64)));

long callee_longs(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
                  long k, long l);
double callee_doubles(double a, double b, double c, double d, double e, double f, double g,
                      double h, double i, double j);
double callee_mixed(int a, float b, long c, double d, char e, float f, short g, double h, void *i,
                    float j, long k, long l, long m);
double callee_varargs(const char *kinds, ...); /* d: double, i: int, l: long, D: long double */
double callee_va_list(const char *kinds, va_list list);
long double callee_long_double(long double a, int b, long double c);
__int128 callee_int128(__int128 a, long b, __int128 c, unsigned __int128 d);
double complex callee_complex(double complex a, float complex b);
long double complex callee_long_complex(long double complex a);
struct small_mixed callee_small_mixed(struct small_mixed a, struct small_longs b);
struct small_longs callee_small_longs(long a, long b);
struct four_doubles callee_four_doubles(struct four_doubles a, struct three_floats b);
struct big callee_big(struct big a, long b, struct big c);
vector16 callee_vector16(vector16 a, vector16 b, vector16 c, vector16 d, vector16 e, vector16 f,
                         vector16 g, vector16 h, vector16 i);
#if defined(__x86_64__)
vector32 callee_vector32(vector32 a, vector32 b, vector32 c, vector32 d, vector32 e, vector32 f,
                         vector32 g, vector32 h) __attribute__((target("avx2")));
vector64 callee_vector64(vector64 a, vector64 b, vector64 c, vector64 d, vector64 e, vector64 f,
                         vector64 g, vector64 h) __attribute__((target("avx512f")));
#endif
long callee_callback(long (*callback)(long), long value);
void callee_jumps(jmp_buf where, int value);
void *callee_caller(void);
uint64_t callee_chain(void);   /* what the static chain register holds */
uint64_t callee_vectors(void); /* al: how many vector registers carry variable arguments */
void callee_throws(void (*thrower)(void));

#endif
