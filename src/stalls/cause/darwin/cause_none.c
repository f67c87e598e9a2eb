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

/* --- with causes, of which there are none --- */

void sonde__causes_await_returns(struct sonde__causes *causes, uint64_t most_ns)
{
    (void)causes, (void)most_ns;
}

void sonde__causes_name_resumed(struct sonde__causes *causes, struct sonde__sample *sample)
{
    (void)causes, (void)sample;
}

void sonde__causes_look(struct sonde__causes *causes, const struct sonde__sample *sample,
                        struct sonde__cause *ret_cause)
{
    (void)causes, (void)sample;
    *ret_cause = (struct sonde__cause){.kind = SONDE__CAUSE_NONE};
}

uint32_t sonde__causes_circles(struct sonde__causes *causes, const struct sonde__cause *list,
                               uint32_t count, struct sonde__cause_circle *ret_circles,
                               uint32_t capacity)
{
    (void)causes, (void)list, (void)count, (void)ret_circles, (void)capacity;
    return 0;
}

void sonde__cause_text(const struct sonde__cause *cause, char *ret_text, size_t capacity)
{
    (void)cause;
    if (capacity > 0) {
        ret_text[0] = '\0';
    }
}
