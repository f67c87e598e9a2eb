// SPDX-License-Identifier: Apache-2.0
/* Counts a call for all that conditions and rules say. Handler code, as call.c. */
#include "clock.h"
#include "cost.h"
#include "probe_raw.h"
#include "record_v8.h"
#include "recorder.h"
#include "when_limit.h"
#include "when_value.h"

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

struct made {
    const struct sonde__regs *regs;
    uint32_t function;
    enum recorder_way way;
    uint32_t phase;
};

static uint32_t stack_of(const struct made *made)
{
    if (made->way == RECORDER_RAW_STRANGER) {
        return sonde__record_stranger_stack(recorder_record, made->regs);
    }
    struct sonde__script_page *page = &recorder_page->script;
    uint32_t native = sonde__record_stack(recorder_record, made->regs, 0);
    return sonde__record_script_stack(
        recorder_record, page, sonde__record_v8_stack(recorder_record, page, made->regs, native));
}

/* The labels of a phase begin at its number times their count. */
static uint32_t count_label(const struct made *made, uint32_t label, uint32_t stack)
{
    return sonde__record_count(recorder_record, label + made->phase * SONDE__RECORD_LABELS, stack,
                               made->way == RECORDER_RAW_STRANGER);
}

static __attribute__((noinline)) void keep_values(const struct sonde__when_entry *entry,
                                                  uint32_t number, const uint64_t *arguments)
{
    uint8_t value[SONDE__WHEN_VALUE];
    for (uint32_t i = 0; number != SONDE__RECORD_NO_NUMBER && i < entry->keep_count; i++) {
        size_t size = sonde__when_value(&recorder_when.keeps[entry->keep + i], arguments, value);
        (void)sonde__kept_add(&recorder_page->kept, number, i, value, size);
    }
}

/* Is a call that fulfils the condition one too many? */
static bool is_over_limit(const struct made *made, const struct sonde__when_entry *entry)
{
    return entry->limit != 0 &&
           (entry->phase == 0 || sonde__record_phase_is(recorder_phases, made->phase,
                                                        recorder_when.text + entry->phase - 1,
                                                        entry->before_phase != 0)) &&
           exceeds(entry->limit - 1u);
}

static uint64_t argument_of(const struct made *made, unsigned index)
{
    return made->way == RECORDER_BY_NAME     ? sonde__probe_hook_argument(made->regs, index)
           : made->way == RECORDER_BY_NUMBER ? sonde__probe_hook_argument(made->regs, index + 1)
                                             : sonde__probe_raw_argument(made->regs, index);
}

/* The stack is walked only for a call that counts. Not inlined: calls without conditions would pay
 * for its frame. */
static __attribute__((noinline)) void count_if(const struct made *made)
{
    uint64_t arguments[SONDE__WHEN_ARGUMENTS];
    uint32_t stack = SONDE__DEPOT_NONE, end = recorder_when.first[made->function + 1];
    bool has_stack = false;
    for (unsigned i = 0; i < SONDE__WHEN_ARGUMENTS; i++) {
        arguments[i] = argument_of(made, i);
    }
    for (uint32_t i = recorder_when.first[made->function]; i < end; i++) {
        const struct sonde__when_entry *entry = &recorder_when.entries[i];
        enum sonde__when_result result = sonde__when_holds(&recorder_when, entry->node, arguments);
        if (result == SONDE__WHEN_UNREAD) {
            atomic_fetch_add_explicit(&recorder_page->unread, 1, memory_order_relaxed);
        }
        if (result == SONDE__WHEN_YES) {
            stack = has_stack ? stack : stack_of(made);
            has_stack = true;
            uint32_t label = entry->label + is_over_limit(made, entry);
            uint32_t number = count_label(made, label, stack);
            if (entry->keep_count != 0) {
                keep_values(entry, number, arguments);
            }
        }
    }
}

static void count(const struct made *made)
{
    if (recorder_when.first[made->function] != recorder_when.first[made->function + 1]) {
        count_if(made);
        return;
    }
    (void)count_label(made, made->function, stack_of(made));
}

/* With rules: by phase. Their reports say what recording costs. */
static void count_and_measure(struct made *made)
{
    static __thread uint32_t calls;
    uint32_t weight = recorder_cost_weight(calls++);
    made->phase = sonde__record_phase_now(recorder_phases);
    uint64_t begin_ns = weight != 0 ? recorder_cost_now() : 0;
    count(made);
    if (weight != 0) {
        recorder_cost_add(weight, begin_ns);
    }
}

void recorder_count(const struct sonde__regs *regs, uint32_t function, enum recorder_way way)
{
    struct made made = {regs, function, way, 0};
    if (recorder_clock_ns != 0) {
        count_and_measure(&made);
    } else {
        count(&made);
    }
}
