// SPDX-License-Identifier: Apache-2.0
/* CPU time of a turn, from readings at other times than its begin and end.
 *
 * The CPU time between two readings is credited to the turn, up to the time that the interval and
 * the turn have in common. So time between readings is accounted for, too. The kernel counts a wait
 * for a CPU when it ends, and running time at its ticks (each 1 to 10 ms), so what readings fell
 * into is credited to the intervals before them, too. A pure function.
 * Context: any thread. */
#ifndef SONDE_DECIDE_ACCOUNT_H
#define SONDE_DECIDE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct sonde__decide_account {
    uint64_t at_ns;               /* the last reading; 0: none */
    uint64_t cpu_ns, runqueue_ns; /* of the thread since it started, at that reading */
    uint64_t turn_cpu_ns, turn_runqueue_ns;
    uint64_t open_ns; /* of the turn: it could run at the last readings, and no counter shows why it
                         did not */
};

/* Start a turn that no reading covers yet. */
void sonde__decide_account_begin(struct sonde__decide_account *account);
struct sonde__decide_reading {
    uint64_t now_ns;
    uint64_t cpu_ns, runqueue_ns; /* of the thread since it started */
    bool ready;                   /* it runs, or waits only for a CPU */
};

/* Returns how long the thread ran or waited for a CPU since the last reading; 0: this is the first.
 * since_ns, until_ns: begin and end of the turn as far as known; until_ns <= now_ns. */
uint64_t sonde__decide_account_look(struct sonde__decide_account *account, uint64_t since_ns,
                                    uint64_t until_ns, const struct sonde__decide_reading *reading);

/* What a thread did between two readings. */
struct sonde__decide_spent {
    uint64_t cpu_ns, runqueue_ns;
};
/* Since the reading `before`, without what was credited to a turn that began at since_ns (0: none).
 * Nothing if `before` is no reading. */
struct sonde__decide_spent sonde__decide_account_since(const struct sonde__decide_account *account,
                                                       const struct sonde__decide_account *before,
                                                       uint64_t since_ns);
/* Take from it what may belong to a turn of length_ns between the readings. */
struct sonde__decide_spent sonde__decide_account_take(struct sonde__decide_spent *spent,
                                                      uint64_t length_ns);

#endif
