// SPDX-License-Identifier: Apache-2.0
#include "findings.h"

#include "mem_heap.h"

enum sonde__report_severity sonde__findings_severity(const struct sonde__report *report,
                                                     const struct sonde__report_call *call)
{
    switch (sonde__report_rule(report, call->rule)->severity) {
    case SONDE__REPORT_SEVERITY_NOTE:
        return SONDE__REPORT_SEVERITY_NOTE;
    case SONDE__REPORT_SEVERITY_ERROR:
        return SONDE__REPORT_SEVERITY_ERROR;
    default:
        return SONDE__REPORT_SEVERITY_WARNING;
    }
}

/* Memory for one stack. */
struct work {
    struct sonde__report_path path;
    struct sonde__report_call_key key;
};

static const struct sonde__suppression *find_suppression(struct work *w,
                                                         const struct sonde__suppressions *from,
                                                         const struct sonde__diff_call *call)
{
    if (from == NULL || from->count == 0) {
        return NULL;
    }
    sonde__report_call_key(call->report, call->call, &w->path, &w->key);
    return sonde__suppressions_find(from, call->report, call->call, &w->key);
}

enum sonde_status sonde__findings_make(const struct sonde__diff *diff,
                                       const struct sonde__suppressions *suppressions,
                                       struct sonde__findings *ret_findings)
{
    struct work *w = sonde__mem_alloc(sizeof *w);
    struct sonde__finding *list =
        sonde__mem_alloc_array((size_t)diff->call_count + 1, sizeof *list);
    if (w == NULL || list == NULL) {
        sonde__mem_free(w);
        sonde__mem_free(list);
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < diff->call_count; i++) {
        const struct sonde__diff_call *call = &diff->calls[i];
        list[i] = (struct sonde__finding){call, sonde__findings_severity(call->report, call->call),
                                          find_suppression(w, suppressions, call)};
    }
    sonde__mem_free(w);
    *ret_findings = (struct sonde__findings){.diff = diff,
                                             .suppressions = suppressions,
                                             .has_baseline = diff->recorded[SONDE__DIFF_OLD] != 0,
                                             .list = list,
                                             .count = diff->call_count};
    return SONDE_OK;
}

void sonde__findings_done(struct sonde__findings *findings)
{
    sonde__mem_free(findings->list);
    *findings = (struct sonde__findings){0};
}

struct sonde__findings_gate sonde__findings_gate(const struct sonde__findings *findings,
                                                 enum sonde__report_severity severity)
{
    struct sonde__findings_gate gate = {0};
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct sonde__finding *f = &findings->list[i];
        bool counts = f->severity >= severity && f->suppression == NULL &&
                      f->call->amounts[SONDE__DIFF_NEW_SIDE].count != 0;
        gate.found += counts && (f->call->state == SONDE__DIFF_NEW || !findings->has_baseline);
        gate.unsure += counts && f->call->state == SONDE__DIFF_UNSURE && findings->has_baseline;
    }
    return gate;
}
