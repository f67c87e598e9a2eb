// SPDX-License-Identifier: Apache-2.0
/* Which thread a thread number means.
 *
 * Numbers of processes and threads are used again, and most system calls take nothing else. A file
 * of /proc stays with the thread that it was opened for. While it can be read, that thread exists,
 * and no other thread has its number. So a call that takes a number reached the thread meant if the
 * identity holds after the call. Context: any thread. */
#ifndef SONDE_HOST_IDENTITY_H
#define SONDE_HOST_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

struct sonde__host_identity {
    int32_t fd; /* -1: of nobody; never holds */
};

/* Take the identity of thread `tid` of process `pid`. Returns OK | ABSENT (the process has no such
 * thread) | DENIED | OS; *ret_os_error (may be null) on failure. Ownership:
 * sonde__host_identity_drop(). */
SONDE_NODISCARD enum sonde_status sonde__host_identity_take(int32_t pid, uint64_t tid,
                                                            struct sonde__host_identity *ret,
                                                            int32_t *ret_os_error);
/* Has the number meant this thread all the time? A zombie keeps its number. */
bool sonde__host_identity_holds(const struct sonde__host_identity *identity);
void sonde__host_identity_drop(struct sonde__host_identity *identity);

#endif
