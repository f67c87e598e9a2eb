// SPDX-License-Identifier: Apache-2.0
/* Which recorded calls the rules of an audit are about, and their findings in the report. Context:
 * any thread. */
#ifndef SONDE_AUDIT_RULING_H
#define SONDE_AUDIT_RULING_H

#include <sonde/status.h>

#include "audit_list.h"
#include "audit_phase.h"
#include "audit_rules.h"
#include "record_page.h"
#include "report_model.h"

/* Add the functions of all rules to the list; `text` (`size` bytes) gets their names. Returns
 * OK | CORRUPT (a name that is none) | LIMIT. */
SONDE_NODISCARD enum sonde_status sonde__audit_rules_list(const struct sonde__audit_rules *rules,
                                                          struct sonde__audit_list *list,
                                                          char *text, size_t size,
                                                          struct sonde_error *ret_error);

/* Which rules are about which entries of a complete list. Returns OK | MEMORY | LIMIT (too many
 * conditions) | CORRUPT (a condition is not one of this function). Ownership:
 * sonde__audit_ruling_free(). The list and the rules must live as long. */
struct sonde__audit_ruling;
SONDE_NODISCARD enum sonde_status sonde__audit_ruling_make(const struct sonde__audit_rules *rules,
                                                           const struct sonde__audit_list *list,
                                                           struct sonde__audit_ruling **ret_ruling,
                                                           struct sonde_error *ret_error);
void sonde__audit_ruling_free(struct sonde__audit_ruling *ruling); /* may be null */

/* Is a rule about function `index` of the list? */
bool sonde__audit_ruling_has(const struct sonde__audit_ruling *ruling, size_t rule, uint32_t index);

/* Add the rules to the report; rule i gets id i + 1. start_ns: of the program, as of the clock of
 * the page. */
void sonde__audit_ruling_report(const struct sonde__audit_ruling *ruling,
                                const struct sonde__record_page *page, uint64_t start_ns,
                                struct sonde__report *report);
/* The conditions that the recorder evaluates. Calls of a function that is in rules without one
 * count with the function's index as label; those that fulfil a rule's condition, or are of a rule
 * with a limit, with a label of this pair of rule and function. */
const struct sonde__when *sonde__audit_ruling_when(const struct sonde__audit_ruling *ruling);
/* Of calls that exceed a limit; the label before it is that of the calls that do not. */
bool sonde__audit_ruling_is_over(const struct sonde__audit_ruling *ruling, uint32_t label);
/* Which arguments are kept of calls with a label: their words, and what the recorder keeps. Returns
 * how many. */
uint32_t sonde__audit_ruling_keeps(const struct sonde__audit_ruling *ruling, uint32_t label,
                                   const char *const **ret_words,
                                   const struct sonde__when_node **ret_keeps);
bool sonde__audit_ruling_has_label(const struct sonde__audit_ruling *ruling, uint32_t label);

/* Calls with a label, made in one phase. */
struct sonde__audit_made {
    uint32_t label;
    const struct sonde__audit_phases *phases;
    uint32_t phase; /* number */
};
/* Add them as a finding of each of their rules. call: without function and rule; its stack is in
 * the report. */
void sonde__audit_ruling_add(const struct sonde__audit_ruling *ruling,
                             const struct sonde__audit_made *made,
                             const struct sonde__report_call *call, struct sonde__report *report);

#endif
