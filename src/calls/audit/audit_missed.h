// SPDX-License-Identifier: Apache-2.0
/* What may be missing from a recording: for each function beside its count, and for the whole
 * program. Context: any thread. */
#ifndef SONDE_AUDIT_MISSED_H
#define SONDE_AUDIT_MISSED_H

#include "audit_list.h"
#include "audit_page.h"
#include "report_line.h"
#include "report_model.h"

/* To be called after all calls were added. Adds those of the first `listed` functions that have no
 * recorded call, with a count of 0; then for each function in the report which calls may not have
 * been seen. by_rules: other names of a function are in the report by the first one. page: a copy
 * (audit_page.h) */
void sonde__audit_add_missed(const struct sonde__record_page *page,
                             const struct sonde__audit_list *list, uint32_t listed, bool by_rules,
                             struct sonde__report *report);

/* Count the functions of rules that no loaded library defines. Packs name many functions; a program
 * has few of them. */
void sonde__audit_print_absent(const struct sonde__record_page *page,
                               const struct sonde__audit_list *list,
                               struct sonde__report_lines lines);

/* Add processes, programs and namespaces that were not followed. */
void sonde__audit_print_unseen(const struct sonde__record_page *page,
                               struct sonde__report_lines lines);

#endif
