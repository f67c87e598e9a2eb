// SPDX-License-Identifier: Apache-2.0
/* A service manager's watchdog: it ends a service whose notifications stay away for a period
 * (WATCHDOG_USEC of sd_watchdog_enabled(3)). The notifications cannot be observed from outside. The
 * watch takes a loop that has not turned for three quarters of the period for the reason why they
 * are about to fail, and shows the stacks of all threads while the service still lives. Context:
 * any thread. */
#ifndef SONDE_WATCH_WATCHDOG_H
#define SONDE_WATCH_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The period that an environment sets for process `pid`, in ns; 0: none. text: "NAME=VALUE"
 * entries, each ended by a zero. */
uint64_t sonde__watch_watchdog_parse(const char *text, size_t size, int32_t pid);
/* That of a process that runs, from its first environment; 0: none, or it may not be read. */
uint64_t sonde__watch_watchdog_of(int32_t pid);
/* A turn has lasted busy_ns. Is it time to show the stacks? */
static inline bool sonde__watch_watchdog_is_due(uint64_t watchdog_ns, uint64_t busy_ns)
{
    return watchdog_ns != 0 && busy_ns >= watchdog_ns - watchdog_ns / 4;
}

#endif
