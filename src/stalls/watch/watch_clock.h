// SPDX-License-Identifier: Apache-2.0
/* The scheduler's counters of a thread: what it ran, how long it waited for a CPU. The file stays
 * open, so a reading costs a microsecond, a fifteenth of reading the thread's status. Context: any
 * thread. */
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

/* Read the counters of a thread, always the same one, into clock->stat. False: they cannot be read.
 */
bool sonde__watch_clock_read(struct sonde__watch_clock *clock, int32_t pid, uint64_t tid);
/* Of another thread from now on. */
void sonde__watch_clock_close(struct sonde__watch_clock *clock);

#endif
