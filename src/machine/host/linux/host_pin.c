// SPDX-License-Identifier: Apache-2.0
#include "host_pin.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_prompt.h"

static bool set(const uint64_t *mask, uint32_t bytes)
{
    return syscall(SYS_sched_setaffinity, 0, (size_t)bytes, mask) == 0;
}

bool sonde__host_pin(struct sonde__host_pin *pin, uint32_t processor)
{
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
    pin->slice_ns = sonde__host_set_slice(SONDE__HOST_PROMPT_SLICE_NS);
    if (!set(only, (uint32_t)bytes)) {
        (void)sonde__host_set_slice(pin->slice_ns);
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
    (void)sonde__host_set_slice(pin->slice_ns);
    pin->bytes = 0;
}
