// SPDX-License-Identifier: Apache-2.0
/* What slowed a stall down besides its own code: page faults, and a lack of processors, memory or
 * disks of the machine. Pure functions of the model. Context: any thread. */
#ifndef SONDE_REPORT_LOAD_H
#define SONDE_REPORT_LOAD_H

#include "report_model.h"
#include "report_out.h"

/* A stall is called congested where the thread waited for a processor for a quarter of it; or where
 * it wanted one for half of it, and some task of the machine waited for one for half of the time
 * that was measured. A blocked thread lacks nothing. */
#define SONDE__REPORT_CONGESTED_OWN     4u
#define SONDE__REPORT_CONGESTED_MACHINE 2u

/* Were processors short for the thread that stalled? False, too: it is not known. */
bool sonde__report_is_congested(const struct sonde__report_stall *stall);
/* Threads of the program, this one included if it ran or waited for a processor, that wanted to run
 * when the others were looked at. */
uint32_t sonde__report_runnable(const struct sonde__report *report,
                                const struct sonde__report_stall *stall);
/* One or two lines; nothing where nothing is known. */
void sonde__report_put_load(struct sonde__report_out *out, const struct sonde__report *report,
                            const struct sonde__report_stall *stall);

#endif
