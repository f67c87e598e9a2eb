// SPDX-License-Identifier: Apache-2.0
/* Rebinding: calls of listed functions are led through the thunks of probe_hook.h.
 *
 * What is led is the definition: the entry of the symbol table by which the loader finds a function
 * has the thunk's address from then on, so that whatever the loader binds or answers later (slots
 * of lazy binding, objects that come, their constructors, dlsym) is bound by its own rules, with
 * versions and scopes as they are, and each definition has a thunk of its own. Slots that were
 * bound before (JUMP_SLOT, GLOB_DAT, absolute) are written, where one holds the address of a
 * definition with the name of its symbol; other names of a function in its object count, too.
 * Methods of Objective-C are hooked in their classes (hook_method.h).
 *
 * Invariant: what is written held the target of its thunk; what is not certain is left alone and
 * listed as blind. After sonde__hook_stop() entries and slots lead to where they would. Protections
 * of pages stay as they are. Context: any thread, one at a time; not in a handler, not in a
 * callback of dl_iterate_phdr. */
#ifndef SONDE_HOOK_H
#define SONDE_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

struct sonde__hooks;

/* Why calls are not seen. */
enum sonde__hook_reason {
    SONDE__HOOK_ABSENT,      /* no loaded object defines it; no module */
    SONDE__HOOK_NO_FUNCTION, /* a variable has this name; no module */
    SONDE__HOOK_INSIDE,      /* it is defined there; calls inside may be direct */
    SONDE__HOOK_STATIC,      /* the module is not dynamically linked; no function */
    SONDE__HOOK_LATE,        /* its module was loaded later: calls before the sweep are not seen */
    SONDE__HOOK_REFUSED,     /* the slot or the symbol cannot be written: sealed */
    SONDE__HOOK_FULL,        /* no thunk is left */
    SONDE__HOOK_ASKS,        /* the module asks for addresses itself (dlsym); no function */
    SONDE__HOOK_OTHER_SPACE, /* the module loads into other namespaces (dlmopen); no function */
};

/* For people; a number that is none is "unknown". */
const char *sonde__hook_reason_text(uint32_t reason);

struct sonde__hook_blind {
    const char *module;   /* path; "" is the main program; null: none */
    const char *function; /* null: any */
    enum sonde__hook_reason reason;
};

/* Tests: write without /proc/self/mem. */
#define SONDE__HOOK_NO_MEM 1u
/* No other code of the process ran before: nobody has asked for an address yet. */
#define SONDE__HOOK_FIRST 2u

/* Hook the functions `names`, of which some may be null; hook->function of the thunks is the index
 * in it. "name@VERSION" is that version, a name each. Objects that are loaded now are swept. The
 * library's own calls are left out, where it is a library. One set of hooks at a time. Returns OK |
 * BUSY (there is a set) | MEMORY. Release: sonde__hook_stop(). */
SONDE_NODISCARD enum sonde_status sonde__hook_start(const char *const *names, uint32_t count,
                                                    uint32_t flags, struct sonde__hooks **ret_hooks,
                                                    struct sonde_error *ret_error);

/* Sweep what was loaded since, and forget what was unloaded. Nothing when the loader's counters
 * stand. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__hook_sweep(struct sonde__hooks *hooks);

/* Hook those methods of the list (hook_method.h) whose classes are there by now; sweeps do not.
 * Returns how many are missing. May run beside a sweep, not beside itself. */
uint32_t sonde__hook_look_for_methods(struct sonde__hooks *hooks);

/* The methods of the list, and what became of each. */
struct sonde__hook_method;
const struct sonde__hook_method *sonde__hook_methods(const struct sonde__hooks *hooks,
                                                     uint32_t *ret_count);

/* Sweeps that looked at anything: what is asked below is as of the last of them. */
uint64_t sonde__hook_sweeps(const struct sonde__hooks *hooks);

/* What is not seen, as of the last sweep. Valid until the next one. */
const struct sonde__hook_blind *sonde__hook_blind_spots(const struct sonde__hooks *hooks,
                                                        size_t *ret_count);

/* Restore all slots and free the set. Thunks that somebody still holds pass straight on, for good.
 */
void sonde__hook_stop(struct sonde__hooks *hooks);

#endif
