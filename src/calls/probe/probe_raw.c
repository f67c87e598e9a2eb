// SPDX-License-Identifier: Apache-2.0
#include "probe_raw.h"

#include <stdatomic.h>
#include <stddef.h>

#include "arch_raw_site.h"

static sonde__probe_raw_recorder *_Atomic recorder;

_Static_assert(offsetof(struct sonde__raw_words, call_end) == 0 &&
                   offsetof(struct sonde__raw_words, resume) == 8 &&
                   offsetof(struct sonde__regs, pc) == 280 &&
                   offsetof(struct sonde__regs, known) == 288 &&
                   offsetof(struct sonde__regs, arch) == 296 && sizeof(struct sonde__regs) == 304,
               "probe_raw.S");

void sonde__probe_raw_set_recorder(sonde__probe_raw_recorder *now)
{
    atomic_store_explicit(&recorder, now, memory_order_release);
}

uint64_t sonde__probe_raw_number(const struct sonde__regs *regs)
{
    return regs->r[regs->arch == SONDE_ARCH_X86_64 ? 0 : 8];
}

uint64_t sonde__probe_raw_argument(const struct sonde__regs *regs, unsigned index)
{
    static const uint8_t x86_64[] = {5, 4, 1, 10, 8, 9};
    return regs->r[regs->arch == SONDE_ARCH_X86_64 ? x86_64[index] : index];
}

void sonde__probe_raw_enter(const struct sonde__regs *regs)
{
    sonde__probe_raw_recorder *current = atomic_load_explicit(&recorder, memory_order_acquire);
    if (current != NULL) {
        current(regs);
    }
}
