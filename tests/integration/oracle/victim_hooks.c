// SPDX-License-Identifier: Apache-2.0
/* Calls through the thunks and the stub of probe_hook.h: recorded ones, ones that are not, nested
 * ones, and, when this is compiled as C++, exceptions thrown through them. */
#include <stddef.h>
#include <stdint.h>
#if !defined(VICTIM_BARE)
#    include <stdio.h>
#    include <stdlib.h>
#endif

#include "victim.h"

#if defined(__cplusplus)
extern "C" {
#endif
struct hook { /* struct sonde__probe_hook, whose atomics C++ does not know */
    uint64_t target;
    uint32_t on;
    uint32_t function;
};
typedef uint64_t recorder(const struct hook *hook, const void *regs);
extern struct hook sonde__probe_hooks[];
uint64_t sonde__probe_hook_thunk(uint32_t index);
void sonde__probe_hook_set_recorder(recorder *told);
#if defined(__cplusplus)
}
#endif

static unsigned told;

NOINLINE static unsigned fold(const struct hook *hook)
{
    return hook->function + 1;
}

static uint64_t record(const struct hook *hook, const void *regs)
{
    (void)regs;
    told += fold(hook);
    return hook->target;
}

static void *hooked(uint32_t index, void *function, unsigned on)
{
    sonde__probe_hooks[index].target = (uint64_t)(uintptr_t)function;
    sonde__probe_hooks[index].on = on;
    return (void *)(uintptr_t)sonde__probe_hook_thunk(index);
}

typedef double adder(int count, double value, long a, long b, long c, long d, long e, long f);
NOINLINE static double sum(int count, double value, long a, long b, long c, long d, long e, long f)
{
    return count * value + (double)(a + b + c + d + e + f);
}

typedef void speaker(const char *text);
NOINLINE static void throwing(const char *text)
{
#if defined(__cplusplus)
    throw text;
#else
    told += (unsigned)text[0];
#endif
}

typedef int comparer(const void *, const void *);
static int compare_longs(const void *a, const void *b)
{
    return *(const long *)a < *(const long *)b ? -1 : 1;
}

typedef void sorter(void *, size_t, size_t, comparer *);
#if defined(VICTIM_BARE)
/* Without libc: its start would use up the instructions that an emulator has time for. */
static void qsort(void *values, size_t count, size_t size, comparer *compare)
{
    long *of = (long *)values;
    for (size_t i = 1; i < count * size / sizeof(long); i++) {
        if (compare(&of[i], &of[i - 1]) < 0) {
            long value = of[i];
            of[i] = of[i - 1];
            of[i - 1] = value;
        }
    }
}
#endif

NOINLINE static unsigned calls(unsigned on)
{
    adder *add = (adder *)hooked(0, (void *)sum, on);
    speaker *speak = (speaker *)hooked(1, (void *)throwing, on);
    sorter *sort = (sorter *)hooked(2, (void *)qsort, on);
    comparer *compare = (comparer *)hooked(1023, (void *)compare_longs, on);
    long values[] = {5, 3, 8, 1, 9, 2};
    double total = add(3, 1.5, 1, 2, 3, 4, 5, 6);
    sort(values, 6, sizeof values[0], compare);
#if defined(__cplusplus)
    try {
        speak("through a hook");
    } catch (const char *text) {
        total += text[0];
    }
#else
    speak("through a hook");
#endif
    return (unsigned)total + (unsigned)values[0];
}

#if defined(VICTIM_BARE)
void _start(void)
{
    unsigned total = 0;
    sonde__probe_hook_set_recorder(record);
    for (;;) {
        total += calls(1) + calls(0);
        __asm__ volatile("" : "+r"(total));
    }
}
#else
int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned total = 0;
    sonde__probe_hook_set_recorder(record);
    total += calls(1); /* what is looked up and opened at the first throw */
    if (argc > 2) {
        MARK();
    }
    for (unsigned i = 0; i < rounds; i++) {
        total += calls(1) + calls(0);
    }
    printf("%u %u\n", total, told);
    (void)argv;
    return 0;
}
#endif
