// SPDX-License-Identifier: Apache-2.0
/* The watch: event loops of this process that stay away from their own wait for too long.
 *
 * One thread looks from time to time; the loops tell it when they wait. While a loop is away its
 * thread is sampled: blocked, it is read without being disturbed; running, by a perf event where
 * the system allows that, else by a signal. `sonde run` does the same to a program that knows
 * nothing of sonde, from outside, and outlives it. */
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
    uint64_t duration_ns; /* time that the process was stopped or suspended is not counted */
    uint64_t cpu_ns;      /* of that on a CPU, from the first sample on */
    uint64_t turns;       /* of this loop before this one */
    const char *text;     /* as `sonde show` prints it: phases, stacks, other threads */
    size_t text_bytes;    /* without the closing NUL */
};

typedef void (*sonde_watch_stall)(void *ctx, const struct sonde_stall *stall);

/* Zero is the default of every member. */
struct sonde_watch_options {
    size_t struct_bytes;   /* sizeof(struct sonde_watch_options) */
    uint64_t threshold_ns; /* what is a stall; 0: SONDE_WATCH_THRESHOLD_NS */
    int report_fd;         /* where a report is written, record by record; 0 or less: nowhere */
    sonde_watch_stall on_stall; /* called on the watch's thread after each stall; or null */
    void *ctx;
};

#define SONDE_WATCH_THRESHOLD_NS 250000000u
/* Turns are dated by a clock that moves every 4 to 10 ms. */
#define SONDE_WATCH_THRESHOLD_MIN_NS 20000000u

struct sonde_watch;

/* Start the watch of this process: one thread, all of whose signals are blocked.
 *
 * A loop is watched from its first sonde_idle_leave() on. A stall is told when it is over, or when
 * the watch is stopped. The report is whole after each stall, also when the process is killed then;
 * it stays open, and what is written is also kept in memory, up to 512 MiB, for the names in it.
 * Without a report nothing is kept.
 *
 * options    one of report_fd and on_stall must be given. on_stall: the argument is valid during
 *            the call; no stall is noticed while it runs; it must not stop the watch
 * ret_watch  written on OK
 * ret_error  what failed; may be null
 *
 * Returns    OK | USAGE | BUSY (this process has a watch already) | MEMORY | OS (no thread to be
 *            had) | DENIED | UNSUPPORTED (the system does not show where threads wait: an emulator,
 *            no /proc)
 * Context    any thread; not handler      Blocks  until the thread runs: some ms
 * Ownership  the caller's: sonde_watch_stop(). report_fd stays the caller's, open until then
 * Example    examples/watch_loop.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_watch_start(const struct sonde_watch_options *options, struct sonde_watch **ret_watch,
                  struct sonde_error *ret_error);

/* End the watch: tells the stalls that last, closes the report, joins the thread.
 *
 * After fork() the child has no watch and may start one; stopping the parent's watch there does
 * nothing. Stop it before sonde is unloaded by dlclose().
 *
 * watch  may be null
 *
 * Context    any thread but the watch's own, where it does nothing; not handler
 * Blocks     until the report is written, and on_stall has returned
 * Ownership  frees it
 * Example    examples/watch_loop.c */
SONDE_API void sonde_watch_stop(struct sonde_watch *watch);

/* Around a loop's own wait, on the loop's thread: enter before it, leave after it. What happens
 * between leave and enter is one turn of the loop, and a stall when it takes too long. Loops may be
 * nested. A loop that never waits calls leave once a turn; a thread that ends its loop, but not
 * itself, calls enter last.
 *
 * They cost some ns, take no lock, allocate nothing, and change no errno. There is no system call
 * but the first time on a thread (gettid), and to wake the watch when every loop has been waiting
 * for two seconds. Without a watch they do nothing. Threads that end need not say so; of more than
 * 256 loops at a time the rest is not watched.
 *
 * Context    any thread; handler, but not one that interrupts the same function      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/watch_loop.c */
SONDE_API void sonde_idle_enter(void);
SONDE_API void sonde_idle_leave(void);

#ifdef __cplusplus
}
#endif

#endif
