// SPDX-License-Identifier: Apache-2.0
#include "host_pin.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* First version of struct sched_attr (linux/sched/types.h). */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Since Linux 6.12 a thread of the default policy may ask for shorter slices, so it preempts a
 * running thread sooner. Returns the former slice; 0: unknown, or another policy. */
static uint64_t set_slice(uint64_t slice_ns)
{
    struct attributes a = {.size = sizeof a};
    if (slice_ns == 0 || syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.policy != 0) {
        return 0;
    }
    uint64_t before_ns = a.runtime;
    a.runtime = slice_ns;
    (void)syscall(SYS_sched_setattr, 0, &a, 0);
    return before_ns;
}

static bool set(const uint64_t *mask, uint32_t bytes)
{
    return syscall(SYS_sched_setaffinity, 0, (size_t)bytes, mask) == 0;
}

bool sonde__host_pin(struct sonde__host_pin *pin, uint32_t processor)
{
    enum { SLICE_NS = 100000 }; /* the shortest allowed */
    uint64_t only[SONDE__HOST_PROCESSORS_MAX / 64] = {0};
    long bytes = processor < SONDE__HOST_PROCESSORS_MAX
                     ? syscall(SYS_sched_getaffinity, 0, sizeof pin->before, pin->before)
                     : -1;
    pin->bytes = 0;
    if (bytes <= 0) {
        return false;
    }
    only[processor / 64] = (uint64_t)1 << processor % 64;
    if ((pin->before[processor / 64] & only[processor / 64]) == 0) {
        return false;
    }
    pin->slice_ns = set_slice(SLICE_NS);
    if (!set(only, (uint32_t)bytes)) {
        (void)set_slice(pin->slice_ns);
        return false;
    }
    pin->bytes = (uint32_t)bytes;
    pin->processor = processor;
    return true;
}

/* The kernel moves a thread at once if it may not stay on its processor. */
void sonde__host_unpin(struct sonde__host_pin *pin)
{
    uint64_t others[SONDE__HOST_PROCESSORS_MAX / 64];
    if (pin->bytes == 0) {
        return;
    }
    memcpy(others, pin->before, sizeof others);
    others[pin->processor / 64] &= ~((uint64_t)1 << pin->processor % 64);
    (void)set(others, pin->bytes); /* fails if there is no other processor */
    (void)set(pin->before, pin->bytes);
    (void)set_slice(pin->slice_ns);
    pin->bytes = 0;
}
