// SPDX-License-Identifier: Apache-2.0
/* Assembles stalls from their parts in a live file (Record.growing of the schema). Context: any
 * thread. */
#ifndef SONDE_REPORT_GROWING_H
#define SONDE_REPORT_GROWING_H

#include "report_model.h"
#include "report_store.h"

/* Add the stalls in `parts` (struct sonde__report_stall, in file order) to the report, except
 * withdrawn ones and those that it already has. What does not fit in memory is counted as lost. */
void sonde__report_fold_growing(struct sonde__report *report,
                                const struct sonde__report_list *parts);

#endif
