// SPDX-License-Identifier: Apache-2.0
#include "hook.h"

#include <stdatomic.h>

#include "base_status.h"
#include "hook_method.h"
#include "hook_state.h"
#include "hook_thunk.h"
#include "mem_heap.h"
#include "probe_hook.h"

static struct sonde__hooks *current;
static void (*_Atomic on_loaded)(void);

void sonde__hook_set_loaded(void (*loaded)(void))
{
    atomic_store(&on_loaded, loaded);
}

void sonde__hook_tell_loaded(void)
{
    void (*loaded)(void) = atomic_load(&on_loaded);
    if (loaded != NULL) {
        loaded();
    }
}

enum sonde_status sonde__hook_sweep(struct sonde__hooks *hooks)
{
    if (hooks->is_swept && !sonde__hook_port_is_changed(hooks)) {
        return SONDE_OK;
    }
    sonde__hook_port_sweep(hooks);
    sonde__hook_publish_blind_spots(hooks);
    hooks->sweeps++;
    return hooks->failed ? SONDE_MEMORY : SONDE_OK;
}

static bool list_methods(struct sonde__hooks *hooks)
{
    struct sonde__hook_method_name method;
    hooks->methods = sonde__mem_alloc_array(hooks->count, sizeof *hooks->methods);
    for (uint32_t i = 0; hooks->methods != NULL && i < hooks->count; i++) {
        if (hooks->names[i] != NULL && sonde__hook_method_parse(hooks->names[i], &method)) {
            hooks->methods[hooks->method_count++] =
                (struct sonde__hook_method){.name = hooks->names[i], .function = i};
        }
    }
    return hooks->methods != NULL;
}

static uint64_t thunk_of(uint64_t target, uint32_t function)
{
    uint32_t index;
    return sonde__hook_thunk_of(target, function, &index) ? sonde__probe_hook_thunk(index) : 0;
}

uint32_t sonde__hook_look_for_methods(struct sonde__hooks *hooks)
{
    uint32_t missing = sonde__hook_methods_look(hooks->methods, hooks->method_count, thunk_of);
    sonde__hook_overrides_look(hooks->methods, hooks->method_count);
    return missing;
}

const struct sonde__hook_method *sonde__hook_methods(const struct sonde__hooks *hooks,
                                                     uint32_t *ret_count)
{
    *ret_count = hooks->method_count;
    return hooks->methods;
}

enum sonde_status sonde__hook_start(const char *const *names, uint32_t count, uint32_t flags,
                                    struct sonde__hooks **ret_hooks, struct sonde_error *ret_error)
{
    if (current != NULL) {
        return sonde__base_fail(ret_error, SONDE_BUSY, "functions are hooked already", NULL, 0, 0);
    }
    struct sonde__hooks *hooks = sonde__mem_alloc_zeroed(sizeof *hooks);
    if (hooks == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for hooks", NULL, 0, 0);
    }
    hooks->names = names;
    hooks->count = count;
    hooks->flags = flags;
    hooks->tally = sonde__mem_alloc_zeroed(count * sizeof hooks->tally[0]);
    hooks->port = sonde__hook_port_create();
    current = hooks;
    if (hooks->tally == NULL || hooks->port == NULL || !list_methods(hooks) ||
        sonde__hook_sweep(hooks) != SONDE_OK) {
        sonde__hook_stop(hooks);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for hooks", NULL, 0, 0);
    }
    *ret_hooks = hooks;
    return SONDE_OK;
}

bool sonde__hook_runs(void)
{
    return current != NULL;
}

uint64_t sonde__hook_sweeps(const struct sonde__hooks *hooks)
{
    return hooks->sweeps;
}

const struct sonde__hook_blind *sonde__hook_blind_spots(const struct sonde__hooks *hooks,
                                                        size_t *ret_count)
{
    *ret_count = hooks->blind_count;
    return hooks->blind_spots;
}

void sonde__hook_stop(struct sonde__hooks *hooks)
{
    sonde__hook_port_destroy(hooks);
    sonde__hook_methods_restore(hooks->methods, hooks->method_count);
    sonde__hook_switch(SONDE__HOOK_ALL, false);
    sonde__mem_free(hooks->methods);
    sonde__mem_free(hooks->tally);
    sonde__mem_free(hooks->noted);
    sonde__mem_free(hooks->blind_spots);
    sonde__mem_free(hooks);
    current = NULL;
}
