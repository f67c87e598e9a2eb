// SPDX-License-Identifier: Apache-2.0
/* The hot path: compiled as handler code, without vector registers, because they hold arguments of
 * the call. */
#include "clock.h"
#include "cost.h"
#include "recorder.h"
#include "when_limit.h"

static struct sonde__when_times times;

/* Does this call exceed the limit? */
static bool exceeds(uint32_t index)
{
    recorder_busy++;
    uint64_t now = preload_precise_ns();
    recorder_busy--;
    if (!sonde__when_exceeds(&recorder_when, index, &times, now)) {
        return false;
    }
    struct sonde__record_exceeded *exceeded = &recorder_page->exceeded[index];
    uint64_t none = 0;
    (void)atomic_compare_exchange_strong_explicit(&exceeded->first_ns, &none, now,
                                                  memory_order_relaxed, memory_order_relaxed);
    atomic_store_explicit(&exceeded->last_ns, now, memory_order_relaxed);
    return true;
}

/* The stack is walked only for a call that counts. Not inlined: calls without conditions would pay
 * for its frame. */
__attribute__((noinline)) static void count_if(const struct sonde__regs *regs, uint32_t function,
                                               uint32_t phase)
{
    uint64_t arguments[SONDE__WHEN_ARGUMENTS];
    uint32_t stack = SONDE__DEPOT_NONE;
    bool has_stack = false;
    for (unsigned i = 0; i < SONDE__WHEN_ARGUMENTS; i++) {
        arguments[i] = sonde__probe_hook_argument(regs, i);
    }
    for (uint32_t i = recorder_when.first[function]; i < recorder_when.first[function + 1]; i++) {
        const struct sonde__when_entry *entry = &recorder_when.entries[i];
        enum sonde__when_result result = sonde__when_holds(&recorder_when, entry->node, arguments);
        if (result == SONDE__WHEN_UNREAD) {
            atomic_fetch_add_explicit(&recorder_page->unread, 1, memory_order_relaxed);
        }
        if (result == SONDE__WHEN_YES) {
            stack = has_stack ? stack : sonde__record_stack(recorder_record, regs, 0);
            has_stack = true;
            bool is_over = entry->limit != 0 && exceeds(entry->limit - 1u);
            (void)sonde__record_call(recorder_record, entry->label + is_over + phase, stack);
        }
    }
}

/* phase: the current one's labels begin there */
static void count(const struct sonde__regs *regs, uint32_t function, uint32_t phase)
{
    if (recorder_when.first[function] != recorder_when.first[function + 1]) {
        count_if(regs, function, phase);
        return;
    }
    uint32_t stack = sonde__record_stack(recorder_record, regs, 0);
    (void)sonde__record_call(recorder_record, function + phase, stack);
}

/* With rules: by phase. Their reports say what recording costs. */
static void count_and_measure(const struct sonde__regs *regs, uint32_t function)
{
    static __thread uint32_t calls;
    uint32_t weight = recorder_cost_weight(calls++);
    uint32_t phase = sonde__record_phase_now(&recorder_page->phases) * SONDE__RECORD_LABELS;
    uint64_t begin_ns = weight != 0 ? recorder_cost_now() : 0;
    count(regs, function, phase);
    if (weight != 0) {
        recorder_cost_add(weight, begin_ns);
    }
}

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
    if (recorder_clock_ns != 0) {
        count_and_measure(regs, function);
    } else {
        count(regs, function, 0);
    }
    return target;
}
