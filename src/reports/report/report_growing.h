// SPDX-License-Identifier: Apache-2.0
/* Assembles the stalls that a live file has in parts (Record.growing of the schema). Context: any
 * thread. */
#ifndef SONDE_REPORT_GROWING_H
#define SONDE_REPORT_GROWING_H

#include "report_model.h"
#include "report_store.h"

/* Add the stalls whose parts are in `parts` (struct sonde__report_stall, in the order of the file),
 * except those that were withdrawn and those that the report already has. What does not fit in
 * memory is counted as lost. */
void sonde__report_fold_growing(struct sonde__report *report,
                                const struct sonde__report_list *parts);

#endif
