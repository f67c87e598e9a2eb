// SPDX-License-Identifier: Apache-2.0
/* Parts of a SARIF log, for the files of this folder. */
#ifndef SONDE_FINDINGS_PARTS_H
#define SONDE_FINDINGS_PARTS_H

#include "findings.h"
#include "report_json.h"
#include "report_rule_sum.h"
#include "report_rule_values.h"

/* Names that results refer to: each rule, or recorded function without a rule, once. */
struct sonde__findings_rule {
    const char *id;                     /* a rule's name, or a function's */
    const struct sonde__report *report; /* that has the rule */
    uint32_t rule;                      /* id in the report; 0: none */
};

struct sonde__findings_rules {
    struct sonde__findings_rule *list; /* sorted by id */
    uint32_t count;
    /* If there is one new report: what its findings are together, by rule. Else null. */
    const struct sonde__report *summed;
    struct sonde__report_rule_sum *sums;
    struct sonde__report_values values;
};

/* Of the new reports, called or not, and of all findings. Returns OK | MEMORY. Ownership:
 * sonde__findings_rules_done(). */
SONDE_NODISCARD enum sonde_status
sonde__findings_rules_make(const struct sonde__findings *findings,
                           struct sonde__findings_rules *ret_rules);
void sonde__findings_rules_done(struct sonde__findings_rules *rules);
/* The id of a call's rule, and its index in the list. */
const char *sonde__findings_rule_id(const struct sonde__report *report,
                                    const struct sonde__report_call *call);
uint32_t sonde__findings_rule_index(const struct sonde__findings_rules *rules, const char *id);
void sonde__findings_put_rules(struct sonde__json *j, const struct sonde__findings_rules *rules);

/* Members of a property bag; what is not known (0) is left out. */
void sonde__findings_put_seen(struct sonde__json *j, uint64_t first_ns, uint64_t last_ns,
                              uint32_t threads, bool has_more_threads);

/* Kept arguments; nothing for none. */
void sonde__findings_put_arguments(struct sonde__json *j, const struct sonde__report *report,
                                   const struct sonde__report_argument *arguments, uint32_t count);

extern const char *const sonde__findings_levels[]; /* by enum sonde__report_severity */

/* Memory to write one stack. */
#define SONDE__FINDINGS_URI (3u * SONDE__REPORT_STRING_BYTES_MAX + 16u)
struct sonde__findings_places {
    struct sonde__report_path path;
    const char *source_root; /* or null */
    char uri[SONDE__FINDINGS_URI];
};

/* Write the members "locations", "stacks" and "codeFlows" of a result. */
void sonde__findings_put_places(struct sonde__json *j, struct sonde__findings_places *places,
                                const struct sonde__diff_call *call);
/* The innermost function of the program that calls; "" if there is none. buffer: of
 * SONDE__DEMANGLE_OUTPUT_MAX bytes. */
const char *sonde__findings_caller(const struct sonde__report_out *out,
                                   struct sonde__findings_places *places,
                                   const struct sonde__diff_call *call, char *buffer);
/* A path as URI in places->uri: "file:///src/a%20b.c", or relative to the source root. */
struct sonde__findings_uri {
    const char *text;
    bool is_relative; /* to the source root */
};
struct sonde__findings_uri sonde__findings_uri(struct sonde__findings_places *places,
                                               const char *path);

#endif
