// SPDX-License-Identifier: Apache-2.0
/* The scheduler's counters of a thread: CPU time used, and time spent waiting for a CPU; and its
 * status. The files stay open: reading the counters costs a microsecond, the status six, and
 * opening either of them four more. Context: any thread. */
#ifndef SONDE_SAMPLER_CLOCK_H
#define SONDE_SAMPLER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "host_run.h"
#include "os.h"

struct sonde__sampler_clock {
    bool is_open;
    bool looks; /* status_fd is open */
    int32_t fd, status_fd;
    struct sonde__os_schedstat stat; /* at the last reading */
};

/* Read the thread's counters into clock->stat. tid must not change until _close(). False: they
 * cannot be read. */
bool sonde__sampler_clock_read(struct sonde__sampler_clock *clock, int32_t pid, uint64_t tid);
/* Look at the thread, whose counters were just read. False: it has ended. */
bool sonde__sampler_clock_look(struct sonde__sampler_clock *clock, int32_t pid, uint64_t tid,
                               struct sonde__host_thread_look *ret_look);
/* Close the files, before the clock is used for another thread. */
void sonde__sampler_clock_close(struct sonde__sampler_clock *clock);

#endif
