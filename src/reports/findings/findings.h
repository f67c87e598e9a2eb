// SPDX-License-Identifier: Apache-2.0
/* Findings: the recorded calls of reports as a gate reads them, one for each rule (or function) and
 * stack of the program's own functions, with severity, baseline state and suppression.
 *
 * The comparison of reports (diff.h) makes the list; this adds what decides whether a build passes.
 * Pure functions of the model. Context: any thread. */
#ifndef SONDE_FINDINGS_H
#define SONDE_FINDINGS_H

#include "diff.h"
#include "findings_suppress.h"

struct sonde__finding {
    const struct sonde__diff_call *call;
    enum sonde__report_severity severity;         /* never UNKNOWN */
    const struct sonde__suppression *suppression; /* null: none */
};

struct sonde__findings {
    const struct sonde__diff *diff;                 /* without a baseline its old side is empty */
    const struct sonde__suppressions *suppressions; /* null: none were read */
    bool has_baseline;
    struct sonde__finding *list;
    uint32_t count;
};

/* diff and suppressions (which may be null) must outlive the result. Returns OK | MEMORY.
 * Ownership: sonde__findings_done(). */
SONDE_NODISCARD enum sonde_status
sonde__findings_make(const struct sonde__diff *diff, const struct sonde__suppressions *suppressions,
                     struct sonde__findings *ret_findings);
void sonde__findings_done(struct sonde__findings *findings);

/* What a gate counts: not suppressed, at least of this severity, and new if there is a baseline. */
struct sonde__findings_gate {
    uint32_t found;
    uint32_t unsure; /* it is not known whether they are new */
};
struct sonde__findings_gate sonde__findings_gate(const struct sonde__findings *findings,
                                                 enum sonde__report_severity severity);

/* The severity of a call's rule. Without a rule, or if the rule has none, it is a warning, which is
 * the default of SARIF (§3.27.10). */
enum sonde__report_severity sonde__findings_severity(const struct sonde__report *report,
                                                     const struct sonde__report_call *call);

struct sonde__sarif_options {
    const char *source_root; /* files below it get relative URIs; null: none do */
    const char *version;     /* of sonde */
    bool raw_names;          /* stored names, not demangled ones */
};

/* Write a SARIF log (OASIS SARIF 2.1.0 with errata 01). Returns OK | MEMORY (the output is
 * incomplete). */
SONDE_NODISCARD enum sonde_status sonde__findings_sarif(const struct sonde__findings *findings,
                                                        const struct sonde__sarif_options *options,
                                                        struct sonde__report_sink sink);

#endif
