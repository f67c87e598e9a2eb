// SPDX-License-Identifier: Apache-2.0
/* The hot path: compiled as handler code, without vector registers, because they hold arguments of
 * the call. */
#include "recorder.h"

uint64_t recorder_call(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    uint64_t target = atomic_load_explicit(&hook->target, memory_order_relaxed);
    uint32_t function = hook->function;
    if (recorder_busy != 0) { /* a call of ours */
        return target;
    }
    bool is_event = function >= RECORDER_EVENT_FUNCTION;
    if (is_event && recorder_redirect != NULL) {
        target = recorder_redirect(function - RECORDER_EVENT_FUNCTION, target);
    }
    if (preload_page() == NULL && (recorder_join == NULL || !recorder_join())) {
        return target; /* a fork child */
    }
    if (is_event) {
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
