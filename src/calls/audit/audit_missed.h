// SPDX-License-Identifier: Apache-2.0
/* What may be missing of what was recorded: of each function beside its count, and of the program
 * as a whole. Context: any thread. */
#ifndef SONDE_AUDIT_MISSED_H
#define SONDE_AUDIT_MISSED_H

#include "audit_list.h"
#include "audit_page.h"
#include "report_model.h"

/* After all calls were added: those functions, of the first `listed` of the list, that were never
 * seen to be called, with a count of 0; then what may not have been seen of each that is in the
 * report. page: a copy (audit_page.h) */
void sonde__audit_add_missed(const struct sonde__record_page *page,
                             const struct sonde__audit_list *list, uint32_t listed,
                             struct sonde__report *report);

/* Processes, programs and namespaces that were not followed. say: one line for people */
void sonde__audit_say_unseen(const struct sonde__record_page *page,
                             void (*say)(void *ctx, const char *line), void *ctx);

#endif
