// SPDX-License-Identifier: Apache-2.0
/* The fingerprint of a stall: equal for stalls of one cause, on any build, machine and day. A pure
 * function of the model. docs/guide/report.md has the rule, which collectors follow too; a changed
 * rule gets a new version.
 *
 * It is the hash of a text with one line for each of: the kind of stall, the thread, the program's
 * own functions with most of the time (outermost first), and the blocking call. One stack is not
 * enough: samples of one cause have many different stacks. */
#ifndef SONDE_REPORT_FINGERPRINT_H
#define SONDE_REPORT_FINGERPRINT_H

#include "report_model.h"

#define SONDE__REPORT_FINGERPRINT_VERSION 1u
/* "1:" and 32 hexadecimal digits. */
#define SONDE__REPORT_FINGERPRINT_TEXT 40u
/* A function belongs to the path if it has at least this share of its caller's time. Few samples
 * need a larger share: CHANCE / sqrt(samples) is added, at most CHANCE_MAX. The blocking call needs
 * the same share of the innermost function's time. */
#define SONDE__REPORT_FINGERPRINT_PERCENT    60u
#define SONDE__REPORT_FINGERPRINT_CHANCE     80u
#define SONDE__REPORT_FINGERPRINT_CHANCE_MAX 25u
#define SONDE__REPORT_BLOCKED_PERCENT        90u
/* Distinct functions in one path. */
#define SONDE__REPORT_FINGERPRINT_DEPTH 64u

struct sonde__report_fingerprint {
    char id[SONDE__REPORT_FINGERPRINT_TEXT]; /* "": no samples */
    char *text;                              /* what was hashed; lines end with a newline */
    size_t size;
};

/* A stall without samples has the fingerprint that its writer stored, and no text.
 * Returns OK | MEMORY. Ownership: sonde__report_fingerprint_done(). */
SONDE_NODISCARD enum sonde_status
sonde__report_fingerprint(const struct sonde__report *report,
                          const struct sonde__report_stall *stall,
                          struct sonde__report_fingerprint *ret_fingerprint);
/* The same of an error or a crash: what went wrong ("SIGSEGV", "TypeError"), and the path of the
 * thread where it did; the thread's role is no part of it. Returns OK | MEMORY. Ownership: as
 * above. */
SONDE_NODISCARD enum sonde_status
sonde__report_error_fingerprint(const struct sonde__report *report, uint32_t stack,
                                const char *what,
                                struct sonde__report_fingerprint *ret_fingerprint);
void sonde__report_fingerprint_done(struct sonde__report_fingerprint *fingerprint);

/* Set the fingerprint of a stall in the model. */
void sonde__report_set_fingerprint(struct sonde__report *report, uint32_t index,
                                   const char *fingerprint);

/* The class of a blocking system call, equal for all architectures and variants: "sync", "read",
 * "sleep"; a call without variants has its own name. Null: unknown number. */
const char *sonde__report_call_class(const struct sonde__report *report, int64_t number);

#endif
