// SPDX-License-Identifier: Apache-2.0
/* The watch: finds event loops of this process that return to their wait too late.
 *
 * Loops mark their waits, and one thread checks them periodically. While a loop stalls, its thread
 * is sampled: passively if blocked; if running, by a perf event where the system allows it, else by
 * a signal. `sonde run` does the same from outside, for a program that does not use sonde, and
 * survives the program. */
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
    int32_t open;         /* 1: not ended when the watch was stopped */
    uint64_t duration_ns; /* without time during which the process was stopped or suspended */
    uint64_t cpu_ns;      /* time on a CPU, from the first sample on */
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
    size_t struct_bytes;        /* sizeof(struct sonde_watch_options) */
    uint64_t threshold_ns;      /* shortest stall; 0: SONDE_WATCH_THRESHOLD_NS */
    int report_fd;              /* for the report, written record by record; 0 or less: no report */
    sonde_watch_stall on_stall; /* called after each stall on a thread of the watch; or null */
    void *ctx;                  /* of both callbacks */
    /* Called on a thread of the watch when a turn becomes a stall: `open` is set, the duration is
     * that so far, and the text is the thread's stack. Or null. */
    sonde_watch_stall on_begin;
    /* A spool folder as that of `sonde run`; created if missing. It gets a report of this run if
     * the run has stalls. While a stall lasts, its samples are in a file that survives any end of
     * the program; the next watch of this folder then finishes the report and marks the stall as
     * fatal. Null: none. */
    const char *spool;
    const char *build;                  /* the program's build, for the report; or null */
    const struct sonde_watch_tag *tags; /* for the report's header; at most 64 */
    uint32_t tag_count;
    /* 1: a fork child has a watch, too, from its first mark, heartbeat or scope on. It does not use
     * report_fd, which stays the parent's. In the child sonde_watch_stop() with the parent's handle
     * stops the child's watch. */
    uint32_t in_children;
    const char *device; /* an id of this machine, for the report; or null */
};

#define SONDE_WATCH_THRESHOLD_NS 250000000u
/* Turns are timed by a clock that advances every 4 to 10 ms. */
#define SONDE_WATCH_THRESHOLD_MIN_NS 20000000u

struct sonde_watch;

/* Start the watch of this process: one thread; at the first stall a second one, which looks up
 * names, writes the report and calls on_stall. Both block all signals.
 *
 * A loop is watched from its first sonde_idle_leave() on. A stall is reported when it ends, or when
 * the watch is stopped. The report is complete after each stall, even if the process is killed
 * then. A copy of what was written stays in memory, up to 512 MiB, for its names; without a report
 * nothing is kept.
 *
 * options    report_fd, on_stall or spool must be given. The argument of a callback is valid during
 *            the call; up to 256 stalls that begin or end meanwhile are queued. A callback must not
 *            stop the watch
 * ret_watch  written on OK
 * ret_error  what failed; may be null
 *
 * Returns    OK | USAGE | BUSY (this process has a watch already) | MEMORY | OS (no thread could be
 *            created; the spool folder) | DENIED (also: a spool folder, and the program has more
 *            rights than its user, or the folder is another user's) | UNSUPPORTED (the system does
 *            not show where threads wait: an emulator, no /proc)
 * Context    any thread; not handler      Blocks  until the thread runs: some ms
 * Ownership  the caller's: sonde_watch_stop(). report_fd stays the caller's, open until then
 * Example    examples/watch_loop.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_watch_start(const struct sonde_watch_options *options, struct sonde_watch **ret_watch,
                  struct sonde_error *ret_error);

/* End the watch: report stalls that have not ended, close the report, join the threads.
 *
 * After fork() the child has no watch and may start one; stopping the parent's watch there does
 * nothing (unless in_children is set). Stop the watch before dlclose() unloads sonde.
 *
 * watch  may be null
 *
 * Context    any thread but the watch's own (on_stall; there it does nothing); not handler
 * Blocks     until the report is written and on_stall has returned
 * Ownership  frees it
 * Example    examples/watch_loop.c */
SONDE_API void sonde_watch_stop(struct sonde_watch *watch);

/* Mark a loop's wait, on the loop's thread: call enter before it and leave after it. The time from
 * leave to enter is one turn of the loop, and a stall if it takes too long. Loops may be nested. A
 * loop that never waits calls leave once a turn. A thread that leaves its loop and goes on calls
 * enter last; a thread that ends need not.
 *
 * Both cost some ns, take no lock, allocate nothing and preserve errno. They make a system call
 * only on a thread's first call (gettid), and to wake the watch after all loops have waited for two
 * seconds. Without a watch they do nothing. At most 256 loops are watched at a time.
 *
 * Context    any thread; handler, but not one that interrupts the same function      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/watch_loop.c */
SONDE_API void sonde_idle_enter(void);
SONDE_API void sonde_idle_leave(void);

/* Watch the run loop of the main thread, too (macOS, iOS and tvOS: CFRunLoop): in its common modes,
 * and while UIKit launches the app. A turn begins when the loop asks its sources ("before sources":
 * input is not answered while it lasts), and when it woke ("after waiting": its timers and blocks
 * are not run); the report has that and the name of the mode. A nested run, as of a dialog, is no
 * stall. CoreFoundation is not linked but looked up. It may be called before the watch is started,
 * and again; the observers stay, and do nothing without a watch.
 *
 * ret_error  why not; may be null
 *
 * Returns    OK | UNSUPPORTED (the program has no CoreFoundation; Linux, where hooks/ has the hooks
 *            of loops) | MEMORY
 * Context    any thread; not handler      Blocks  on a lock of CoreFoundation's
 * Ownership  nothing is transferred
 * Example    tests/darwin/programs/runloop.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_watch_run_loop(struct sonde_error *ret_error);

/* Suspend stall detection for work that is known to take long: a modal dialog of the system, a
 * debugger. No turn, heartbeat or scope that began before resume is a stall; a stall in progress
 * ends at the pause. Pauses nest; they may precede the start of the watch.
 *
 * Context    any thread; handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/watch_service.c */
SONDE_API void sonde_watch_pause(void);
SONDE_API void sonde_watch_resume(void);

/* What the system does with an app. The numbers are those of AppState in
 * proto/sonde/v1/report.proto. */
enum sonde_app_state {
    SONDE_APP_UNKNOWN = 0,
    SONDE_APP_ACTIVE = 1,
    SONDE_APP_INACTIVE = 2,   /* visible, but it gets no input */
    SONDE_APP_BACKGROUND = 3, /* it may be suspended, or ended, at any time */
    SONDE_APP_EXTENSION = 4,  /* it is an app extension: likewise. sonde knows by itself */
    SONDE_APP_ENDS = 5,       /* it was asked to end */
};

/* Tell the state of the app, when it changes. Reports have it. In the background no turn, heartbeat
 * or scope that begins is a stall, because the system suspends the program without notice; the one
 * that tells it is still watched. If the app is ended in a stall that began in the background, in
 * an extension, or after ENDS, the next start does not call the stall fatal, and says why.
 * sonde_watch_run_loop() observes the notifications of UIKit and AppKit, which tell the same; an
 * app that uses it need not call this.
 *
 * Context    any thread; handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/apple/app.m */
SONDE_API void sonde_watch_app_state(enum sonde_app_state state);

/* The number of threads and scopes stalled now, for a keep-alive message that must be sent only
 * while nothing stalls. At most a quarter of the threshold old. 0 without a watch.
 *
 * Context    any thread; handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    include/sonde/hooks/sd_event.h */
SONDE_API uint32_t sonde_watch_stalled(void);

/* A heartbeat, called once a turn by a loop that does not mark its waits. The thread stalls if the
 * next call is late. Mark a wait longer than the threshold by sonde_idle_enter() and
 * sonde_idle_leave(). A thread that leaves its loop and goes on calls sonde_idle_enter().
 *
 * Context, cost  as sonde_idle_leave()      Blocks  no
 * Ownership      nothing is transferred
 * Example        examples/watch_scope.c */
SONDE_API void sonde_beat(void);

#ifdef __cplusplus
}
#endif

#endif
