// SPDX-License-Identifier: Apache-2.0
#include "audit_phase.h"

#include <string.h>

#include "base_text.h"

void sonde__audit_name_phases(const struct sonde__record_page *page,
                              struct sonde__audit_phases *ret_phases)
{
    *ret_phases = (struct sonde__audit_phases){.names = {""},
                                               .count = sonde__record_phase_now(&page->phases) + 1};
    for (uint32_t i = 1; i < ret_phases->count; i++) {
        const struct sonde__record_phase *from = &page->phases.list[i];
        ret_phases->names[i] = atomic_load(&from->begin_ns) != 0 ? from->name : "";
    }
}

void sonde__audit_add_phases(const struct sonde__record_page *page, uint64_t start_ns,
                             struct sonde__report *report, struct sonde__audit_phases *ret_phases)
{
    sonde__audit_name_phases(page, ret_phases);
    for (uint32_t i = 1; i < ret_phases->count; i++) {
        const struct sonde__record_phase *from = &page->phases.list[i];
        uint64_t begin_ns = atomic_load(&from->begin_ns);
        if (begin_ns != 0) {
            const struct sonde__report_named_phase phase = {
                .name = sonde__report_string(report, from->name),
                .begin_ns = begin_ns > start_ns ? begin_ns - start_ns : 0,
                .consent = from->consent <= SONDE__REPORT_CONSENT_REFUSED ? from->consent : 0};
            ret_phases->ids[i] = sonde__report_add_phase(report, &phase);
        }
    }
}

bool sonde__audit_is_in_phase(const struct sonde__audit_phases *phases, uint32_t number,
                              const struct sonde__audit_rule *rule)
{
    if (rule->phase == NULL) {
        return true;
    }
    if (!rule->is_before_phase) {
        return strcmp(phases->names[number], rule->phase) == 0;
    }
    for (uint32_t i = 1; i <= number; i++) {
        if (strcmp(phases->names[i], rule->phase) == 0) {
            return false;
        }
    }
    return true;
}

static bool has_begun(const struct sonde__record_page *page, const char *name)
{
    for (uint32_t i = 1; i <= sonde__record_phase_now(&page->phases); i++) {
        const struct sonde__record_phase *phase = &page->phases.list[i];
        if (atomic_load(&phase->begin_ns) != 0 && strcmp(phase->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Has an earlier rule the same phase? */
static bool is_told(const struct sonde__audit_rules *rules, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (rules->rules[i].phase != NULL &&
            strcmp(rules->rules[i].phase, rules->rules[index].phase) == 0) {
            return true;
        }
    }
    return false;
}

void sonde__audit_print_phases(const struct sonde__record_page *page,
                               const struct sonde__audit_rules *rules,
                               struct sonde__report_lines lines)
{
    uint32_t lost = atomic_load(&page->phases.lost);
    for (size_t i = 0; i < rules->count; i++) {
        const struct sonde__audit_rule *rule = &rules->rules[i];
        if (rule->phase != NULL && !is_told(rules, i) && !has_begun(page, rule->phase)) {
            sonde__report_line(lines, "phase \"%.100s\" did not begin: the whole run was before it",
                               rule->phase);
        }
    }
    if (lost != 0) {
        sonde__report_line(lines,
                           "%u change%s of phase had no room (a run has %d): later calls count in "
                           "the last phase",
                           (unsigned)lost, sonde__base_plural(lost), SONDE__RECORD_PHASES - 1);
    }
}
