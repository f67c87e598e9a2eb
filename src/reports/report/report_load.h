// SPDX-License-Identifier: Apache-2.0
/* External causes of a stall: page faults, and pressure on the machine's processors, memory or
 * disks. Pure functions of the model. Context: any thread. */
#ifndef SONDE_REPORT_LOAD_H
#define SONDE_REPORT_LOAD_H

#include "report_model.h"
#include "report_out.h"

/* A stall is congested if the thread waited for a processor for a quarter of it; or if it was
 * runnable for half of it, and tasks of the machine waited for processors for half of the measured
 * time. A blocked thread is not. */
#define SONDE__REPORT_CONGESTED_OWN     4u
#define SONDE__REPORT_CONGESTED_MACHINE 2u

/* Was the stalled thread short of processors? False also if that is unknown. */
bool sonde__report_is_congested(const struct sonde__report_stall *stall);
/* Runnable threads of the program, at the time when the other threads were read. Includes the
 * stalled thread if it was runnable for more than half of the stall. */
uint32_t sonde__report_runnable(const struct sonde__report *report,
                                const struct sonde__report_stall *stall);
/* Prints one or two lines, or nothing if nothing is known. */
void sonde__report_put_load(struct sonde__report_out *out, const struct sonde__report *report,
                            const struct sonde__report_stall *stall);

#endif
