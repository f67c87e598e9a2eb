// SPDX-License-Identifier: Apache-2.0
/* Makes known numbers of calls of libc and libm: each by name, by a pointer that the loader sets,
 * and by one from dlsym(). Prints "caller calls", one line each. */
#include <features.h>
/* The compiler must not drop a call whose result is unused. */
#undef __attribute_pure__
#undef __attribute_const__
#define __attribute_pure__
#define __attribute_const__
#define __pure__  /* NOLINT: the headers' */
#define __const__ /* NOLINT */
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static char text[64] = "abc";
static char *volatile in = text;
static char out[512];
static wchar_t wide[16] = L"abc";
static volatile double x = 0.5;
static regex_t regex;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_attr_t attr;
static sem_t semaphore;
static glob_t globbed;
static struct stat status;
static struct timespec spec;
static struct timeval value;
static struct tm broken;
static time_t seconds;
static cpu_set_t cpus;
static void *allocated;
static double whole;
static int number;
static int order[2] = {2, 1};
static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

#define REPEAT(count, call)                                                                        \
    for (int i = 0; i < (count); i++) {                                                            \
        (void)call;                                                                                \
        calls++;                                                                                   \
    }
/* `times` keeps the numbers of two functions apart. */
#define CALLER(caller, function, found, times, ...)                                                \
    __attribute__((noinline)) static void caller(void)                                             \
    {                                                                                              \
        static __typeof__(&function) volatile by_pointer = function;                               \
        __typeof__(&function) asked = (__typeof__(&function))(found);                              \
        int calls = 0;                                                                             \
        REPEAT(times, (function)(__VA_ARGS__))                                                     \
        REPEAT(2 * times, by_pointer(__VA_ARGS__))                                                 \
        REPEAT(asked != NULL ? 3 * times : 0, asked(__VA_ARGS__))                                  \
        printf("%s %d\n", #caller, calls);                                                         \
    }
#define OLD_CALLER(caller, function, name, version, times, ...)                                    \
    CALLER(caller, function, dlvsym(RTLD_DEFAULT, name, version), times, __VA_ARGS__)
#define EACH(name, ...)                                                                            \
    CALLER(call_##name, name, dlsym(RTLD_DEFAULT, #name), 3 + __COUNTER__, __VA_ARGS__)
#include "exact.def"
#undef EACH
#if defined(__x86_64__)
/* Versions that a program must request by name. */
__asm__(".symver old_memcpy,memcpy@GLIBC_2.2.5");
__asm__(".symver old_realpath,realpath@GLIBC_2.2.5");
__asm__(".symver old_pow,pow@GLIBC_2.2.5");
__asm__(".symver old_cond_signal,pthread_cond_signal@GLIBC_2.2.5");
extern __typeof__(memcpy) old_memcpy;
extern __typeof__(realpath) old_realpath;
extern __typeof__(pow) old_pow;
extern __typeof__(pthread_cond_signal) old_cond_signal;
static long old_cond[8];
OLD_CALLER(call_old_memcpy, old_memcpy, "memcpy", "GLIBC_2.2.5", 201, out, in, 4)
OLD_CALLER(call_old_realpath, old_realpath, "realpath", "GLIBC_2.2.5", 203, "/", out)
OLD_CALLER(call_old_pow, old_pow, "pow", "GLIBC_2.2.5", 207, x, 2.5)
OLD_CALLER(call_old_cond_signal, old_cond_signal, "pthread_cond_signal", "GLIBC_2.2.5", 211,
           (pthread_cond_t *)(void *)old_cond)
#endif

int main(void)
{
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (regcomp(&regex, "b", 0) != 0 || pthread_attr_init(&attr) != 0 ||
        sem_init(&semaphore, 0, 0) != 0) {
        return 1;
    }
#define EACH(name, ...) call_##name();
#include "exact.def"
#if defined(__x86_64__)
    call_old_memcpy();
    call_old_realpath();
    call_old_pow();
    call_old_cond_signal();
#endif
    return 0;
}
