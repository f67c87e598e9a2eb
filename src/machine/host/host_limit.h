// SPDX-License-Identifier: Apache-2.0
/* Writing files under a limit on their size (RLIMIT_FSIZE), in a program that is not ours.
 *
 * Beyond the limit a call fails with EFBIG, and the kernel sends SIGXFSZ to the calling thread,
 * which ends a program that has no handler for it. No signal's action is changed for that: it is
 * the process', and could not be put back as it was. The thread holds the signal back, and takes
 * its own. Context: any thread. */
#ifndef SONDE_HOST_LIMIT_H
#define SONDE_HOST_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct sonde__host_limit {
    sigset_t former;
    bool is_pending; /* a SIGXFSZ of somebody else waits for the thread */
};

void sonde__host_limit_begin(struct sonde__host_limit *ret_limit);
/* Keeps errno. */
void sonde__host_limit_end(const struct sonde__host_limit *limit);

#endif
