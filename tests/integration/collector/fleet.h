// SPDX-License-Identifier: Apache-2.0
/* Reports of a test fleet: every build of an app ran on every machine, each run recorded the calls
 * of some APIs with their stacks. Names are in the reports. Addresses differ by build, names do
 * not, so the groups of all builds are the same. For a test of the collector and for a bench. */
#ifndef SONDE_TEST_FLEET_H
#define SONDE_TEST_FLEET_H

#include <stddef.h>
#include <stdint.h>

struct fleet {
    unsigned builds, devices;
    unsigned stacks;       /* of a report: each pair of API and app path has two, one through a
                            * library */
    uint64_t time_unix_ns; /* when the first build ran; the others follow over a day */
};

/* The report of one run. Ownership: free(). */
void *fleet_report(const struct fleet *fleet, unsigned build, unsigned device, size_t *ret_size);
/* Groups that all reports together have: pairs of API and app path. */
unsigned fleet_groups(const struct fleet *fleet);
/* Calls of one pair in one report. */
unsigned fleet_calls(void);

#endif
