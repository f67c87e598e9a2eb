// SPDX-License-Identifier: Apache-2.0
/* Samples a running thread of another process by a signal: checks first, then sends it. The signal
 * is ignored by default, so it is harmless if the program has removed our handler meanwhile.
 * Context: any thread. */
#ifndef SONDE_HOST_SIGNAL_H
#define SONDE_HOST_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

/* SIGURG: of the signals that are ignored by default, programs use it least. */
#define SONDE__HOST_SAMPLE_SIGNAL SIGURG

struct sonde__host_signal_look {
    char letter;     /* state, as the kernel prints it */
    bool on_cpu;     /* not just runnable; also true if unknown */
    bool caught;     /* the process has a handler, ours or another */
    bool blocked;    /* by the thread */
    bool pending;    /* for the thread or for its process */
    bool confined;   /* as in struct sonde__host_thread_look */
    int32_t tracer;  /* 0: none */
    uint64_t cpu_ns; /* CPU time used, as of its last tick or switch */
    uint64_t waits;  /* voluntary context switches */
};
/* False: the thread is gone. */
bool sonde__host_signal_look(int32_t pid, uint64_t tid, struct sonde__host_signal_look *ret_look);

/* Returns OK | ABSENT | BUSY (the system's queue is full) | DENIED | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_signal_send(int32_t pid, uint64_t tid, uint64_t value,
                                                          int32_t *ret_os_error);

/* Can running threads of other processes be sampled without a signal? Tested on this thread (perf),
 * and on a process that does not exist (ptrace): only a system call filter refuses that. */
bool sonde__host_may_perf(void);
bool sonde__host_may_ptrace(void);

#endif
