// SPDX-License-Identifier: Apache-2.0
/* How often a thread makes a system call, counted by the kernel (a tracepoint of perf events).
 *
 * For privileged watchers only (CAP_PERFMON, or root). The thread is not stopped. While a counter
 * is open, each system call on the machine takes some 0.1 us more, so it is opened for a question
 * and closed afterwards. To close it may take some 10 ms. Source: perf_event_open(2), the kernel's
 * Documentation/trace/events.rst. Context: any thread, one at a time per counter. */
#ifndef SONDE_HOST_COUNT_H
#define SONDE_HOST_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

struct sonde__host_count {
    int32_t fd;
};

/* Count the calls that thread `tid` begins, by the call's name ("epoll_wait"). first: only those
 * with this first argument; null: all. Where no file system of tracepoints is mounted, a child
 * looks them up in a mount namespace of its own. Returns OK | ABSENT | DENIED | UNSUPPORTED | LIMIT
 * | OS. Ownership: close it. */
SONDE_NODISCARD enum sonde_status sonde__host_count_open(uint64_t tid, const char *call,
                                                         const uint64_t *first,
                                                         struct sonde__host_count *ret_count);
bool sonde__host_count_read(const struct sonde__host_count *count, uint64_t *ret_calls);
void sonde__host_count_close(struct sonde__host_count *count);

/* How many reads and writes the thread has made (proc_pid_io(5)): cheaper, and without privileges.
 * False: the system does not say. */
bool sonde__host_transfers_read(int32_t pid, uint64_t tid, uint64_t *ret_calls);

#endif
