// SPDX-License-Identifier: Apache-2.0
/* Records who calls functions given by name, and how often.
 *
 * No code is changed or generated. The symbol table entries by which the loader finds a function,
 * and the slots already bound to it, are pointed at the recorder. The recorder counts the call
 * under its stack in a depot (depot.h), then jumps to the function; arguments, result and return
 * address are unchanged, so any signature works. Calls that cannot be seen are listed.
 * `sonde run --record` does this for a whole program from its start. */
#ifndef SONDE_AUDIT_H
#define SONDE_AUDIT_H

#include <stdint.h>

#include "sonde/depot.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_audit;

/* Start to record the calls of functions, by all threads.
 *
 * depot      counts the calls; the label of a call is the function's index. It must live until
 *            sonde_audit_stop() and until no thread is in a call of a listed function any more
 * functions  function names as the loader knows them ("getenv"), and Objective-C methods with GNU's
 *            runtime ("-[Class selector]", "+[Class selector]"); copied
 * count      at most SONDE_AUDIT_LABELS / 2
 *
 * Returns    OK (also if a function does not exist: sonde_audit_blind_spots()) | USAGE | BUSY (one
 *            audit at a time in a process) | MEMORY
 * Context    any thread; not handler, not in a callback of dl_iterate_phdr      Blocks  for the
 *            loader's lock      Ownership  the caller's: sonde_audit_stop()
 * Example    examples/audit_calls.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_audit_start(struct sonde_depot *depot, const char *const *functions, uint32_t count,
                  struct sonde_audit **ret_audit, struct sonde_error *ret_error);

/* Hook objects and classes loaded since the last call, and forget unloaded ones. Ids of stacks with
 * unloaded code are not used again: code loaded in its place gets new ids. Call this after each
 * dlclose(), before the next dlopen(). If objects may have come and gone between two calls, all
 * stacks get new ids except those of code that has certainly stayed.
 *
 * Returns    OK | USAGE | MEMORY (some calls are not seen)
 * Context    as sonde_audit_start(), one call at a time      Blocks  for the loader's lock
 * Ownership  nothing is transferred
 * Example    examples/audit_calls.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_audit_refresh(struct sonde_audit *audit);

/* Calls that are not seen. */
struct sonde_audit_blind_spot {
    const char *image;    /* path; "" is the main program; null: none in particular */
    const char *function; /* null: any function */
    const char *why;
};

/* List the blind spots, as of the start or the last refresh.
 *
 * each  called for each; return 0 to continue, anything else to end
 *
 * Returns    OK | USAGE
 * Context    as sonde_audit_start(), one call at a time      Blocks  no
 * Ownership  the blind spot is valid during the call
 * Example    examples/audit_calls.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_audit_blind_spots(const struct sonde_audit *audit,
                        int (*each)(void *ctx, const struct sonde_audit_blind_spot *blind),
                        void *ctx);

/* Stop recording. Slots, methods and page protection are restored. A function pointer that the
 * program took meanwhile stays valid and calls the function directly.
 *
 * audit  may be null
 *
 * Context    as sonde_audit_start()      Blocks  for the loader's lock
 * Ownership  frees the audit; the depot and what was counted stay
 * Example    examples/audit_calls.c */
SONDE_API void sonde_audit_stop(struct sonde_audit *audit);

#ifdef __cplusplus
}
#endif

#endif
