// SPDX-License-Identifier: Apache-2.0
/* Decides when to look for the classes of Objective-C methods.
 *
 * The constructor of a module registers its classes with the runtime (__objc_exec_class). The hook
 * sees only the start of that call. So it also hooks message lookups until the first one after the
 * constructor, when all classes are registered. We hold no lock of ours meanwhile: a thread inside
 * the runtime could wait for it. */
#include <sched.h>
#include <string.h>

#include "hook_method.h"
#include "hook_thunk.h"
#include "recorder.h"

/* The module whose classes are being loaded: its thread and stack pointer; and the number of
 * modules so far. */
static _Atomic uint64_t loading_thread, loading_sp, loads;
static _Atomic uint32_t is_looking;

_Static_assert((int)SONDE__RECORD_CLASS_BYTES == (int)SONDE__HOOK_CLASS_BYTES, "record_page.h");

static void show_states(void)
{
    uint32_t count = 0;
    const struct sonde__hook_method *methods = sonde__hook_methods(recorder_hooks, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__record_function *shown = &recorder_page->functions[methods[i].function];
        atomic_store(&shown->method, 1 + atomic_load(&methods[i].state));
        memcpy(shown->overrider, methods[i].overrider, sizeof shown->overrider - 1);
        atomic_store(&shown->overriders, methods[i].overriders);
    }
}

bool recorder_look_for_methods(void)
{
    uint32_t free = 0, count = 0;
    if (!atomic_compare_exchange_strong(&is_looking, &free, 1)) {
        return false;
    }
    (void)sonde__hook_methods(recorder_hooks, &count);
    if (count != 0) {
        recorder_busy++;
        (void)sonde__hook_look_for_methods(recorder_hooks);
        recorder_busy--;
        show_states();
    }
    atomic_store(&is_looking, 0);
    return count != 0;
}

void recorder_end_methods(void)
{
    (void)recorder_look_for_methods();
    for (uint32_t free = 0; !atomic_compare_exchange_strong(&is_looking, &free, 1); free = 0) {
        sched_yield(); /* another thread looks */
    }
}

static void see_lookups(bool on)
{
    sonde__hook_switch(RECORDER_EVENT_FUNCTION + SONDE__RECORD_OBJC_LOOKUP, on);
    sonde__hook_switch(RECORDER_EVENT_FUNCTION + SONDE__RECORD_OBJC_LOOKUP_SUPER, on);
}

void recorder_method_event(enum sonde__record_event event, const struct sonde__regs *regs)
{
    uint64_t thread = (uint64_t)(uintptr_t)&recorder_busy;
    uint64_t sp = regs->r[sonde__arch_sp(regs->arch)], loads_before = atomic_load(&loads);
    if (event == SONDE__RECORD_OBJC_LOAD) {
        atomic_store(&loading_sp, sp);
        atomic_store(&loading_thread, thread);
        atomic_fetch_add(&loads, 1);
        see_lookups(true);
        return;
    }
    /* a message sent by the constructor itself (+load) does not count: its module is not
     * complete */
    bool is_over = atomic_load(&loading_thread) == thread && sp >= atomic_load(&loading_sp);
    if (is_over) {
        see_lookups(false);
    }
    bool has_looked = recorder_look_for_methods();
    if (is_over && (!has_looked || atomic_load(&loads) != loads_before)) {
        see_lookups(true); /* another thread looks or loads */
    }
}
