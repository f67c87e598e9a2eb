// SPDX-License-Identifier: Apache-2.0
/* A sampler inside its program, on a system where it is the only kind: no cause of a wait, no child
 * process is read. */
#include "sampler_cause.h"
#include "sampler_child.h"

bool sonde__sampler_cause_begin(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall,
                                bool search, struct sonde__cause_circle *ret_circle)
{
    (void)sampler, (void)stall, (void)search, (void)ret_circle;
    return false;
}

bool sonde__sampler_cause_again(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall,
                                uint64_t counted_ns, struct sonde__cause_circle *ret_circle)
{
    (void)sampler, (void)stall, (void)counted_ns, (void)ret_circle;
    return false;
}

void sonde__sampler_cause_change(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall)
{
    (void)sampler, (void)stall;
}

struct sonde__sampler_child *sonde__sampler_child_take(int32_t pid, bool perf,
                                                       struct sonde_error *ret_error)
{
    (void)pid, (void)perf, (void)ret_error;
    return NULL;
}

void sonde__sampler_child_done(struct sonde__sampler_child *child)
{
    (void)child;
}
