// SPDX-License-Identifier: Apache-2.0
#include "sampler_clock.h"

bool sonde__sampler_clock_read(struct sonde__sampler_clock *clock, int32_t pid, uint64_t tid)
{
    if (!clock->is_open) {
        clock->is_open = tid != 0 && sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SCHEDSTAT,
                                                           &clock->fd, NULL) == SONDE_OK;
    }
    return clock->is_open && sonde__os_read_schedstat(clock->fd, &clock->stat, NULL) == SONDE_OK;
}

bool sonde__sampler_clock_look(struct sonde__sampler_clock *clock, int32_t pid, uint64_t tid,
                               struct sonde__host_thread_look *ret_look)
{
    struct sonde__host_thread_look look;
    if (!clock->looks) {
        clock->looks = sonde__host_status_open(pid, tid, &clock->status_fd);
    }
    if (!clock->looks || !sonde__host_look_again(clock->status_fd, &look)) {
        return false;
    }
    look.cpu_ns = clock->stat.cpu_ns;
    look.runqueue_ns = clock->stat.runqueue_ns;
    *ret_look = look;
    return true;
}

void sonde__sampler_clock_close(struct sonde__sampler_clock *clock)
{
    if (clock->is_open) {
        sonde__os_close(clock->fd);
    }
    if (clock->looks) {
        sonde__os_close(clock->status_fd);
    }
    *clock = (struct sonde__sampler_clock){0};
}
