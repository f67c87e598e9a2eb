// SPDX-License-Identifier: Apache-2.0
/* CPU time of a turn, from readings that do not fall on its begin and end.
 *
 * Of what a thread used between two readings, the turn gets what falls into it, at most the length
 * of that overlap. So time between readings is accounted for, too. A pure function. Context: any
 * thread. */
#ifndef SONDE_WATCH_ACCOUNT_H
#define SONDE_WATCH_ACCOUNT_H

#include <stdint.h>

struct sonde__watch_account {
    uint64_t at_ns;               /* the last reading; 0: none */
    uint64_t cpu_ns, runqueue_ns; /* of the thread's whole life, then */
    uint64_t turn_cpu_ns, turn_runqueue_ns;
};

/* A turn begins that no reading has covered yet. */
void sonde__watch_account_begin(struct sonde__watch_account *account);
/* Returns what the thread ran and waited for a CPU since the last look; 0: there was none.
 * since_ns, until_ns: the turn, as far as it is known (until_ns is now_ns or earlier). */
uint64_t sonde__watch_account_look(struct sonde__watch_account *account, uint64_t since_ns,
                                   uint64_t until_ns, uint64_t now_ns, uint64_t cpu_ns,
                                   uint64_t runqueue_ns);

#endif
