// SPDX-License-Identifier: Apache-2.0
/* Which stalls are reported one by one, and which are only counted.
 *
 * Stalls with one fingerprint are equal. The first few are reported; a later one is reported if it
 * lasts at least twice as long as the longest reported one. The others are counted, with the sum of
 * their durations. So the report of a program that stalls for days is bounded, and nothing is lost
 * silently. A stall without a fingerprint equals no other.
 *
 * Memory is bounded: after SONDE__ENTRY_EQUALS_MAX causes, stalls of new causes are not counted but
 * reported, up to the limits of a report. Pure but for memory. Context: any thread, one at a
 * time. */
#ifndef SONDE_ENTRY_EQUAL_H
#define SONDE_ENTRY_EQUAL_H

#include <stddef.h>

#include "report_fingerprint.h"

/* Different causes: 0.5 MB. Real programs have some dozens. */
#define SONDE__ENTRY_EQUALS_MAX 4096u
/* Equal stalls that are reported one by one by default: enough to see what they have in common. */
#define SONDE__ENTRY_EQUAL_DEFAULT 10u

struct sonde__entry_equal {
    char id[SONDE__REPORT_FINGERPRINT_TEXT];
    uint64_t full;       /* reported one by one */
    uint64_t counted;    /* not */
    uint64_t longest_ns; /* of all */
    uint64_t full_ns;    /* of those that were reported */
    uint64_t number;     /* of the longest of them: as it was shown, from 1 */
    /* counted, not in the report yet */
    struct {
        uint64_t count, total_ns, longest_ns, first_ns, last_ns;
    } open;
};

struct sonde__entry_equals {
    struct sonde__entry_equal *list;
    size_t count, capacity;
    uint32_t each; /* how many equal stalls are reported; 0: all */
    bool any_full; /* one cause has reached that number */
};

void sonde__entry_equals_init(struct sonde__entry_equals *equals, uint32_t each);
void sonde__entry_equals_done(struct sonde__entry_equals *equals);
/* A stall was reported as number `number`. */
void sonde__entry_equals_add(struct sonde__entry_equals *equals, const char *id, uint64_t number,
                             uint64_t duration_ns);
/* Could the next stall be one that is only counted? */
bool sonde__entry_equals_may_count(const struct sonde__entry_equals *equals);
/* Count a stall if it is only to be counted. Null: report it. */
struct sonde__entry_equal *sonde__entry_equals_count(struct sonde__entry_equals *equals,
                                                     const char *id, uint64_t begin_ns,
                                                     uint64_t duration_ns);
/* Has the count doubled since it was last written? So the report of a program that is killed has at
 * least half of each count, and its size grows with the logarithm of the counts. */
bool sonde__entry_equal_is_due(const struct sonde__entry_equal *equal);
/* Call it when the counts are in the report. */
void sonde__entry_equal_written(struct sonde__entry_equal *equal);

#endif
