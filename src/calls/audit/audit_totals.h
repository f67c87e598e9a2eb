// SPDX-License-Identifier: Apache-2.0
/* Lines for people about a whole recording: what was counted and lost, and what it cost. */
#ifndef SONDE_AUDIT_TOTALS_H
#define SONDE_AUDIT_TOTALS_H

#include "audit_read.h"
#include "audit_run.h"
#include "record_page.h"

/* listed: how many functions were to be recorded. */
void sonde__audit_print_totals(const struct sonde__audit_options *options, uint32_t listed,
                               const struct sonde__audit_totals *totals,
                               struct sonde__report_lines lines);
/* Nothing, if no call was measured. */
void sonde__audit_print_cost(const struct sonde__record_page *page,
                             struct sonde__report_lines lines);

#endif
