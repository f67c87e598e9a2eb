// SPDX-License-Identifier: Apache-2.0
/* Large working memory in a mapped, unnamed file: the kernel can write its pages to disk, so
 * hundreds of megabytes do not count against the program. Context: any thread. */
#ifndef SONDE_HOST_SCRATCH_H
#define SONDE_HOST_SCRATCH_H

#include <stddef.h>

#include <sonde/status.h>

struct sonde__host_scratch {
    void *data; /* zeroed, writable; null: none */
    size_t size;
};

/* In $TMPDIR, else /var/tmp; space is allocated at once, so writing cannot fail. Anonymous memory
 * if no file can be created. Returns OK | LIMIT (not enough room) | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__host_scratch_open(size_t size,
                                                           struct sonde__host_scratch *ret_scratch,
                                                           struct sonde_error *ret_error);
void sonde__host_scratch_close(struct sonde__host_scratch *scratch);

#endif
