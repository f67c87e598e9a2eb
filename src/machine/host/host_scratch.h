// SPDX-License-Identifier: Apache-2.0
/* Large working memory in a file without a name, mapped: the kernel can write its pages out, so
 * that hundreds of megabytes do not count as the program's own. Context: any thread. */
#ifndef SONDE_HOST_SCRATCH_H
#define SONDE_HOST_SCRATCH_H

#include <stddef.h>

#include <sonde/status.h>

struct sonde__host_scratch {
    void *data; /* zeroed, writable; null: none */
    size_t size;
};

/* In $TMPDIR, else in /var/tmp; its room is taken at once, so that writing to it cannot fail. Where
 * no file is to be had, memory. Returns OK | LIMIT (no room for so much) | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__host_scratch_open(size_t size,
                                                           struct sonde__host_scratch *ret_scratch,
                                                           struct sonde_error *ret_error);
void sonde__host_scratch_close(struct sonde__host_scratch *scratch);

#endif
