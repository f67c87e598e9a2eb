// SPDX-License-Identifier: Apache-2.0
/* The fingerprint of a stall: the same for stalls of one cause, whatever the build, the machine and
 * the moment; a pure function of the model. docs/guide/report.md has the rule, which a collector
 * follows too. A change of the rule is a new version.
 *
 * It is a hash of a text, a line for each of: what kind of stall, whose thread, the program's own
 * functions in which most of the time went, outermost first, and what it was blocked in. One stack
 * would not do: stalls of one cause have as many different stacks as samples. */
#ifndef SONDE_REPORT_FINGERPRINT_H
#define SONDE_REPORT_FINGERPRINT_H

#include "report_model.h"

#define SONDE__REPORT_FINGERPRINT_VERSION 1u
/* "1:" and 32 hexadecimal digits. */
#define SONDE__REPORT_FINGERPRINT_TEXT 40u
/* A function of the path has at least this share of its caller's time, and more where samples are
 * few: CHANCE divided by the root of their number, at most CHANCE_MAX. A kind of call has the last
 * share of the innermost function's time. */
#define SONDE__REPORT_FINGERPRINT_PERCENT    60u
#define SONDE__REPORT_FINGERPRINT_CHANCE     80u
#define SONDE__REPORT_FINGERPRINT_CHANCE_MAX 25u
#define SONDE__REPORT_BLOCKED_PERCENT        90u
/* Different functions of one path. */
#define SONDE__REPORT_FINGERPRINT_DEPTH 64u

struct sonde__report_fingerprint {
    char id[SONDE__REPORT_FINGERPRINT_TEXT]; /* "": no samples */
    char *text;                              /* what was hashed; lines end with a newline */
    size_t size;
};

/* A stall without samples has the fingerprint that its writer gave it, and no text.
 * Returns OK | MEMORY. Ownership: sonde__report_fingerprint_done(). */
SONDE_NODISCARD enum sonde_status
sonde__report_fingerprint(const struct sonde__report *report,
                          const struct sonde__report_stall *stall,
                          struct sonde__report_fingerprint *ret_fingerprint);
void sonde__report_fingerprint_done(struct sonde__report_fingerprint *fingerprint);

/* Of a stall that was added. */
void sonde__report_set_fingerprint(struct sonde__report *report, uint32_t index,
                                   const char *fingerprint);

/* The kind of a blocking system call, the same on all architectures and for all variants of one:
 * "sync", "read", "sleep"; its name, where it has no variants; null: not known. */
const char *sonde__report_call_class(const struct sonde__report *report, int64_t number);

#endif
