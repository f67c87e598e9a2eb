// SPDX-License-Identifier: Apache-2.0
/* Counts a thread's system calls in the kernel (perf events on a tracepoint).
 *
 * For privileged watchers only (CAP_PERFMON, or root). The thread is not stopped. An open counter
 * makes each system call on the machine about 0.1 us slower, so open it for one measurement and
 * close it. Closing may take some 10 ms. Source: perf_event_open(2), the kernel's
 * Documentation/trace/events.rst. Context: any thread, one at a time per counter. */
#ifndef SONDE_HOST_COUNT_H
#define SONDE_HOST_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

struct sonde__host_count {
    int32_t fd;
};

/* Count the calls of `call` ("epoll_wait") that thread `tid` of process `pid` begins. first: only
 * calls with this first argument; null: all. If tracefs is not mounted, a child mounts it in a
 * mount namespace of its own to look up the tracepoint. Returns OK | ABSENT | DENIED | UNSUPPORTED
 * | LIMIT | OS. Ownership: close it. */
SONDE_NODISCARD enum sonde_status sonde__host_count_open(int32_t pid, uint64_t tid,
                                                         const char *call, const uint64_t *first,
                                                         struct sonde__host_count *ret_count);
bool sonde__host_count_read(const struct sonde__host_count *count, uint64_t *ret_calls);
void sonde__host_count_close(struct sonde__host_count *count);

/* The number of reads and writes of the thread (proc_pid_io(5)): cheaper, and needs no privileges.
 * False: not available. */
bool sonde__host_transfers_read(int32_t pid, uint64_t tid, uint64_t *ret_calls);

#endif
