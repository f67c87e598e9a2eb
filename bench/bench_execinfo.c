// SPDX-License-Identifier: Apache-2.0
/* The drop-in for glibc's backtrace functions (libsonde-execinfo.so), compared with glibc's own. */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_chain.h"
#include "harness.h"

enum { OURS, GLIBC, BOTH, FRAMES_MAX = 256 };

static struct functions {
    int (*backtrace)(void **, int);
    char **(*symbols)(void *const *, int);
    void (*symbols_fd)(void *const *, int, int);
} functions[BOTH];

static void *pcs[FRAMES_MAX];
static int counts[BOTH];
static int null_fd;

static void run_backtrace(void *ctx)
{
    const struct functions *f = ctx;
    counts[f - functions] = f->backtrace(pcs, FRAMES_MAX);
    bench_keep(pcs);
}

static void run_symbols(void *ctx)
{
    const struct functions *f = ctx;
    char **lines = f->symbols(pcs, counts[GLIBC]);
    bench_keep(lines);
    free((void *)lines);
}

static void run_symbols_fd(void *ctx)
{
    const struct functions *f = ctx;
    f->symbols_fd(pcs, counts[GLIBC], null_fd);
}

static void compare(const char *what, unsigned depth, void (*run)(void *))
{
    struct bench_method methods[BOTH] = {{"ours", run, &functions[OURS]},
                                         {"glibc", run, &functions[GLIBC]}};
    double ns[BOTH];
    bench_compare(methods, BOTH, ns);
    if (counts[OURS] != counts[GLIBC] || counts[OURS] < (int)depth) {
        bench_note("execinfo: %d frames against glibc's %d", counts[OURS], counts[GLIBC]);
        exit(1);
    }
    if (depth == 30) {
        bench_print(ns[GLIBC] / ns[OURS], "x", "execinfo.%s.vs_glibc", what);
    }
    bench_print(ns[OURS] / counts[OURS], "ns", "execinfo.%s.d%u.ns_per_frame", what, depth);
    bench_print(ns[GLIBC] / ns[OURS], "x", "execinfo.%s.d%u.vs_glibc", what, depth);
}

static void at_leaf(void *ctx)
{
    unsigned depth = *(unsigned *)ctx;
    compare("backtrace", depth, run_backtrace);
    compare("symbols", depth, run_symbols);
    compare("symbols_fd", depth, run_symbols_fd);
}

int main(void)
{
    static const unsigned depths[] = {10, 30, 100};
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    functions[OURS] = (struct functions){backtrace, backtrace_symbols, backtrace_symbols_fd};
    *(void **)&functions[GLIBC].backtrace = dlsym(libc, "backtrace");
    *(void **)&functions[GLIBC].symbols = dlsym(libc, "backtrace_symbols");
    *(void **)&functions[GLIBC].symbols_fd = dlsym(libc, "backtrace_symbols_fd");
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null_fd < 0 || functions[GLIBC].backtrace == functions[OURS].backtrace) {
        bench_note("execinfo: glibc's functions are not to be had");
        return 1;
    }
    for (unsigned i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        unsigned depth = depths[i];
        (void)bench_chain_omit((int)depth, at_leaf, &depth);
    }
    return 0;
}
