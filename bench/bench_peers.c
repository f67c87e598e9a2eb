// SPDX-License-Identifier: Apache-2.0
#include "bench_peers.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* libunwind.h: unw_context_t is at most 4 KiB, unw_cursor_t 127 words (x86-64), 4096 (aarch64). */
struct unw {
    int (*backtrace)(void **, int);
    int (*get_context)(void *);
    int (*init_local)(void *, void *);
    int (*step)(void *);
    int (*get_reg)(void *, int, uint64_t *);
};

#if defined(__x86_64__)
#    define UNW(name_)  "_ULx86_64_" #    name_
#    define UNW_CONTEXT "_Ux86_64_getcontext"
#    define UNW_REG_IP  16
#else
#    define UNW(name_)  "_ULaarch64_" #    name_
#    define UNW_CONTEXT "_Uaarch64_getcontext"
#    define UNW_REG_IP  30
#endif

static struct unw unw;
static struct unw llvm;
static __thread void *pcs[PEER_FRAMES_MAX];
static uintptr_t stack_end;

static void *find(void *library, const char *name)
{
    return library != NULL ? dlsym(library, name) : NULL;
}

void bench_peers_open(void)
{
    pthread_attr_t attr;
    void *base = NULL;
    size_t size = 0;
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    *(void **)&unw.backtrace = find(library, "unw_backtrace");
    *(void **)&unw.get_context = find(library, UNW_CONTEXT);
    *(void **)&unw.init_local = find(library, UNW(init_local));
    *(void **)&unw.step = find(library, UNW(step));
    *(void **)&unw.get_reg = find(library, UNW(get_reg));
    const char *path = getenv("SONDE_BENCH_LLVM_LIBUNWIND");
    library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    *(void **)&llvm.get_context = find(library, "unw_getcontext");
    *(void **)&llvm.init_local = find(library, "unw_init_local");
    *(void **)&llvm.step = find(library, "unw_step");
    *(void **)&llvm.get_reg = find(library, "unw_get_reg");
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        (void)pthread_attr_getstack(&attr, &base, &size);
        (void)pthread_attr_destroy(&attr);
        stack_end = (uintptr_t)base + size;
    }
    (void)bench_glibc_backtrace(); /* loads libgcc */
}

int bench_glibc_backtrace(void)
{
    int count = backtrace(pcs, PEER_FRAMES_MAX);
    bench_keep(pcs);
    return count;
}

int bench_unw_backtrace(void)
{
    int count = unw.backtrace != NULL ? unw.backtrace(pcs, PEER_FRAMES_MAX) : 0;
    bench_keep(pcs);
    return count;
}

static int step_all(const struct unw *by, int reg_ip)
{
    uint64_t context[512];
    uint64_t cursor[4096];
    uint64_t pc = 0;
    int count = 0;
    if (by->get_context == NULL || by->init_local == NULL || by->step == NULL ||
        by->get_reg == NULL || by->get_context(context) != 0 ||
        by->init_local(cursor, context) != 0) {
        return 0;
    }
    do {
        (void)by->get_reg(cursor, reg_ip, &pc);
        pcs[count++] = (void *)(uintptr_t)pc;
    } while (count < PEER_FRAMES_MAX && by->step(cursor) > 0);
    bench_keep(pcs);
    return count;
}

int bench_unw_step(void)
{
    return step_all(&unw, UNW_REG_IP);
}

int bench_llvm_step(void)
{
    return step_all(&llvm, -1); /* -1: its register number of the pc */
}

void bench_peers_touch(void)
{
    (void)memset(pcs, 0, sizeof pcs);
}

int bench_fp_loop(const void *start)
{
    const uintptr_t *fp = start;
    int count = 0;
    while (count < PEER_FRAMES_MAX) {
        pcs[count++] = (void *)fp[1];
        uintptr_t next = fp[0];
        if (next <= (uintptr_t)fp || next >= stack_end - 16 || (next & 7) != 0) {
            break;
        }
        fp = (const uintptr_t *)next;
    }
    bench_keep(pcs);
    return count;
}
