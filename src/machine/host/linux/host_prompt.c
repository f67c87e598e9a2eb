// SPDX-License-Identifier: Apache-2.0
#include "host_prompt.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr (sched_setattr(2)), first version. Declared here because libc does not. */
struct slice {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

uint64_t sonde__host_set_slice(uint64_t slice_ns)
{
    struct slice slice = {.size = sizeof slice};
    if (slice_ns == 0 || syscall(SYS_sched_getattr, 0, &slice, sizeof slice, 0) != 0 ||
        (slice.policy != SCHED_OTHER && slice.policy != SCHED_BATCH)) {
        return 0;
    }
    uint64_t before_ns = slice.runtime;
    slice.size = sizeof slice;
    slice.runtime = slice_ns;
    (void)syscall(SYS_sched_setattr, 0, &slice, 0);
    return before_ns;
}

void sonde__host_be_prompt(void)
{
    (void)sonde__host_set_slice(SONDE__HOST_PROMPT_SLICE_NS);
}
