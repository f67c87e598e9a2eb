// SPDX-License-Identifier: Apache-2.0
/* Records who calls functions given by name, and how often.
 *
 * No code is changed or generated. The symbol table entries by which the loader finds a function,
 * and the slots already bound to it, are pointed at the recorder. The recorder counts the call
 * under its stack in a depot (depot.h), then jumps to the function; arguments, result and return
 * address are unchanged, so any signature works. Calls that cannot be seen are listed.
 * `sonde run --record` does this for a whole program from its start. sonde_audit_begin() takes
 * rules instead of names, and writes the report of `sonde run --audit`. */
#ifndef SONDE_AUDIT_H
#define SONDE_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/depot.h"
#include "sonde/status.h"
#include "sonde/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_audit;

/* Start to record the calls of functions, by all threads.
 *
 * depot      counts the calls; the label of a call is the function's index. It must live until
 *            sonde_audit_stop() and until no thread is in a call of a listed function any more
 * functions  function names as the loader knows them ("getenv"), and Objective-C methods with GNU's
 *            or Apple's runtime ("-[Class selector]", "+[Class selector]"); copied
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

/* --- an audit by rules, without a launcher --- */

/* What a new call is about: a rule's function, called from a stack of the program's own frames that
 * did not call it before. */
struct sonde_audit_found {
    size_t struct_bytes;
    const char *rule, *pack, *category, *message; /* of the rule; "": none */
    uint32_t severity;                            /* enum sonde_audit_severity */
    const char *function;
    const char *callers; /* "save_all < main": the program's own frames, innermost first */
    const char *phase;   /* "": before the first phase */
    const char *sdk;     /* "": none */
    uint64_t tid;        /* 0: not known, or several */
};

enum sonde_audit_severity {
    SONDE_AUDIT_NOTE = 1,
    SONDE_AUDIT_WARNING = 2,
    SONDE_AUDIT_ERROR = 3,
};

/* Zero is the default of every member. Texts are copied. */
struct sonde_audit_options {
    size_t struct_bytes; /* sizeof(struct sonde_audit_options) */
    /* The path of a report, as of `sonde run --audit --report`; created, or emptied, when the audit
     * has begun, and written when it is finished. Null: none. */
    const char *report;
    const char *build;                  /* the program's build, for the report; or null */
    const char *device;                 /* an id of this machine, for the report; or null */
    const struct sonde_watch_tag *tags; /* for the report's header; at most 64 */
    uint32_t tag_count;
    const char *phase; /* that has begun already (sonde_watch_phase()); or null */
    uint32_t consent;  /* enum sonde_consent (sonde/note.h) of that phase */
    /* Called for each new call on a thread of the audit, up to a quarter of a second later. Or
     * null. */
    void (*on_found)(void *ctx, const struct sonde_audit_found *found);
    void *ctx;
    /* Called for each line that `sonde run --audit` prints of the whole run when the audit is
     * finished, on the thread that finishes it: number of calls, cost, functions that are not seen.
     * The lines are in the report, too. Or null. */
    void (*on_line)(void *ctx, const char *line);
    /* A spool folder as that of `sonde run --spool`; created if missing. It gets a report of this
     * run. Until then a file there has the counts, as of less than a second ago: they survive any
     * end of the app, and the next start that uses the folder (this one, sonde_watch_start(),
     * `sonde spool finish`) makes a report of it. Null: none. */
    const char *spool;
};

struct sonde_audit_run;

/* Start an audit of this process by compiled rules, as `sonde run --audit` does it from outside:
 * counts, stacks, conditions, phases and limits are the same. Calls made before are not seen, and
 * neither are those by pointers that the program took before with dlsym().
 *
 * rules    a file that `sonde audit compile -o` wrote, in memory; it need not stay
 * options  report, spool or on_found must be given. The argument of on_found is valid during the
 *          call. A callback must not finish the audit
 *
 * With on_found or spool the audit has a thread, which blocks all signals, looks up the names of
 * new stacks and writes the file in the spool folder; what it calls itself is not counted. On Linux
 * a descriptor stays open, by which `sonde mark` begins phases. A fork child is not recorded. An
 * audit runs once in the life of a process, because a thread may be inside of it when it is
 * finished: some memory is never given back (550 MiB of addresses, of which 1.3 MB and what was
 * counted are in memory).
 *
 * Returns    OK | USAGE | CORRUPT (these are no rules; ret_error->at is an offset) | LIMIT |
 *            UNSUPPORTED (rules of another version of sonde) | BUSY
 *            (sonde_audit_start() runs, or an audit has run) | MEMORY | DENIED, OS and LIMIT (the
 *            report, the spool folder, the thread)
 * Context    any thread; not handler, not in a callback of dl_iterate_phdr      Blocks  for the
 *            loader's lock, and while the symbols of all libraries are read: some 10 ms
 * Ownership  the caller's: sonde_audit_finish()
 * Example    examples/audit_rules.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_audit_begin(const void *rules, size_t size_bytes, const struct sonde_audit_options *options,
                  struct sonde_audit_run **ret_run, struct sonde_error *ret_error);

/* Finish the audit: report what is new, write the report, restore what was hooked. An app that ends
 * without it has no report but that of a spool folder. In a fork child it does nothing.
 *
 * run  may be null
 *
 * Returns    OK | OS (the report could not be written) | MEMORY (it is not complete)
 * Context    as sonde_audit_begin(); not in a callback of the audit      Blocks  until names are
 *            looked up and the report is written: up to some seconds
 * Ownership  frees the run
 * Example    examples/audit_rules.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_audit_finish(struct sonde_audit_run *run,
                                                               struct sonde_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
