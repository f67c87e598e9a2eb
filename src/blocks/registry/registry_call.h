// SPDX-License-Identifier: Apache-2.0
/* Records calls of a block runtime, as hooks (probe_hook.h) see them, in the registry.
 *
 * Four functions make and end blocks. One is _Block_object_assign, which copies a captured block:
 * runtimes inline that copying, so hooking _Block_copy alone would miss it. Calls that may make a
 * block are made from here, because only their result tells; other calls are recorded first and
 * continue unchanged.
 *
 * If functions of a runtime call each other through hooked slots, the inner and the outer call
 * count once. Context: handler. */
#ifndef SONDE_REGISTRY_CALL_H
#define SONDE_REGISTRY_CALL_H

#include "probe_hook.h"
#include "record.h"
#include "registry.h"

/* Values of hook->function, in this order. */
enum sonde__registry_function {
    SONDE__REGISTRY_COPY,
    SONDE__REGISTRY_RELEASE,
    SONDE__REGISTRY_ASSIGN,
    SONDE__REGISTRY_DISPOSE,
    SONDE__REGISTRY_FUNCTIONS,
};
extern const char *const sonde__registry_functions[SONDE__REGISTRY_FUNCTIONS];

struct sonde__registry_calls {
    struct sonde__registry registry;
    struct sonde__record *record; /* its depot has the stacks */
    uint64_t (*now_ns)(void);     /* monotonic clock, safe in handlers */
};

/* Call in a fork child, whose thread has another id. */
void sonde__registry_forget_thread(void);

/* A sonde__probe_recorder: decides how a call continues. */
uint64_t sonde__registry_call(const struct sonde__registry_calls *calls,
                              const struct sonde__probe_hook *hook, const struct sonde__regs *regs);

#endif
