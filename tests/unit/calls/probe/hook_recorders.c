// SPDX-License-Identifier: Apache-2.0
#include "hook_recorders.h"

#include <stddef.h>

unsigned hook_calls;
uint32_t hook_function;
struct sonde__regs hook_regs;

enum { STACK_BYTES = 4096 };

static __attribute__((noinline, no_sanitize("address"))) void scribble(void)
{
    uint64_t below[STACK_BYTES / 8];
    for (size_t i = 0; i < STACK_BYTES / 8; i++) {
        below[i] = 0xdeadbeefdeadbeef;
    }
    __asm__ volatile("" : : "r"(below) : "memory");
}

__attribute__((no_sanitize("address"))) uint64_t hook_wreck(const struct sonde__probe_hook *hook,
                                                            const struct sonde__regs *regs)
{
    uint64_t target = atomic_load_explicit(&hook->target, memory_order_relaxed);
    hook_calls++;
    hook_function = hook->function;
    hook_regs = *regs;
    scribble();
#if defined(__x86_64__)
    __asm__ volatile("movq $-1, %%rax\n\tmovq %%rax, %%rcx\n\tmovq %%rax, %%rdx\n\t"
                     "movq %%rax, %%rsi\n\tmovq %%rax, %%rdi\n\tmovq %%rax, %%r8\n\t"
                     "movq %%rax, %%r9\n\tmovq %%rax, %%r10\n\tmovq %%rax, %%r11\n\tstc"
                     :
                     :
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
#else
    __asm__ volatile(
        "mov x0, -1\n\tmov x1, x0\n\tmov x2, x0\n\tmov x3, x0\n\tmov x4, x0\n\tmov x5, x0\n\t"
        "mov x6, x0\n\tmov x7, x0\n\tmov x8, x0\n\tmov x9, x0\n\tmov x10, x0\n\tmov x11, x0\n\t"
        "mov x12, x0\n\tmov x13, x0\n\tmov x14, x0\n\tmov x15, x0\n\tmov x16, x0\n\t"
        "mov x17, x0\n\tmov x18, x0\n\tcmp x0, 0"
        :
        :
        : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
          "x14", "x15", "x16", "x17", "x18", "cc", "memory");
#endif
    return target;
}

uint64_t hook_wreck_vectors(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    (void)regs;
#if defined(__x86_64__)
    __asm__ volatile("xorps %xmm1, %xmm1");
#else
    __asm__ volatile("movi v1.2d, 0");
#endif
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}
