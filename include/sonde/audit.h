// SPDX-License-Identifier: Apache-2.0
/* Calls of functions by their names: who calls them, and how often.
 *
 * No code is changed and none is made: the entries of symbol tables by which the loader finds the
 * functions, and the slots that it has bound to them already, are led to the recorder, which counts
 * the call under its stack in a depot (depot.h) and goes on to the function. Its arguments, result
 * and caller are as without, whatever its signature. What cannot be seen is listed. `sonde run
 * --record` does this for a whole program from its start.
 */
#ifndef SONDE_AUDIT_H
#define SONDE_AUDIT_H

#include <stdint.h>

#include "sonde/depot.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_audit;

/* Record the calls of functions, from now on, of all threads.
 *
 * depot      where they are counted; the label of a call is the function's index. Must live until
 *            sonde_audit_stop() and until no thread is in a listed function's call any more
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

/* Look at the objects and the classes that were loaded since, and forget those that are gone: ids
 * of stacks with their code are not given again, so that what is loaded in their place has its own.
 * Call it after each dlclose(), before the next dlopen(): what came and went between two calls
 * makes the ids of all that is not certain to have stayed be given anew, too.
 *
 * Returns    OK | USAGE | MEMORY (some calls are not seen)
 * Context    as sonde_audit_start(), one call at a time      Blocks  for the loader's lock
 * Ownership  nothing is transferred
 * Example    examples/audit_calls.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_audit_refresh(struct sonde_audit *audit);

/* What is not seen, as of the last look. */
struct sonde_audit_blind_spot {
    const char *image;    /* path; "" is the main program; null: none in particular */
    const char *function; /* null: any function */
    const char *why;
};

/* each  called for each; a false ends it
 *
 * Returns    OK | USAGE
 * Context    as sonde_audit_start(), one call at a time      Blocks  no
 * Ownership  the blind spot is valid during the call
 * Example    examples/audit_calls.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_audit_blind_spots(const struct sonde_audit *audit,
                        int (*each)(void *ctx, const struct sonde_audit_blind_spot *blind),
                        void *ctx);

/* Record nothing more. Every slot and every method leads where it did, pages are protected as they
 * were; whoever has taken an address meanwhile goes straight on to the function, for good.
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
