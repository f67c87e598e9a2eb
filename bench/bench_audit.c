// SPDX-License-Identifier: Apache-2.0
/* What a hook adds to a call of a library function. The call goes through a linkage stub to the
 * function itself, to a thunk that passes it straight on, or to a thunk whose recorder does
 * nothing. Then the cost of conditions (bench_audit_when.c) and of a recorder that counts stacks
 * (bench_record.c). */
#include <stddef.h>

#include "bench_audit_api.h"
#include "bench_audit_when.h"
#include "bench_record.h"
#include "bench_record_programs.h"
#include "harness.h"
#include "probe_hook.h"

/* The linkage stubs are our own, so that each has its own slot for the same function. */
enum { PLAIN, OFF, ON, METHODS };
void *bench_audit_slots[METHODS];
int bench_audit_plain(int value);
int bench_audit_off(int value);
int bench_audit_on(int value);
#if defined(__x86_64__)
#    define STUB(name, offset)                                                                     \
        __asm__(".text\n\t.p2align 4\n" name ": endbr64\n\tjmp *bench_audit_slots+" #offset        \
                "(%rip)\n")
#else
#    define STUB(name, offset)                                                                     \
        __asm__(".text\n\t.p2align 4\n" name ": adrp x16, bench_audit_slots+" #offset              \
                "\n\tldr x17, [x16, :lo12:bench_audit_slots+" #offset "]\n\tbr x17\n")
#endif
STUB("bench_audit_plain", 0);
STUB("bench_audit_off", 8);
STUB("bench_audit_on", 16);

enum { CALLS = 64 }; /* per operation of the harness */

#define RUN(name)                                                                                  \
    static void run_##name(void *unused)                                                           \
    {                                                                                              \
        (void)unused;                                                                              \
        for (int i = 0; i < CALLS; i++) {                                                          \
            (void)bench_audit_##name(i);                                                           \
        }                                                                                          \
    }
RUN(plain)
RUN(off)
RUN(on)

static uint64_t record_nothing(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    (void)regs;
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}

int main(void)
{
    const struct bench_method methods[METHODS] = {
        {"plain", run_plain, NULL}, {"off", run_off, NULL}, {"on", run_on, NULL}};
    double ns[METHODS];
    for (uint32_t i = 0; i < 2; i++) {
        atomic_store(&sonde__probe_hooks[i].target, (uint64_t)(uintptr_t)bench_audit_api);
        atomic_store(&sonde__probe_hooks[i].on, i);
        bench_audit_slots[OFF + i] = (void *)(uintptr_t)sonde__probe_hook_thunk(i);
    }
    bench_audit_slots[PLAIN] = (void *)bench_audit_api;
    sonde__probe_hook_set_recorder(record_nothing);
    bench_compare(methods, METHODS, ns);
    bench_print(ns[PLAIN] / CALLS, "ns", "audit.hook.plt_ns");
    bench_print((ns[OFF] - ns[PLAIN]) / CALLS, "ns", "audit.hook.stopped_ns_over_plt");
    bench_print((ns[ON] - ns[PLAIN]) / CALLS, "ns", "audit.hook.ns_over_plt");
    bench_audit_when();
    bench_record();
    bench_record_programs();
    return 0;
}
