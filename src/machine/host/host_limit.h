// SPDX-License-Identifier: Apache-2.0
/* Writes files under a size limit (RLIMIT_FSIZE) in a program that is not ours.
 *
 * Beyond the limit a write fails with EFBIG, and the kernel sends SIGXFSZ to the calling thread,
 * which kills a program without a handler. We do not change the signal's action: it belongs to the
 * whole process and could not be restored safely. The thread blocks the signal and consumes the one
 * it caused. Context: any thread. */
#ifndef SONDE_HOST_LIMIT_H
#define SONDE_HOST_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct sonde__host_limit {
    sigset_t former;
    bool is_pending; /* a SIGXFSZ that we did not cause is pending */
};

void sonde__host_limit_begin(struct sonde__host_limit *ret_limit);
/* Preserves errno. */
void sonde__host_limit_end(const struct sonde__host_limit *limit);

#endif
