// SPDX-License-Identifier: Apache-2.0
/* Suppressions: a reviewed file that lists findings that are accepted, why, and until when.
 *
 *   # FINGERPRINT until DATE REASON
 *   1:5be9c20bbb7caa28b27b68da2bd2d0d5 until 2027-06-30 reads HOME for the cache folder
 *   # RULE by FUNCTION until DATE REASON
 *   getenv by read_settings* until 2027-06-30 settings come from the environment
 *
 * A line is one suppression, so that a review sees each by itself. RULE is the name of a rule, or
 * of the recorded function. In RULE and FUNCTION, * is any text and ? one character. The reason is
 * required. A suppression is valid up to its date, in UTC. Context: any thread. */
#ifndef SONDE_FINDINGS_SUPPRESS_H
#define SONDE_FINDINGS_SUPPRESS_H

#include "report_call_key.h"

/* Far more than anybody reviews; the search is linear. */
#define SONDE__SUPPRESSIONS_MAX 4096u
#define SONDE__SUPPRESS_LINE    1024u

struct sonde__suppression {
    char fingerprint[SONDE__REPORT_CALL_KEY_TEXT]; /* "": by names */
    const char *rule, *function;                   /* patterns */
    const char *reason;
    char until[12]; /* "2027-06-30" */
    uint32_t line;
    bool is_expired;
};

struct sonde__suppressions {
    struct sonde__suppression *list;
    uint32_t count;
    char *text; /* that the list points into */
};

/* Where a file is wrong. */
struct sonde__suppress_error {
    uint32_t line, column; /* from 1 */
    const char *expected;
};

/* Read a file. today: "2026-11-30".
 * Returns OK | MEMORY | CORRUPT: ret_error says where. Ownership: sonde__suppressions_done(). */
SONDE_NODISCARD enum sonde_status sonde__suppressions_read(const void *bytes, size_t size,
                                                           const char *today,
                                                           struct sonde__suppressions *ret,
                                                           struct sonde__suppress_error *ret_error);
void sonde__suppressions_done(struct sonde__suppressions *suppressions);

/* The first that is valid for a call; null: none. key: of the call, with its functions. */
const struct sonde__suppression *
sonde__suppressions_find(const struct sonde__suppressions *suppressions,
                         const struct sonde__report *report, const struct sonde__report_call *call,
                         const struct sonde__report_call_key *key);

#endif
