// SPDX-License-Identifier: Apache-2.0
/* Limits of rules: at most so many calls in a time. Context: handler. */
#ifndef SONDE_WHEN_LIMIT_H
#define SONDE_WHEN_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "when.h"

/* When the last calls of each limit were made; zeroed at first. */
struct sonde__when_times {
    _Atomic uint64_t calls[SONDE__WHEN_LIMITS]; /* made so far */
    _Atomic uint64_t ns[SONDE__WHEN_TIMES];
};

/* Note a call at `now_ns`, of a clock that does not go back. True: with it, more calls than the
 * limit allows were made within its time. Exact: no interval of that length is left out. Threads
 * that call at once count in any order. index: of a checked condition */
bool sonde__when_exceeds(const struct sonde__when *when, uint32_t index,
                         struct sonde__when_times *times, uint64_t now_ns);

#endif
