// SPDX-License-Identifier: Apache-2.0
/* Rebinding: calls of listed functions are led through the thunks of probe_hook.h, by writing the
 * slots through which the loaded objects call other objects.
 *
 * What is written: slots of the linkage table, of addresses taken, and static pointers that the
 * loader has set (JUMP_SLOT, GLOB_DAT, absolute), found by the function's address, so that another
 * name of it counts too; and where a slot is not bound yet, by listed names only. Each definition
 * of a function gets its own thunk: whoever would have called it, calls it. Methods of Objective-C
 * are hooked in their classes (hook_method.h).
 *
 * Invariant: a slot that is written held the target of its thunk, or would have been bound to it;
 * what is not certain is left alone and listed as blind. After sonde__hook_stop() each slot holds
 * its old value. Protections of pages stay as they are. Context: any thread, one at a time; not in
 * a handler, not in a callback of dl_iterate_phdr. */
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
    SONDE__HOOK_UNRESOLVED,  /* not bound yet, and several definitions could be meant */
    SONDE__HOOK_REFUSED,     /* the slot cannot be written: sealed */
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

/* Hook the functions `names`; hook->function of the thunks is the index in it. Objects that are
 * loaded now are swept. The library's own calls are left out, where it is a library. One set of
 * hooks at a time. Returns OK | BUSY (there is a set) | MEMORY. Release: sonde__hook_stop(). */
SONDE_NODISCARD enum sonde_status sonde__hook_start(const char *const *names, uint32_t count,
                                                    uint32_t flags, struct sonde__hooks **ret_hooks,
                                                    struct sonde_error *ret_error);

/* Sweep what was loaded since, and forget what was unloaded; of objects that were swept only the
 * slots that the loader has bound since are looked at, and those that could not be decided. Nothing
 * when the loader's counters stand. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__hook_sweep(struct sonde__hooks *hooks);

/* The first `front` and the last `back` thunks are the caller's, who has set their hooks: the
 * loader may know them under a function's name (record_page.h). Slots that it has bound to them
 * stay as they are; a function that one of them stands for is led there. Before
 * sonde__hook_start(). */
void sonde__hook_reserve(uint32_t front, uint32_t back);

/* What to call instead of `address`, as somebody was just told it (dlsym): the thunk of a listed
 * function, or `address`. */
uint64_t sonde__hook_lead(struct sonde__hooks *hooks, uint64_t address);

/* Hook those methods of the list (hook_method.h) whose classes are there by now; sweeps do not.
 * Returns how many are missing. May run beside a sweep, not beside itself. */
uint32_t sonde__hook_look_for_methods(struct sonde__hooks *hooks);

/* The methods of the list, and what became of each. */
struct sonde__hook_method;
const struct sonde__hook_method *sonde__hook_methods(const struct sonde__hooks *hooks,
                                                     uint32_t *ret_count);

/* Sweeps that looked at anything: what is asked below is as of the last of them. */
uint64_t sonde__hook_sweeps(const struct sonde__hooks *hooks);

/* Slots that lead to a thunk now. */
uint64_t sonde__hook_slots(const struct sonde__hooks *hooks);

/* What is not seen, as of the last sweep. Valid until the next one. */
const struct sonde__hook_blind *sonde__hook_blinds(const struct sonde__hooks *hooks,
                                                   size_t *ret_count);

/* Restore all slots and free the set. Thunks that somebody still holds pass straight on, for good.
 */
void sonde__hook_stop(struct sonde__hooks *hooks);

#endif
