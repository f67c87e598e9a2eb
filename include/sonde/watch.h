// SPDX-License-Identifier: Apache-2.0
/* The watch: finds event loops of this process that take too long to come back to their wait.
 *
 * The loops mark when they wait, and one thread checks them from time to time. While a loop stalls,
 * its thread is sampled: if it is blocked, without disturbing it; if it runs, by a perf event where
 * the system allows that, else by a signal. `sonde run` does the same from outside, to a program
 * that does not use sonde, and survives it. */
#ifndef SONDE_WATCH_H
#define SONDE_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stall that has ended. Later versions add members at the end. */
struct sonde_stall {
    uint64_t tid;
    int32_t open;         /* 1: it had not ended when the watch was stopped */
    uint64_t duration_ns; /* without the time that the process was stopped or suspended */
    uint64_t cpu_ns;      /* part of it on a CPU, from the first sample on */
    uint64_t turns;       /* of this loop before the stall */
    const char *text;     /* as `sonde show` prints it: phases, stacks, other threads */
    size_t text_bytes;    /* without the closing NUL */
    uint32_t kind;        /* enum sonde_stall_kind */
    const char *scope;    /* "\"save\", limit 100 ms": label and limit of the scope; or "" */
};

/* The numbers are those of StallKind in proto/sonde/v1/report.proto. */
enum sonde_stall_kind {
    SONDE_STALL_LOOP = 0,  /* a turn of an event loop, or a missing heartbeat */
    SONDE_STALL_SCOPE = 3, /* a deadline passed (sonde/scope.h) */
};

typedef void (*sonde_watch_stall)(void *ctx, const struct sonde_stall *stall);

struct sonde_watch_tag {
    const char *key, *value;
};

/* Zero is the default of every member. Texts are copied. */
struct sonde_watch_options {
    size_t struct_bytes;   /* sizeof(struct sonde_watch_options) */
    uint64_t threshold_ns; /* what is a stall; 0: SONDE_WATCH_THRESHOLD_NS */
    int report_fd;         /* where a report is written, record by record; 0 or less: nowhere */
    sonde_watch_stall on_stall; /* called after each stall, on a thread of the watch; or null */
    void *ctx;                  /* of both callbacks */
    /* Called when a turn has become a stall: with `open`, the time until then, and the stack of the
     * thread as text. On a thread of the watch; or null. */
    sonde_watch_stall on_begin;
    /* A folder for reports, as that of `sonde run`, which is made if it is missing: a report of
     * this run, if it has stalls, and while a stall lasts, its samples in a file that survives the
     * end of the program, however it comes. The next watch of this folder finishes that report and
     * marks the stall as fatal. Null: none. */
    const char *spool;
    const char *build;                  /* which build the program is, for the report; or null */
    const struct sonde_watch_tag *tags; /* what the report's header says; at most 64 */
    uint32_t tag_count;
    /* 1: a fork child has such a watch, too, from its first mark, heartbeat or scope on, without
     * the report_fd, which stays the parent's. sonde_watch_stop() with the parent's handle ends it.
     */
    uint32_t in_children;
};

#define SONDE_WATCH_THRESHOLD_NS 250000000u
/* Turns are timed by a clock that advances every 4 to 10 ms. */
#define SONDE_WATCH_THRESHOLD_MIN_NS 20000000u

struct sonde_watch;

/* Start the watch of this process: one thread, and with the first stall a second one, which looks
 * up names, writes the report and calls on_stall. Both block all signals.
 *
 * A loop is watched from its first sonde_idle_leave() on. A stall is reported when it ends, or when
 * the watch is stopped. The report is complete after each stall, even if the process is killed
 * then. It stays open, and what is written is also kept in memory, up to 512 MiB, for the names in
 * it; without a report nothing is kept.
 *
 * options    report_fd, on_stall or spool must be given. Callbacks: the argument is valid during
 * the call; stalls that begin or end meanwhile are queued (256 of them); they must not stop the
 * watch ret_watch  written on OK ret_error  what failed; may be null
 *
 * Returns    OK | USAGE | BUSY (this process has a watch already) | MEMORY | OS (no thread to be
 *            had; the spool folder) | DENIED (also a spool folder of a program with more rights
 * than its user, or of another user) | UNSUPPORTED (the system does not show where threads wait: an
 * emulator, no /proc)
 * Context    any thread; not handler      Blocks  until the thread runs: some ms
 * Ownership  the caller's: sonde_watch_stop(). report_fd stays the caller's, open until then
 * Example    examples/watch_loop.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_watch_start(const struct sonde_watch_options *options, struct sonde_watch **ret_watch,
                  struct sonde_error *ret_error);

/* End the watch: report stalls that have not ended, close the report, join the threads.
 *
 * After fork() the child has no watch and may start one, and stopping the parent's watch there does
 * nothing, but with in_children. Stop the watch before sonde is unloaded by dlclose().
 *
 * watch  may be null
 *
 * Context    any thread but the watch's own (on_stall), where it does nothing; not handler
 * Blocks     until the report is written, and on_stall has returned
 * Ownership  frees it
 * Example    examples/watch_loop.c */
SONDE_API void sonde_watch_stop(struct sonde_watch *watch);

/* Mark a loop's wait, on the loop's thread: call enter before it and leave after it. The time from
 * leave to enter is one turn of the loop, and a stall if it takes too long. Loops may be nested. A
 * loop that never waits calls leave once a turn. A thread that ends its loop and goes on calls
 * enter last; a thread that ends need not.
 *
 * They cost some ns, take no lock, allocate nothing and keep errno. They make a system call only
 * the first time on a thread (gettid), and to wake the watch after every loop has waited for two
 * seconds. Without a watch they do nothing. At most 256 loops are watched at a time.
 *
 * Context    any thread; handler, but not one that interrupts the same function      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/watch_loop.c */
SONDE_API void sonde_idle_enter(void);
SONDE_API void sonde_idle_leave(void);

/* No turn, heartbeat or scope is a stall from pause to resume, nor one that began before resume; a
 * stall that lasts when the watch is paused ends there. For what is known to take its time: a modal
 * dialog of the system, a debugger. Pauses count; they may come before the start.
 *
 * Context    any thread; handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/watch_service.c */
SONDE_API void sonde_watch_pause(void);
SONDE_API void sonde_watch_resume(void);

/* How many threads and scopes are stalled now: for a keep-alive message that is to be sent only
 * while all goes well. Up to date to a quarter of the threshold. 0 without a watch.
 *
 * Context    any thread; handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    include/sonde/hooks/sd_event.h */
SONDE_API uint32_t sonde_watch_stalled(void);

/* A heartbeat: one call for each turn of a loop that does not say when it waits. The thread stalls
 * if the next call does not come in time. A wait longer than the threshold is marked as above, and
 * a thread that ends its loop and goes on calls sonde_idle_enter().
 *
 * Context, cost  as sonde_idle_leave()      Blocks  no
 * Ownership      nothing is transferred
 * Example        examples/watch_scope.c */
SONDE_API void sonde_beat(void);

#ifdef __cplusplus
}
#endif

#endif
