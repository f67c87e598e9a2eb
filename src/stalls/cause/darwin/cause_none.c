// SPDX-License-Identifier: Apache-2.0
/* This port does not tell what a blocked thread waits for: Mach shows neither call nor arguments.
 * So there are no causes, and none in a report. */
#include "cause.h"

enum sonde_status sonde__causes_create(struct sonde__target *target,
                                       struct sonde__causes **ret_causes)
{
    (void)target, (void)ret_causes;
    return SONDE_UNSUPPORTED;
}

void sonde__causes_destroy(struct sonde__causes *causes)
{
    (void)causes;
}

bool sonde__cause_to_report(const struct sonde__cause *cause, int32_t pid, uint32_t process,
                            struct sonde__report *report, struct sonde__report_wait *ret_wait)
{
    (void)cause, (void)pid, (void)process, (void)report, (void)ret_wait;
    return false;
}
