// SPDX-License-Identifier: Apache-2.0
/* The scheduler's counters of a thread: CPU time used, and time spent waiting for a CPU. The file
 * stays open: a reading costs a microsecond, a fifteenth of reading the thread's status. Context:
 * any thread. */
#ifndef SONDE_WATCH_CLOCK_H
#define SONDE_WATCH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "os.h"

struct sonde__watch_clock {
    bool is_open;
    int32_t fd;
    struct sonde__os_schedstat stat; /* at the last reading */
};

/* Read the thread's counters into clock->stat. tid must not change until _close(). False: they
 * cannot be read. */
bool sonde__watch_clock_read(struct sonde__watch_clock *clock, int32_t pid, uint64_t tid);
/* Close the file, before the clock is used for another thread. */
void sonde__watch_clock_close(struct sonde__watch_clock *clock);

#endif
