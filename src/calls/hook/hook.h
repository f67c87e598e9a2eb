// SPDX-License-Identifier: Apache-2.0
/* Rebinding: calls of listed functions go through the thunks of probe_hook.h.
 *
 * The definition is patched: the symbol table entry by which the loader finds a function gets the
 * address of a thunk. Whatever the loader binds later (lazy slots, new objects and their
 * constructors, dlsym) it binds by its own rules of version and scope, and each definition has its
 * own thunk. Slots bound before (JUMP_SLOT, GLOB_DAT, absolute) are patched where they hold the
 * address of a definition under the name of its symbol, or under another name in the same object.
 * Objective-C methods are hooked in their classes (hook_method.h).
 *
 * Invariant: a patched word held the target of its thunk. What is not certain is left alone and
 * listed as a blind spot. sonde__hook_stop() restores every word. Page protections do not change.
 * Context: any thread, one at a time; not in a handler, not in a callback of dl_iterate_phdr. */
#ifndef SONDE_HOOK_H
#define SONDE_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

struct sonde__hooks;

/* Why calls cannot be seen. */
enum sonde__hook_reason {
    SONDE__HOOK_ABSENT,      /* no loaded object defines it; no module */
    SONDE__HOOK_NO_FUNCTION, /* a variable has this name; no module */
    SONDE__HOOK_INSIDE,      /* it is defined there; calls within the module may be direct */
    SONDE__HOOK_STATIC,      /* the module is not dynamically linked; no function */
    SONDE__HOOK_LATE,        /* its module was loaded later: calls before the sweep are not seen */
    SONDE__HOOK_REFUSED,     /* the slot or the symbol cannot be written: sealed */
    SONDE__HOOK_FULL,        /* no thunk is left */
    SONDE__HOOK_ASKS,        /* the module looks addresses up itself (dlsym); no function */
    SONDE__HOOK_OTHER_SPACE, /* the module loads into other namespaces (dlmopen); no function */
    SONDE__HOOK_UNREADABLE,  /* the module's file, which lists its slots, cannot be read; no
                                function */
    SONDE__HOOK_OVERWRITTEN, /* the loader bound the slot after it was hooked: calls until the next
                                sweep are not seen */
};

/* As text; "unknown" for an invalid number. */
const char *sonde__hook_reason_text(uint32_t reason);

struct sonde__hook_blind {
    const char *module;   /* path; "" is the main program; null: none */
    const char *function; /* null: any */
    enum sonde__hook_reason reason;
};

/* For tests: patch by changing page protections. */
#define SONDE__HOOK_NO_MEM 1u
/* No other code of the process has run: nobody has looked up an address yet. */
#define SONDE__HOOK_FIRST 2u

/* Hook the functions `names`; entries may be null. hook->function of a thunk is the index in it.
 * "name@VERSION" means that version, "name" every one. Sweeps the objects that are loaded. Calls by
 * the library itself are not hooked. One set of hooks at a time. Returns OK | BUSY (there is a set)
 * | MEMORY. Release: sonde__hook_stop(). */
SONDE_NODISCARD enum sonde_status sonde__hook_start(const char *const *names, uint32_t count,
                                                    uint32_t flags, struct sonde__hooks **ret_hooks,
                                                    struct sonde_error *ret_error);

/* Sweep what was loaded since, forget what was unloaded. Does nothing while the loader's counters
 * are the same. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__hook_sweep(struct sonde__hooks *hooks);

/* Hook the listed methods (hook_method.h) whose classes are loaded by now; sweeps do not.
 * Returns how many are missing. May run beside a sweep, not beside itself. */
uint32_t sonde__hook_look_for_methods(struct sonde__hooks *hooks);

/* The methods of the list, and what became of each. */
struct sonde__hook_method;
const struct sonde__hook_method *sonde__hook_methods(const struct sonde__hooks *hooks,
                                                     uint32_t *ret_count);

/* Where the loader tells each load (Darwin): what to call when images were loaded whose code has
 * not run yet, on the thread that loads them, which has the loader's lock. It must not wait for a
 * thread that sweeps: that one may wait for the loader. Null: nothing. */
void sonde__hook_set_loaded(void (*loaded)(void));

/* Number of sweeps that looked at anything. Blind spots are as of the last one. */
uint64_t sonde__hook_sweeps(const struct sonde__hooks *hooks);

/* Calls that are not seen, as of the last sweep. Valid until the next one. */
const struct sonde__hook_blind *sonde__hook_blind_spots(const struct sonde__hooks *hooks,
                                                        size_t *ret_count);

/* Restore everything and free the set. Thunks that the program still holds keep working for
 * ever: they jump straight to their target. */
void sonde__hook_stop(struct sonde__hooks *hooks);

/* The image of the library that this code is a part of, to its last data. False: it is a part of
 * the program. */
bool sonde__hook_own_image(uint64_t *ret_start, uint64_t *ret_end);

/* Are functions hooked by sonde__hook_start()? */
bool sonde__hook_runs(void);

#endif
