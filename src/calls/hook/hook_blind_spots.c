// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "hook_method.h"
#include "hook_state.h"
#include "mem_heap.h"

void sonde__hook_add_blind_spot(struct sonde__hooks *hooks, const struct sonde__hook_known *owner,
                                const char *module, const char *function,
                                enum sonde__hook_reason reason)
{
    uint32_t id = owner != NULL ? owner->id : 0;
    for (size_t i = 0; i < hooks->said_count; i++) {
        const struct sonde__hook_said *said = &hooks->said[i];
        if (said->owner == id && said->blind.reason == reason && said->blind.function == function) {
            return;
        }
    }
    if (!sonde__mem_grow(&hooks->said, hooks->said_count, &hooks->said_capacity,
                         sizeof hooks->said[0])) {
        hooks->failed = true;
        return;
    }
    hooks->said[hooks->said_count++] = (struct sonde__hook_said){{module, function, reason}, id};
}

void sonde__hook_unsay(struct sonde__hooks *hooks, uint32_t owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < hooks->said_count; i++) {
        if (hooks->said[i].owner != owner) {
            hooks->said[kept++] = hooks->said[i];
        }
    }
    hooks->said_count = kept;
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
        if (hooks->said[i].blind.reason == SONDE__HOOK_NO_FUNCTION &&
            hooks->said[i].blind.function == function) {
            return true;
        }
    }
    return false;
}

void sonde__hook_publish_blind_spots(struct sonde__hooks *hooks)
{
    struct sonde__hook_method_name method;
    hooks->blind_count = 0;
    for (size_t i = 0; i < hooks->said_count; i++) {
        const struct sonde__hook_blind *blind = &hooks->said[i].blind;
        if (blind->reason != SONDE__HOOK_NO_FUNCTION ||
            !is_variable(hooks, blind->function, i)) { /* once, whoever has it */
            publish(hooks, blind);
        }
    }
    for (uint32_t i = 0; i < hooks->count; i++) {
        const char *name = hooks->names[i];
        const struct sonde__hook_blind absent = {NULL, name, SONDE__HOOK_ABSENT};
        if (name != NULL && hooks->tally[i] == 0 && !sonde__hook_method_parse(name, &method) &&
            !sonde__hook_is_syscall(name) && !is_variable(hooks, name, hooks->said_count)) {
            publish(hooks, &absent);
        }
    }
}
