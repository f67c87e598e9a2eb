// SPDX-License-Identifier: Apache-2.0
/* What an event loop was doing in a stall, from the names of the loop's own functions on the
 * stacks: the loop of GLib or libuv, of any build whose names are known. A stripped libuv has none,
 * and then the phase is unknown. A program's own marks (sonde_loop_phase()) know better. Context:
 * any thread. */
#ifndef SONDE_REPORT_PHASE_H
#define SONDE_REPORT_PHASE_H

#include "report_model.h"

/* "GLib: dispatch"; with several phases "libuv: timers, check", in the loop's own order. With
 * nested loops it is the outer one's. Returns a string id; 0: not known. */
uint32_t sonde__report_loop_phase(struct sonde__report *report,
                                  const struct sonde__report_stall *stall);
/* Set it for a stall in the model that has none. */
void sonde__report_set_loop_phase(struct sonde__report *report, uint32_t index);

#endif
