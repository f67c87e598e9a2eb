// SPDX-License-Identifier: Apache-2.0
/* The strings of a whole stack: of a new stack, of a stack seen before, and with the capture,
 * compared with glibc's backtrace() + backtrace_symbols() and GNUstep's callStackSymbols. CPU time
 * of the thread, medians. For `first`, the symbol files are open and only the strings are new. */
#include "bench_strings.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sonde/text.h>

#include "bench_chain.h"
#include "harness.h"

enum { ROUNDS = 101, HITS = 200, DEPTH_MAX = 512 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_symbols: %s\n", what);
    exit(1);
}

static void ask(struct sonde_symbolizer *symbolizer, const struct sonde_stack *stack)
{
    const char *const *lines;
    uint32_t count;
    if (sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, stack, &lines, &count) != SONDE_OK) {
        fail("no strings");
    }
    bench_keep(lines);
}

static double whole_us(uint32_t depth)
{
    double begin = now_us();
    for (int i = 0; i < HITS; i++) {
        uint32_t count;
        bench_keep(sonde_callstack_strings(depth, &count));
    }
    return (now_us() - begin) / HITS;
}

static double glibc_us(int depth)
{
    void *pcs[DEPTH_MAX];
    double begin = now_us();
    char **symbols = backtrace_symbols(pcs, backtrace(pcs, depth));
    double end = now_us();
    bench_keep(symbols);
    free((void *)symbols);
    return end - begin;
}

/* +[NSThread callStackSymbols] of the GNUstep library that ./dev bench names. Its array is made in
 * a pool; the pool is part of a call's cost. */
static struct {
    void *(*message)(void *object, void *selector); /* the runtime's: which function */
    void *thread, *pool;                            /* classes */
    void *symbols, *alloc, *init, *release;         /* selectors */
} gnustep;

static void *send(void *object, void *selector)
{
    void *(*method)(void *, void *);
    void *found = gnustep.message(object, selector);
    memcpy(&method, &found, sizeof method);
    return method(object, selector);
}

static void load_gnustep(void)
{
    const char *path = getenv("SONDE_BENCH_GNUSTEP");
    void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    void *(*class_of)(const char *name);
    void *(*selector_of)(const char *name);
    void *symbols[3] = {0};
    if (library == NULL) {
        fprintf(stderr, "bench_symbols: no GNUstep: %s\n", path != NULL ? dlerror() : "not named");
        return;
    }
    symbols[0] = dlsym(library, "objc_getClass");
    symbols[1] = dlsym(library, "sel_registerName");
    symbols[2] = dlsym(library, "objc_msg_lookup");
    if (symbols[0] == NULL || symbols[1] == NULL || symbols[2] == NULL) {
        fail("GNUstep without a runtime");
    }
    memcpy(&class_of, &symbols[0], sizeof class_of);
    memcpy(&selector_of, &symbols[1], sizeof selector_of);
    memcpy(&gnustep.message, &symbols[2], sizeof gnustep.message);
    gnustep.thread = class_of("NSThread");
    gnustep.pool = class_of("NSAutoreleasePool");
    gnustep.symbols = selector_of("callStackSymbols");
    gnustep.alloc = selector_of("alloc");
    gnustep.init = selector_of("init");
    gnustep.release = selector_of("release");
    if (gnustep.thread == NULL || gnustep.pool == NULL) {
        fail("GNUstep without NSThread");
    }
}

static double gnustep_us(void)
{
    double begin = now_us();
    void *pool = send(send(gnustep.pool, gnustep.alloc), gnustep.init);
    bench_keep(send(gnustep.thread, gnustep.symbols));
    (void)send(pool, gnustep.release);
    return now_us() - begin;
}

static void beside_gnustep(double ours, const char *suffix)
{
    double times[ROUNDS];
    if (gnustep.thread == NULL) {
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        times[i] = gnustep_us();
    }
    double theirs = median(times);
    bench_print(theirs, "us", "callstack.strings%s.gnustep_us", suffix);
    bench_print(theirs / ours, "x", "callstack.strings%s.vs_gnustep", suffix);
}

static void at_leaf(void *ctx)
{
    static uint64_t pcs[DEPTH_MAX];
    static uint8_t how[DEPTH_MAX];
    double first[ROUNDS], hit[ROUNDS], whole[ROUNDS], glibc[ROUNDS], ours, theirs;
    uint32_t depth = *(uint32_t *)ctx;
    struct sonde_symbolizer *symbolizer = NULL;
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, depth, 0);
    if (sonde_stack_prepare() != SONDE_OK || sonde_symbolizer_create(&symbolizer) != SONDE_OK ||
        sonde_stack_capture(&stack, 0) != SONDE_OK || stack.count != depth) {
        fail("no stack of that depth");
    }
    ask(symbolizer, &stack);
    for (int i = 0; i < ROUNDS; i++) {
        double begin;
        pcs[0]++; /* another stack */
        begin = now_us();
        ask(symbolizer, &stack);
        first[i] = now_us() - begin;
        begin = now_us();
        for (int k = 0; k < HITS; k++) {
            ask(symbolizer, &stack);
        }
        hit[i] = (now_us() - begin) / HITS;
        whole[i] = whole_us(depth);
        glibc[i] = glibc_us((int)depth);
    }
    ours = median(whole);
    theirs = median(glibc);
    const char *suffix = depth == 30 ? "" : ".256";
    bench_print(median(first), "us", "callstack.strings%s.first_us", suffix);
    bench_print(median(hit), "us", "callstack.strings%s.hit_us", suffix);
    bench_print(ours, "us", "callstack.strings%s.with_capture_us", suffix);
    bench_print(theirs, "us", "callstack.strings%s.glibc_us", suffix);
    bench_print(theirs / ours, "x", "callstack.strings%s.vs_glibc", suffix);
    beside_gnustep(ours, suffix);
    sonde_symbolizer_destroy(symbolizer);
}

void bench_strings(void)
{
    static uint32_t depths[] = {30, 256};
    load_gnustep();
    for (unsigned i = 0; i < 2; i++) {
        (void)bench_chain_omit((int)depths[i], at_leaf, &depths[i]);
    }
}
