// SPDX-License-Identifier: Apache-2.0
/* Another thread of this process: passively while it is blocked, by a signal while it runs. */
#ifndef SONDE_CAPTURE_THREAD_H
#define SONDE_CAPTURE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/thread.h>

/* --- passive --- */

/* Does the system's record of blocked threads describe this process' own threads? An emulator shows
 * its host's registers there; a system without /proc shows nothing. Looks at the record of the
 * calling thread, whose stack pointer it knows. Returns OK | UNSUPPORTED | DENIED. */
SONDE_NODISCARD enum sonde_status sonde__capture_passive_check(void);

/* Capture thread `tid` if it is blocked. It is not woken and not stopped: that it stood still is
 * proven afterwards, else it is tried again a few times.
 *
 * Returns OK | BUSY (it runs; the stack is empty) | TIMEOUT (it moved each time: the last stack is
 * there with end MOVED) | ABSENT (ended) | DENIED | UNSUPPORTED | OS. */
SONDE_NODISCARD enum sonde_status sonde__capture_blocked(uint64_t tid, struct sonde_stack *stack,
                                                         struct sonde_captured *ret_captured);

/* --- by signal --- */

/* One request at a time; the caller holds a lock around all of it, has set
 * sonde__capture_on_signal() as the handler (SA_SIGINFO) and restores the program's own action. */

/* The action that was set before ours: our handler passes on what is not meant for it.
 * Written while our handler is not set. */
struct sonde__capture_chain {
    void (*simple)(int signal);
    void (*full)(int signal, void *siginfo, void *ucontext);
};
void sonde__capture_chain_set(const struct sonde__capture_chain *chain);

void sonde__capture_on_signal(int signal, void *siginfo, void *ucontext);

/* Have thread `tid`, which must not be the calling one, capture itself.
 *
 * Returns OK | TIMEOUT (it did not begin to answer in time; a late delivery does nothing) | ABSENT
 * | BUSY (the system's queue of signals is full) | DENIED | OS. Blocks for timeout_ns at most, and
 * for the walk where that has begun. */
SONDE_NODISCARD enum sonde_status
sonde__capture_by_signal(uint64_t tid, int signal, uint64_t timeout_ns, struct sonde_stack *stack);

/* State letter and signal masks of a thread, from the text of its `stat` file. False: malformed. */
struct sonde__capture_stat {
    char letter;
    uint32_t flags;   /* the kernel's, PF_ in its linux/sched.h */
    uint32_t pending; /* bit n - 1: signal n is pending for this thread */
    uint32_t blocked;
};
bool sonde__capture_parse_stat(const char *text, size_t size, struct sonde__capture_stat *ret_stat);
/* Does the thread block everything that the masks here show? A C library does so for the moments in
 * which it starts and ends a thread: it will not be long. */
#define SONDE__CAPTURE_MOMENT_NS 5000000u
bool sonde__capture_blocks_all(const struct sonde__capture_stat *stat);
/* Did the kernel make this thread for itself, as a worker of io_uring? It runs no code of ours. */
bool sonde__capture_is_kernels(const struct sonde__capture_stat *stat);
SONDE_NODISCARD enum sonde_status sonde__capture_read_stat(uint64_t tid,
                                                           struct sonde__capture_stat *ret_stat);
/* The same from the open file. */
SONDE_NODISCARD enum sonde_status
sonde__capture_read_stat_file(int32_t fd, struct sonde__capture_stat *ret_stat);

#endif
