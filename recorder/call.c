// SPDX-License-Identifier: Apache-2.0
/* The hot path: compiled as handler code, without vector registers, because they hold arguments of
 * the call. */
#include "recorder.h"

uint64_t recorder_call(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    uint64_t target = atomic_load_explicit(&hook->target, memory_order_relaxed);
    uint32_t function = hook->function;
    if (preload_page() == NULL || recorder_busy != 0) { /* a fork child, or a call of ours */
        return target;
    }
    if (function >= RECORDER_EVENT_FUNCTION) {
        function = recorder_event(function - RECORDER_EVENT_FUNCTION, regs);
        if (function == RECORDER_NONE) {
            return target;
        }
    }
    if (function == recorder_numbers.syscall_function && !recorder_count_syscall(regs)) {
        return target;
    }
    if (recorder_blocks.registry.memory != NULL) {
        return sonde__registry_call(&recorder_blocks, hook, regs);
    }
    recorder_count(regs, function, RECORDER_BY_NAME);
    return target;
}
