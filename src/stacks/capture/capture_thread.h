// SPDX-License-Identifier: Apache-2.0
/* Captures another thread of this process: passively if it is blocked, else by a signal. */
#ifndef SONDE_CAPTURE_THREAD_H
#define SONDE_CAPTURE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/thread.h>

/* --- passive --- */

/* Does the system's record of blocked threads describe this process' own threads? An emulator
 * shows its host's registers there; a system without /proc shows nothing. Checks the record of
 * the calling thread, whose stack pointer is known. Returns OK | UNSUPPORTED | DENIED. */
SONDE_NODISCARD enum sonde_status sonde__capture_passive_check(void);

/* Capture thread `tid` if it is blocked, without waking or stopping it. A check afterwards proves
 * that it has not run; otherwise the capture tries again a few times.
 *
 * Returns OK | BUSY (it runs; the stack is empty) | TIMEOUT (it ran each time: the last stack is
 * kept, with end MOVED) | ABSENT (ended) | DENIED | UNSUPPORTED | OS. */
SONDE_NODISCARD enum sonde_status sonde__capture_blocked(uint64_t tid, struct sonde_stack *stack,
                                                         struct sonde_captured *ret_captured);

/* --- by signal --- */

/* One request at a time. The caller holds a lock around all of it, has set
 * sonde__capture_on_signal() as the handler (SA_SIGINFO), and restores the program's own action. */

/* The action that ours replaced: our handler passes on what is not meant for it. Written while
 * our handler is not set. */
struct sonde__capture_chain {
    void (*simple)(int signal);
    void (*full)(int signal, void *siginfo, void *ucontext);
};
void sonde__capture_chain_set(const struct sonde__capture_chain *chain);

void sonde__capture_on_signal(int signal, void *siginfo, void *ucontext);

/* Make thread `tid`, not the calling one, capture itself.
 *
 * Returns OK | TIMEOUT (it did not begin in time; a late delivery does nothing) | ABSENT | BUSY
 * (the system's queue of signals is full) | DENIED | OS. Blocks for timeout_ns at most, plus the
 * walk if that has begun. */
SONDE_NODISCARD enum sonde_status
sonde__capture_by_signal(uint64_t tid, int signal, uint64_t timeout_ns, struct sonde_stack *stack);

/* Parse state letter and signal masks from the text of a thread's `stat` file. False: malformed. */
struct sonde__capture_stat {
    char letter;
    uint32_t flags;   /* PF_ of Linux, include/linux/sched.h */
    uint32_t pending; /* bit n - 1: signal n is pending for this thread */
    uint32_t blocked;
};
bool sonde__capture_parse_stat(const char *text, size_t size, struct sonde__capture_stat *ret_stat);
/* Does the thread block all signals that the mask shows? A C library does so briefly while it
 * starts and ends a thread. */
#define SONDE__CAPTURE_MOMENT_NS 5000000u
bool sonde__capture_blocks_all(const struct sonde__capture_stat *stat);
/* Is it the kernel's own thread, such as a worker of io_uring? It runs no code of the program. */
bool sonde__capture_is_kernels(const struct sonde__capture_stat *stat);
SONDE_NODISCARD enum sonde_status sonde__capture_read_stat(uint64_t tid,
                                                           struct sonde__capture_stat *ret_stat);
/* The same from the open file. */
SONDE_NODISCARD enum sonde_status
sonde__capture_read_stat_file(int32_t fd, struct sonde__capture_stat *ret_stat);

#endif
