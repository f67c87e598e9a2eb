// SPDX-License-Identifier: Apache-2.0
/* Clocks, in nanoseconds. Context: any thread. */
#ifndef SONDE_HOST_CLOCK_H
#define SONDE_HOST_CLOCK_H

#include <stdint.h>

uint64_t sonde__host_unix_ns(void); /* since 1970 */
uint64_t sonde__host_monotonic_ns(void);
/* The same, as of the kernel's last tick: 4 to 10 ms old, and cheaper. */
uint64_t sonde__host_tick_ns(void);
uint64_t sonde__host_cpu_ns(void); /* CPU time of this thread */

#endif
