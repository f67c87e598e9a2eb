// SPDX-License-Identifier: Apache-2.0
/* A hook whose recorder evaluates the conditions of a function, as the one of `sonde run --audit`
 * does. No condition holds, so that nothing is recorded. */
#include "bench_audit_when.h"

#include "audit_when.h"
#include "bench_audit_api.h"
#include "harness.h"
#include "probe_hook.h"

enum { CALLS = 64, FIRST_HOOK = 8 };

static struct sonde__when when;
static uint16_t nodes[2];
static volatile unsigned held;

static uint64_t evaluate(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    uint64_t arguments[SONDE__WHEN_ARGUMENTS];
    for (unsigned i = 0; i < SONDE__WHEN_ARGUMENTS; i++) {
        arguments[i] = sonde__probe_hook_argument(regs, i);
    }
    if (sonde__when_holds(&when, nodes[hook->function], arguments) != SONDE__WHEN_NO) {
        held++;
    }
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}

/* Through a pointer that the compiler does not know. */
typedef int api(uint64_t value);
static api *volatile targets[3];

static void call(unsigned which, uint64_t value)
{
    for (int i = 0; i < CALLS; i++) {
        (void)targets[which](value);
    }
}

static void run_plain(void *unused)
{
    (void)unused;
    call(0, 7);
}

static void run_number(void *unused)
{
    (void)unused;
    call(1, 7);
}

static void run_path(void *path)
{
    call(2, (uint64_t)(uintptr_t)path);
}

static int api_itself(uint64_t value)
{
    return bench_audit_api((int)value);
}

static void compile(unsigned which, const char *text, struct sonde__audit_when *to)
{
    size_t at;
    const char *wrong = sonde__audit_when_compile(to, text, "f", 0, &nodes[which], &at);
    struct sonde__probe_hook *hook = &sonde__probe_hooks[FIRST_HOOK + which];
    if (wrong != NULL) {
        bench_note("%s: %s", text, wrong);
    }
    atomic_store(&hook->target, (uint64_t)(uintptr_t)api_itself);
    hook->function = which;
    atomic_store(&hook->on, 1);
    targets[1 + which] = (api *)(uintptr_t)sonde__probe_hook_thunk(FIRST_HOOK + which);
}

void bench_audit_when(void)
{
    static char path[] = "/usr/share/dict/words";
    const struct bench_method methods[] = {
        {"plain", run_plain, NULL}, {"number", run_number, NULL}, {"path", run_path, path}};
    struct sonde__audit_when to = {&when, 0};
    double ns[3];
    targets[0] = api_itself;
    compile(0, "arg1 == 8", &to);
    compile(1, "arg1.path ~ /etc/shadow", &to);
    sonde__probe_hook_set_recorder(evaluate);
    bench_compare(methods, 3, ns);
    sonde__probe_hook_set_recorder(NULL);
    if (held != 0) {
        bench_note("a condition held that should not");
        return;
    }
    bench_print((ns[1] - ns[0]) / CALLS, "ns", "audit.predicate_miss.ns");
    bench_print((ns[2] - ns[0]) / CALLS, "ns", "audit.predicate_path_miss.ns");
}
