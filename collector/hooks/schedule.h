// SPDX-License-Identifier: Apache-2.0
/* When a message is tried again, and when a group spikes. Pure functions. Context: any thread. */
#ifndef SONDE_COLLECTOR_SCHEDULE_H
#define SONDE_COLLECTOR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* --- tries --- */

/* Seconds between the tries of a message. */
enum { SCHEDULE_WAITS_MAX = 16, SCHEDULE_WAIT_MAX = 7 * 86400 };
struct schedule {
    uint32_t seconds[SCHEDULE_WAITS_MAX];
    uint32_t count;
};
/* That of Standard Webhooks 1.0.0: ten tries in 75 hours. */
extern const struct schedule schedule_default;
/* "5,300,1800". False: no such list, or too long. */
bool schedule_parse(const char *text, struct schedule *ret_schedule);

/* After `tries` tries, of which the last failed. retry_after_s: what the answer asked for; 0:
 * nothing; a day is waited at most. random: any number; up to a fifth is added, so that messages
 * that failed together do not come together. False: it was the last try. */
bool schedule_wait(const struct schedule *schedule, uint32_t tries, uint64_t retry_after_s,
                   uint32_t random, uint64_t *ret_wait_ns);

/* --- spikes --- */

/* A group spikes if it has, in the hour that runs, at least SPIKE_FLOOR events and SPIKE_FACTOR
 * times those of its median hour. Hours are those of the clock (UTC); the median is that of the
 * hours of the last SPIKE_HOURS in which the group had events. A group that is not SPIKE_QUIET_NS
 * old is new and no spike, and a spike is told once in SPIKE_QUIET_NS. */
enum { SPIKE_FLOOR = 20, SPIKE_FACTOR = 5, SPIKE_HOURS = 168 };
#define SPIKE_QUIET_NS ((uint64_t)86400 * 1000000000u)

struct spike_look {
    uint64_t now_ns, first_ns, told_ns; /* since 1970; told_ns: the last spike; 0: none */
    uint64_t count;                     /* events of this hour */
    uint64_t *hours;                    /* of hours before it; they are sorted */
    uint32_t hour_count;
};
/* *ret_usual: the median, also if it is no spike. */
bool spike_is(const struct spike_look *look, uint64_t *ret_usual);
/* Events after which to look again; UINT64_MAX: not in this hour. */
uint64_t spike_next_look(const struct spike_look *look, uint64_t usual);

#endif
