// SPDX-License-Identifier: Apache-2.0
/* Who calls functions, by their names, and how often.
 *
 * No code is changed or generated. The symbol table entries by which the loader finds a function,
 * and the slots that it has already bound to it, are pointed at the recorder. The recorder counts
 * the call under its stack in a depot (depot.h) and goes on to the function, whose arguments,
 * result and caller stay the same, whatever its signature. Calls that cannot be seen are listed.
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
 * functions  names of functions as the loader knows them ("getenv"), and of methods of Objective-C
 *            with GNU's runtime ("-[Class selector]", "+[Class selector]"); copied
 * count      at most SONDE_AUDIT_LABELS / 2
 *
 * Returns    OK (also where there is no such function: sonde_audit_blind_spots()) | USAGE | BUSY (one
 *            audit at a time in a process) | MEMORY
 * Context    any thread; not handler, not in a callback of dl_iterate_phdr      Blocks  for the
 *            loader's lock      Ownership  the caller's: sonde_audit_stop()
 * Example    examples/audit_calls.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_audit_start(struct sonde_depot *depot, const char *const *functions, uint32_t count,
                  struct sonde_audit **ret_audit, struct sonde_error *ret_error);

/* Hook the objects and classes that were loaded since, and forget those that are gone. Ids of
 * stacks with code that is gone are not used again, so what is loaded in its place gets new ids.
 * Call this after each dlclose(), before the next dlopen(): if objects may have come and gone
 * between two calls, all stacks get new ids but those of code that has certainly stayed.
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

/* Stop recording. Slots, methods and page protection are restored. An address that the program took
 * meanwhile stays valid: it leads straight to the function.
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
