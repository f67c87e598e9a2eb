// SPDX-License-Identifier: Apache-2.0
/* Phases of a recording in a report, and which rules are about which of them. Context: any
 * thread. */
#ifndef SONDE_AUDIT_PHASE_H
#define SONDE_AUDIT_PHASE_H

#include "audit_rules.h"
#include "record_page.h"
#include "report_line.h"
#include "report_model.h"

struct sonde__audit_phases {
    const char *names[SONDE__RECORD_PHASES]; /* by number; in the page */
    uint32_t ids[SONDE__RECORD_PHASES];      /* in the report; 0: before the first, or none */
    uint32_t count;                          /* numbers are below this */
};

/* The names of the phases of a page (a copy), without ids. */
void sonde__audit_name_phases(const struct sonde__record_page *page,
                              struct sonde__audit_phases *ret_phases);
/* Add the phases of a page (a copy) to a report. start_ns: of the program */
void sonde__audit_add_phases(const struct sonde__record_page *page, uint64_t start_ns,
                             struct sonde__report *report, struct sonde__audit_phases *ret_phases);

/* Is the rule about calls in phase `number`? */
bool sonde__audit_is_in_phase(const struct sonde__audit_phases *phases, uint32_t number,
                              const struct sonde__audit_rule *rule);

/* Say which phases of rules did not begin, and which changes had no room. */
void sonde__audit_print_phases(const struct sonde__record_page *page,
                               const struct sonde__audit_rules *rules,
                               struct sonde__report_lines lines);

#endif
