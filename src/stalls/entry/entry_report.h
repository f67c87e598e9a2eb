// SPDX-License-Identifier: Apache-2.0
/* Converts parts of a stall to the report's types. Context: any thread. */
#ifndef SONDE_ENTRY_REPORT_H
#define SONDE_ENTRY_REPORT_H

#include "report_model.h"
#include "sampler_stall.h"

/* Sets everything but the stack and the wait. */
void sonde__entry_to_sample(const struct sonde__sampler_sample *from,
                            struct sonde__report_sample *ret_sample);
/* `to` has room for all uncovered times of the stall. */
void sonde__entry_to_uncovered(const struct sonde__sampler_stall *stall,
                               struct sonde__report *report, struct sonde__report_uncovered *to);

#endif
