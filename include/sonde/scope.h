// SPDX-License-Identifier: Apache-2.0
/* Deadlines for parts of a program, for the watch of this process (sonde/watch.h).
 *
 * A scope is a part of a thread's work that has a deadline: handling a request, a frame, a pool's
 * task. A scope not left by its deadline is a stall: the report has its label, how long it took,
 * and what the thread did. Scopes may be nested; each has its own deadline, and an inner scope does
 * not move those of outer ones. */
#ifndef SONDE_SCOPE_H
#define SONDE_SCOPE_H

#include <stdint.h>

#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shorter limits are raised to this: scopes are timed by a clock that advances every 4 to 10 ms. */
#define SONDE_SCOPE_LIMIT_MIN_NS 20000000u
#define SONDE_SCOPE_LEVELS       8u

/* Enter a scope on the calling thread.
 *
 * Enter and leave cost some ns, take no lock, allocate nothing and preserve errno. A thread's first
 * scope makes a system call (gettid); so does the first scope after two seconds without any work,
 * to wake the watch. Without a watch they do nothing; a scope entered before the watch began is not
 * timed. Scopes nested deeper than SONDE_SCOPE_LEVELS, and those of more than 256 threads at a
 * time, are not timed; reports do not show that yet.
 *
 * Scopes inside a stalled one are still timed. Time reported for an inner scope does not make outer
 * ones stalls as well: one hang is one report.
 *
 * label     must live as long as the program: a string literal. The report shows 64 bytes of it
 * limit_ns  how long it may take
 *
 * Returns    the scope, for sonde_scope_leave(); 0: no watch runs
 * Context    any thread; handler, but not one that interrupts a function of this header
 * Blocks     no
 * Ownership  nothing is transferred
 * Example    examples/watch_scope.c */
SONDE_API uint32_t sonde_scope_enter(const char *label, uint64_t limit_ns);

/* Leave a scope and all scopes inside it (a longjmp() or an exception may have skipped them).
 *
 * scope  from sonde_scope_enter() on this thread; 0: does nothing
 *
 * Context    as sonde_scope_enter()      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/watch_scope.c */
SONDE_API void sonde_scope_leave(uint32_t scope);

/* Cancel the deadlines of the scopes that the calling thread is in, for work that is known to take
 * long (a question to the user, a stop in a debugger). Scopes entered later have their deadlines. A
 * scope that is already a stall ends as if it were left.
 *
 * Context    as sonde_scope_enter()      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/watch_scope.c */
SONDE_API void sonde_scope_ignore(void);

#ifdef __GNUC__
/* The rest of a block is a scope, however the block is left. */
#    define SONDE_SCOPE(label, limit_ns)                                                           \
        __attribute__((cleanup(sonde_scope_leave_at), unused)) uint32_t sonde_scope_here_ =        \
            sonde_scope_enter(label, limit_ns)
static inline __attribute__((unused)) void sonde_scope_leave_at(const uint32_t *scope)
{
    sonde_scope_leave(*scope);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
