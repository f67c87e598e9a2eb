// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "hook_method.h"
#include "hook_state.h"
#include "mem_heap.h"

void sonde__hook_add_blind_spot(struct sonde__hooks *hooks, uint32_t owner, const char *module,
                                const char *function, enum sonde__hook_reason reason)
{
    for (size_t i = 0; i < hooks->noted_count; i++) {
        const struct sonde__hook_noted *noted = &hooks->noted[i];
        if (noted->owner == owner && noted->blind.reason == reason &&
            noted->blind.function == function) {
            return;
        }
    }
    if (!sonde__mem_grow(&hooks->noted, hooks->noted_count, &hooks->noted_capacity,
                         sizeof hooks->noted[0])) {
        hooks->failed = true;
        return;
    }
    hooks->noted[hooks->noted_count++] =
        (struct sonde__hook_noted){{module, function, reason}, owner};
}

void sonde__hook_drop_blind_spots(struct sonde__hooks *hooks, uint32_t owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < hooks->noted_count; i++) {
        if (hooks->noted[i].owner != owner) {
            hooks->noted[kept++] = hooks->noted[i];
        }
    }
    hooks->noted_count = kept;
}

static void publish(struct sonde__hooks *hooks, const struct sonde__hook_blind *blind)
{
    if (!sonde__mem_grow(&hooks->blind_spots, hooks->blind_count, &hooks->blind_capacity,
                         sizeof hooks->blind_spots[0])) {
        hooks->failed = true;
        return;
    }
    hooks->blind_spots[hooks->blind_count++] = *blind;
}

static bool is_variable(const struct sonde__hooks *hooks, const char *function, size_t before)
{
    for (size_t i = 0; i < before; i++) {
        if (hooks->noted[i].blind.reason == SONDE__HOOK_NO_FUNCTION &&
            hooks->noted[i].blind.function == function) {
            return true;
        }
    }
    return false;
}

void sonde__hook_publish_blind_spots(struct sonde__hooks *hooks)
{
    struct sonde__hook_method_name method;
    hooks->blind_count = 0;
    for (size_t i = 0; i < hooks->noted_count; i++) {
        const struct sonde__hook_blind *blind = &hooks->noted[i].blind;
        if (blind->reason != SONDE__HOOK_NO_FUNCTION ||
            !is_variable(hooks, blind->function, i)) { /* once, whatever object it is of */
            publish(hooks, blind);
        }
    }
    for (uint32_t i = 0; i < hooks->count; i++) {
        const char *name = hooks->names[i];
        const struct sonde__hook_blind absent = {NULL, name, SONDE__HOOK_ABSENT};
        if (name != NULL && hooks->tally[i] == 0 && !sonde__hook_method_parse(name, &method) &&
            !sonde__hook_is_syscall(name) && !is_variable(hooks, name, hooks->noted_count)) {
            publish(hooks, &absent);
        }
    }
}
