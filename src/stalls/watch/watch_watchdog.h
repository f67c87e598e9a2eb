// SPDX-License-Identifier: Apache-2.0
/* A service manager's watchdog kills a service that sends no notification for a period
 * (WATCHDOG_USEC of sd_watchdog_enabled(3)). Notifications cannot be observed from outside. The
 * watch assumes that they are about to fail when a loop has not turned for three quarters of the
 * period, and shows the stacks of all threads while the service still lives. Context: any
 * thread. */
#ifndef SONDE_WATCH_WATCHDOG_H
#define SONDE_WATCH_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The watchdog period in ns that an environment sets for process `pid`; 0: none. text: "NAME=VALUE"
 * entries, each ended by NUL. */
uint64_t sonde__watch_watchdog_parse(const char *text, size_t size, int32_t pid);
/* The period of a running process, from its initial environment; 0: none, or the environment cannot
 * be read. */
uint64_t sonde__watch_watchdog_of(int32_t pid);
/* Is it time to show the stacks? busy_ns: age of the turn. */
static inline bool sonde__watch_watchdog_is_due(uint64_t watchdog_ns, uint64_t busy_ns)
{
    return watchdog_ns != 0 && busy_ns >= watchdog_ns - watchdog_ns / 4;
}

#endif
