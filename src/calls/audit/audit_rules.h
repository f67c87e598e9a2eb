// SPDX-License-Identifier: Apache-2.0
/* Rules of an audit.
 *
 * A function is recorded once, whatever the number of rules that name it; its calls become a
 * finding of each of these rules. A rule means a function by each of its names (audit_alias.h,
 * audit_fortified.h); the finding has the name that the rule uses. Context: any thread. */
#ifndef SONDE_AUDIT_RULES_H
#define SONDE_AUDIT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a frame: its module's file name (its path, if the pattern has a slash), or its function. */
struct sonde__audit_pattern {
    bool is_symbol, is_not;
    const char *glob;
};

struct sonde__audit_patterns {
    const struct sonde__audit_pattern *items;
    size_t count;
};

struct sonde__audit_rule {
    const char *name, *pack, *category, *text;
    uint32_t severity; /* enum sonde__report_severity */
    const char *const *functions;
    const uint32_t *arguments; /* of each function the one that the rule is about, from 1; 0: not
                                  said */
    size_t function_count;
    const char *when; /* a condition (audit_when.h) that was checked for each of the functions;
                         null: none */
    uint64_t limit_count, limit_ns; /* allowed calls in a time; 0: any. At most
                                       SONDE__WHEN_LIMIT_CALLS; without `from`, which is decided
                                       later */
    const char *const *keeps; /* words of arguments (audit_words.h) whose values are kept, which
                                 were checked for each of the functions */
    size_t keep_count;        /* at most SONDE__WHEN_KEEPS_EACH */
    /* The stack has a frame that matches one of those without `is_not`, if there are any, and none
     * that matches one with it. */
    struct sonde__audit_patterns from;
    /* Only calls in phases with this name; null: in all. is_before_phase: in those until the first
     * one with it begins. */
    const char *phase;
    bool is_before_phase;
};

/* A part of the program: the innermost frame that matches an SDK decides whose call it is. */
struct sonde__audit_sdk {
    const char *name;
    struct sonde__audit_patterns match;
};

struct sonde__audit_rules {
    const struct sonde__audit_rule *rules;
    size_t count; /* at most 512 */
    const struct sonde__audit_sdk *sdks;
    size_t sdk_count;
};

#endif
