// SPDX-License-Identifier: Apache-2.0
/* Script frames that were read later than the stack of their thread, for readers that know only one
 * stack. Context: any thread. */
#ifndef SONDE_REPORT_LATER_H
#define SONDE_REPORT_LATER_H

#include "report_model.h"

/* Put them inside the stacks that they stand beside, behind a frame with this name: in all threads
 * and samples. Where that would be too deep, the stack ends with that frame. */
#define SONDE__REPORT_LATER "(read later)"
void sonde__report_join_later(struct sonde__report *report);

#endif
