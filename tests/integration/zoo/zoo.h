// SPDX-License-Identifier: Apache-2.0
/* A program of the zoo under `sonde run`: its own account, and the report. */
#ifndef SONDE_TEST_ZOO_H
#define SONDE_TEST_ZOO_H

#include "json.h"
#include "programs.h"

enum { ZOO_TRUTHS_MAX = 32 };

struct zoo_truth {
    char kind[48]; /* of "injected KIND N ms" */
    unsigned ms;
};

struct zoo {
    struct zoo_truth truths[ZOO_TRUTHS_MAX];
    unsigned truth_count;
    char *output;
    struct json *report;
};

/* So many milliseconds with the test's slack, as text (eight at a time); and the stall limit: 150
 * ms. */
const char *zoo_ms(unsigned ms);
const char *zoo_stall(void);

/* Run it to its end with `--stall 150ms`; fails the test if its status is not 0. Numbers in the
 * arguments are milliseconds and get the test's slack. */
void zoo_run(struct zoo *zoo, const char *const argv[], unsigned timeout_s);
/* The same as a child of a shell, with `--follow`: its report is REPORT.PID, and there is no other.
 * Without a stall there is none at all; then false. */
bool zoo_run_followed(struct zoo *zoo, const char *const argv[], unsigned timeout_s);
/* Read the output of a program that has ended, and its report. */
void zoo_read(struct zoo *zoo, const char *output, const char *report);
void zoo_done(struct zoo *zoo);

/* The report has the injected stalls and no others, in order, with about their durations. Calls
 * `check` (may be null) for each. A stall of a program that waited for a CPU most of the time is
 * the machine's fault, and is left out. */
void zoo_check_stalls(const struct zoo *zoo,
                      void (*check)(const struct zoo_truth *, const struct json *));
/* No stall, though the loop was known and watched: at least `turns` turns. */
void zoo_check_silent(const struct zoo *zoo, unsigned turns);

/* True if a function with this text in its name is on the dominant path. `text` may list
 * alternatives: "fsync|fdatasync". */
bool zoo_on_path(const struct json *stall, const char *text);
/* Fails with the path in the message if it is not. */
void zoo_need_on_path(const struct json *stall, const char *text);

#endif
