// SPDX-License-Identifier: Apache-2.0
#include "watch_clock.h"

bool sonde__watch_clock_read(struct sonde__watch_clock *clock, int32_t pid, uint64_t tid)
{
    if (!clock->is_open) {
        clock->is_open = tid != 0 && sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SCHEDSTAT,
                                                           &clock->fd, NULL) == SONDE_OK;
    }
    return clock->is_open && sonde__os_read_schedstat(clock->fd, &clock->stat, NULL) == SONDE_OK;
}

void sonde__watch_clock_close(struct sonde__watch_clock *clock)
{
    if (clock->is_open) {
        sonde__os_close(clock->fd);
    }
    *clock = (struct sonde__watch_clock){0};
}
