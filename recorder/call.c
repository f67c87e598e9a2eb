// SPDX-License-Identifier: Apache-2.0
/* The recorder's hot half: compiled as handler code, without vector registers, which still hold
 * arguments of the call. */
#include "recorder.h"

uint64_t recorder_call(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    if (preload_page() == NULL) { /* a fork child */
        return atomic_load_explicit(&hook->target, memory_order_relaxed);
    }
    if (hook->function >= RECORDER_EVENT_FUNCTION) {
        return recorder_event(hook, regs);
    }
    if (atomic_load_explicit(&recorder_own_thread, memory_order_relaxed) ==
        (uint64_t)(uintptr_t)&recorder_self) {
        return atomic_load_explicit(&hook->target, memory_order_relaxed);
    }
    if (hook->function == recorder_numbers.syscall_function && !recorder_count_syscall(regs)) {
        return atomic_load_explicit(&hook->target, memory_order_relaxed);
    }
    if (recorder_blocks.registry.memory != NULL) {
        return sonde__registry_call(&recorder_blocks, hook, regs);
    }
    uint32_t stack = sonde__record_stack(recorder_record, regs, 0);
    (void)sonde__record_call(recorder_record, hook->function, stack);
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}
