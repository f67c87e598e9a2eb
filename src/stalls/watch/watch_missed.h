// SPDX-License-Identifier: Apache-2.0
/* Turns over the threshold that began and ended between two looks, because the watch had no CPU or
 * was stopped. The probe keeps their stamps, so they are reported with their durations, with what
 * their thread did between the two looks, and without samples. Those that may have been no stall
 * are only counted. */
#ifndef SONDE_WATCH_MISSED_H
#define SONDE_WATCH_MISSED_H

#include "watch_session.h"

/* Has the program been seen stopped or traced lately? It may be stopped repeatedly, so that neither
 * stamps nor late looks alone prove a stall. */
bool sonde__watch_stops(const struct sonde__watch_loop *loop, uint64_t now_ns);

/* For how long may the watch have stood still since the last round, in a turn that began at
 * since_ns, and had not ended or ended at until_ns? ran_ns: the thread's time since then. */
uint64_t sonde__watch_halted_in(const struct sonde__watch_session *session, uint64_t since_ns,
                                uint64_t until_ns, uint64_t ran_ns);

/* Call it after the loop was inspected at now_ns; turns that ended later are left for the next
 * call. former_ns: begin of the turn that was known before; before: the loop's account then. */
void sonde__watch_find_missed(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                              uint64_t former_ns, const struct sonde__decide_account *before,
                              uint64_t now_ns);

#endif
