// SPDX-License-Identifier: Apache-2.0
/* What of a process' memory is there: pages that are in memory or swapped out. Programs reserve
 * terabytes that they never touch; to read those would make them. Context: any thread. */
#ifndef SONDE_HOST_PRESENT_H
#define SONDE_HOST_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__host_range {
    uint64_t start, end;
};

/* Of another process it takes the right to read its memory. Close it with sonde__os_close();
 * -1: not to be had, which sonde__host_present() takes. */
int32_t sonde__host_present_open(int32_t pid);

/* The ranges of [start, end), whole pages, that are there, in order.
 * ret_next  where it ended: `end`, or before, to be asked again from there
 * Returns their number, at most `capacity`. Where it cannot be told, all of it counts as there; a
 * system that can only list every page (Linux before 6.7) is asked about at most 64 GiB of a range
 * that is longer, and *ret_unasked is increased by the rest, which counts as absent. */
size_t sonde__host_present(int32_t fd, uint64_t start, uint64_t end,
                           struct sonde__host_range *ret_ranges, size_t capacity,
                           uint64_t *ret_next, uint64_t *ret_unasked);

#endif
