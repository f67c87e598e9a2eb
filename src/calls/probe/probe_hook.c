// SPDX-License-Identifier: Apache-2.0
#include "probe_hook.h"

#include <stddef.h>

struct sonde__probe_hook sonde__probe_hooks[SONDE__PROBE_HOOKS];
static sonde__probe_recorder *_Atomic recorder;

_Static_assert(sizeof(struct sonde__probe_hook) == 16 &&
                   offsetof(struct sonde__probe_hook, target) == 0 &&
                   offsetof(struct sonde__probe_hook, on) == 8 &&
                   offsetof(struct sonde__regs, pc) == 280 &&
                   offsetof(struct sonde__regs, known) == 288 &&
                   offsetof(struct sonde__regs, arch) == 296 && sizeof(struct sonde__regs) == 304,
               "probe_thunks.S");

void sonde__probe_hook_set_recorder(sonde__probe_recorder *now)
{
    atomic_store_explicit(&recorder, now, memory_order_release);
}

uint64_t sonde__probe_hook_argument(const struct sonde__regs *regs, unsigned index)
{
    static const uint8_t x86_64[] = {5, 4, 1, 2, 8, 9};
    bool is_x86 = regs->arch == SONDE_ARCH_X86_64;
    unsigned in_registers = is_x86 ? sizeof x86_64 : 8;
    if (index < in_registers) {
        return regs->r[is_x86 ? x86_64[index] : index];
    }
    const uint64_t *words = (const uint64_t *)(uintptr_t)regs->r[sonde__arch_sp(regs->arch)];
    return words[index - in_registers];
}

uint64_t sonde__probe_hook_enter(const struct sonde__probe_hook *hook,
                                 const struct sonde__regs *regs)
{
    sonde__probe_recorder *current = atomic_load_explicit(&recorder, memory_order_acquire);
    if (current == NULL) {
        return atomic_load_explicit(&hook->target, memory_order_relaxed);
    }
    return current(hook, regs);
}
