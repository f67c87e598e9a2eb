// SPDX-License-Identifier: Apache-2.0
/* Records calls of a block runtime, as hooks (probe_hook.h) see them, in the registry.
 *
 * Four functions make and end blocks. _Block_object_assign makes one, too, where a block captures
 * another: runtimes inline the copying there, so hooking _Block_copy alone misses those. A call
 * that may make a block is made from here, since only its result says whether it did; all others
 * are recorded first and continue unchanged.
 *
 * Where functions of a runtime call each other through hooked slots, the inner and the outer call
 * are one event and are counted once. Context: handler. */
#ifndef SONDE_REGISTRY_CALL_H
#define SONDE_REGISTRY_CALL_H

#include "probe_hook.h"
#include "record.h"
#include "registry.h"

/* hook->function of the hooks, in this order. */
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
    struct sonde__record *record; /* whose depot has the stacks */
    uint64_t (*now_ns)(void);     /* monotonic clock; handler code */
};

/* In a fork child: the thread has another id. */
void sonde__registry_forget_thread(void);

/* A sonde__probe_recorder: what to do about a call. */
uint64_t sonde__registry_call(const struct sonde__registry_calls *calls,
                              const struct sonde__probe_hook *hook, const struct sonde__regs *regs);

#endif
