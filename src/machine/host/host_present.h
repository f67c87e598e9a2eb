// SPDX-License-Identifier: Apache-2.0
/* Finds the pages of a process that exist, in memory or swap. Programs reserve terabytes that they
 * never touch; reading those would allocate them. Context: any thread. */
#ifndef SONDE_HOST_PRESENT_H
#define SONDE_HOST_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__host_range {
    uint64_t start, end;
};

/* For another process, this needs the right to read its memory. Returns a descriptor (Ownership:
 * sonde__os_close()), or -1 if not available, which sonde__host_present() accepts. */
int32_t sonde__host_present_open(int32_t pid);

/* List the existing ranges of [start, end), in whole pages, in order.
 * ret_next  `end`, or an address to continue from
 * Returns their number, at most `capacity`. If it cannot be determined, all of it counts as
 * existing. A system that can only list every page (Linux before 6.7) is asked for at most 64 GiB
 * of the range; the rest counts as absent and is added to *ret_unasked. */
size_t sonde__host_present(int32_t fd, uint64_t start, uint64_t end,
                           struct sonde__host_range *ret_ranges, size_t capacity,
                           uint64_t *ret_next, uint64_t *ret_unasked);

#endif
