// SPDX-License-Identifier: Apache-2.0
/* Stalls that a live file has in parts (Record.growing in the schema), as stalls of the model.
 * Context: any thread. */
#ifndef SONDE_REPORT_GROWING_H
#define SONDE_REPORT_GROWING_H

#include "report_model.h"
#include "report_store.h"

/* Add the stalls that `parts` (struct sonde__report_stall, in the order of the file) make up, but
 * those that were taken back and those that the report has already. What lacks memory is counted as
 * lost. */
void sonde__report_fold_growing(struct sonde__report *report,
                                const struct sonde__report_list *parts);

#endif
