// SPDX-License-Identifier: Apache-2.0
/* States of groups, and what a new event changes. Pure functions. Context: any thread. */
#ifndef SONDE_COLLECTOR_STATE_H
#define SONDE_COLLECTOR_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers are stored. */
enum state {
    STATE_OPEN = 1,
    STATE_RESOLVED = 2,      /* each later event is a regression */
    STATE_RESOLVED_IN = 3,   /* each event of one build, or of a later one */
    STATE_RESOLVED_NEXT = 4, /* each event of a build that was first seen after that */
    STATE_IGNORED = 5,       /* until a time, a count, or for good */
    STATE_REGRESSED = 6,
};

struct state_mark {
    enum state state;
    uint64_t since_ns;    /* since 1970 */
    const char *build;    /* of RESOLVED_IN; else "" */
    uint64_t until_ns;    /* of IGNORED: 0: no time */
    uint64_t until_count; /* of IGNORED: events of the group in all; 0: no count */
};

struct state_event {
    uint64_t time_ns, received_ns; /* since 1970 */
    const char *build;             /* "": not known */
    uint64_t build_first_ns;       /* when the first event of this build was */
    uint64_t mark_first_ns;        /* the same of the mark's build; 0: none yet */
    uint64_t count;                /* of the group's events, with this one */
};

/* The group's state after the event. */
enum state state_after(const struct state_mark *mark, const struct state_event *event);

/* Compare two versions, "1.10.2" after "1.9" and after "1.10.2-rc1" (semver.org 2.0.0, 11, with any
 * count of numbers and an optional "v"), "app@1.10" after "app@1.9", and "1.9+11" after "1.9+2".
 * Returns false if one of them is no version, or they differ by a text behind "+" only. */
bool state_compare_versions(const char *one, const char *other, int *ret_order);

#endif
